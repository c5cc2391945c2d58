"""The buffers of a launch's arrays, as far as unconverted arguments show them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gridlane.core.shader_abi import buffer_places, located
from gridlane.launch.parameters import Packed

_NUMBERS = (int, float, complex, np.number, np.bool_, type(None))


def expected_buffers(args: tuple[Any, ...]) -> tuple[int, ...]:
    """``Variant.buffers`` of a launch whose arguments are device arrays and numbers; () where
    others are among them, which are converted first. It saves compiling code that does not run; the
    launch's parameters decide."""
    arrays = list(_arrays(args))
    if None in arrays:
        return ()
    return buffer_places([located(array.address)[0] for array in arrays if array is not None])


def _arrays(args: tuple[Any, ...]) -> Iterator[Packed | None]:
    """The device arrays among the arguments, in order; None for what may hold others."""
    for value in args:
        if isinstance(value, tuple):
            yield from _arrays(value)
        elif isinstance(value, Packed):
            yield value
        elif not isinstance(value, _NUMBERS):
            yield None
