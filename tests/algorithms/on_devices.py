"""What tests of algorithms share: their devices, and arrays on one."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.devices import DEVICES

from gridlane import cuda

ALL = ("interp", *DEVICES)
"""The devices, and the interpreter, which is slow: ``sizes`` has fewer items for it."""

MANY = 100_003


def sizes(device: str) -> tuple[int, ...]:
    """No item, one, the edges of a block and of a tile, and many blocks."""
    return (0, 1, 255, 256, 257, 1025, 5000 if device == "interp" else MANY)


def up(array: Any) -> Any:
    """A copy on the current device."""
    return cuda.to_device(np.ascontiguousarray(array))


def room(count: int, dtype: Any) -> Any:
    """Zeros on the current device."""
    return cuda.to_device(np.zeros(count, dtype))
