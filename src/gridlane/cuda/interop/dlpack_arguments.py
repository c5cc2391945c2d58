"""The arguments of ``__dlpack__``, checked against the array API standard.

https://data-apis.org/array-api/latest/API_specification/generated/array_api.array.__dlpack__.html
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

_PAIRS = {"max_version": "(major, minor)", "dl_device": "(kind of device, number)"}


def pair(name: str, value: Any) -> tuple[int, int] | None:
    """Check ``max_version`` or ``dl_device``: two integers or None.

    Raises:
        TypeError: it is no pair of integers.
        ValueError: it has another length.
    """
    if value is None:
        return None
    wanted = f"__dlpack__: {name} is None or {_PAIRS[name]}, two integers; got {value!r}"
    if not isinstance(value, (tuple, list)):
        raise TypeError(wanted)
    if len(value) != 2:
        raise ValueError(wanted)
    try:
        first, second = map(operator.index, value)
    except TypeError:
        raise TypeError(wanted) from None
    return first, second


def stream(value: Any) -> int | None:
    """Check ``stream``: a number of the consumer's, or None.

    Raises:
        TypeError: it is no integer.
        ValueError: it is less than -1.
    """
    if value is None:
        return None
    wanted = f"__dlpack__: stream is None, -1 or the number of a stream; got {value!r}"
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(wanted) from None
    if isinstance(value, bool):
        raise TypeError(wanted)
    if number < -1:
        raise ValueError(wanted)
    return number


def copying(value: Any) -> bool | None:
    """Check ``copy``: True, False, or None to copy if necessary.

    Raises:
        TypeError: it is neither.
    """
    if value is None or isinstance(value, (bool, np.bool_)):
        return None if value is None else bool(value)
    raise TypeError(f"copy is True, False or None; got {value!r}")
