"""The arguments of a cell's function, in the dialect: ``ctx``, and fields seen from the cell."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from gridlane.cuda import jit, uint32

Context2 = namedtuple("Context2", "y x step")  # pyright: ignore[reportUntypedNamedTuple]  # any
Context3 = namedtuple("Context3", "z y x step")  # pyright: ignore[reportUntypedNamedTuple]  # any
Handling = namedtuple("Handling", "step")  # pyright: ignore[reportUntypedNamedTuple]  # any


def corner_of(axes: int, plane: int, row: int, halo: int) -> int:
    """Words from a cell's corner to the cell."""
    return halo * ((plane if axes == 3 else 0) + row + 1)


def cells_class(axes: int, plane: int, row: int, halo: int, index: Any = uint32) -> Any:
    """The class of a field seen from a cell: a namedtuple whose subscript is an offset.

    Its ``corner`` is the index of the cell at the lowest offset along each axis. The distance to
    any other cell is a positive constant, for which a load's address has room.

    Args:
        plane, row: words between neighbours along the first and the second of three axes.
        halo: the largest offset.
        index: the type of an index, which is unsigned; GPUs add constants to one of 64 bits.
    """
    low = corner_of(axes, plane, row, halo)
    result: Any = namedtuple("Cells", "array corner")  # pyright: ignore[reportUntypedNamedTuple]  # any

    def flat(self: Any, offset: Any) -> Any:
        return self.array[index(self.corner + (low + offset[0] * row + offset[1]))]

    def deep(self: Any, offset: Any) -> Any:
        return self.array[
            index(self.corner + (low + offset[0] * plane + offset[1] * row + offset[2]))
        ]

    result.__getitem__ = jit(device=True)(flat if axes == 2 else deep)
    return result
