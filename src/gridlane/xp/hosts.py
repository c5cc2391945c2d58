"""Functions that NumPy computes on the host: their operands are copied there, and the results back
to the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gridlane.launch.devices import get_device
from gridlane.xp import transport
from gridlane.xp.arrays import Array


def on_host(function: Callable[..., Any], *operands: Any, **options: Any) -> Any:
    """The results of a function of NumPy's, on the device of its first operand; a tuple of arrays
    for one of NumPy's.

    Raises:
        TypeError: an operand is neither an array of this package nor a number.
    """
    name = function.__name__
    first = operands[0]
    if not isinstance(first, Array):
        raise TypeError(
            f"{name}: the operand is an array of gridlane.xp, not {type(first).__name__}; copy "
            "others with xp.asarray"
        )
    for each in operands:
        if isinstance(each, (np.ndarray, list, tuple)):
            raise TypeError(
                f"{name}: an operand is a {type(each).__name__} of the host; copy it with "
                "xp.asarray"
            )
        if isinstance(each, Array) and each.node.device is not first.node.device:
            raise ValueError(
                f"{name}: the operands are on the devices {first.device} and {each.device}; copy "
                "one with x.to_device(...)"
            )
    hosts = [np.asarray(each) if isinstance(each, Array) else each for each in operands]
    result = function(*hosts, **{key: _host(value) for key, value in options.items()})
    if isinstance(result, tuple):
        return tuple([_placed(each, first) for each in result])
    return _placed(result, first)


def _host(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, Array) else value


def _placed(host: Any, like: Array) -> Array:
    return Array(transport.uploaded(np.asarray(host), get_device(like.device)))
