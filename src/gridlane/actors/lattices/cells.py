"""What a cell's function is given, in the dialect: ``ctx``, and fields seen from the cell."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from gridlane.cuda import jit, uint32

Context2 = namedtuple("Context2", "y x step")  # pyright: ignore[reportUntypedNamedTuple]  # any
Context3 = namedtuple("Context3", "z y x step")  # pyright: ignore[reportUntypedNamedTuple]  # any
Handling = namedtuple("Handling", "step")  # pyright: ignore[reportUntypedNamedTuple]  # any


def cells_class(axes: int, plane: int, row: int) -> Any:
    """The class of a field seen from a cell: a namedtuple whose subscript is an offset.

    Args:
        plane, row: words between neighbours along the first and the second of three axes.
    """
    made: Any = namedtuple("Cells", "array base")  # pyright: ignore[reportUntypedNamedTuple]  # any

    def flat(self: Any, offset: Any) -> Any:
        return self.array[uint32(self.base + offset[0] * row + offset[1])]

    def deep(self: Any, offset: Any) -> Any:
        return self.array[uint32(self.base + offset[0] * plane + offset[1] * row + offset[2])]

    made.__getitem__ = jit(device=True)(flat if axes == 2 else deep)
    return made
