"""The parameters that an array is passed as, and the layout of a parameter block.

The frontend makes parameters by it, the compiler their slots, and the launch service their packers.
"""

from __future__ import annotations

from collections.abc import Iterable

from gridlane.core.artifact import ParamSlot, Path
from gridlane.core.dtypes import DType, i64

Member = tuple[str, DType | int | None, int, Path]
"""A parameter to lay out: name, scalar type, None for a pointer or the bytes of what is passed by
value, argument, path."""

BY_VALUE_ALIGN = 64
"""The alignment of what is passed by value."""


def array_members(ndim: int) -> tuple[tuple[DType | None, Path], ...]:
    """The scalar type (None, a pointer) and path of each parameter of an array, in order.

    >>> [path for _, path in array_members(1)]
    [('data',), ('shape', 0), ('strides', 0)]
    """
    axes = range(ndim)
    numbers = [(kind, axis) for kind in ("shape", "strides") for axis in axes]
    return (None, ("data",)), *[(i64, path) for path in numbers]


def lay_out(members: Iterable[Member]) -> tuple[tuple[ParamSlot, ...], int]:
    """(the slot of each parameter, size of the block): in order, each naturally aligned; what is
    passed by value to 64 bytes."""
    slots: list[ParamSlot] = []
    end = 0
    for name, dtype, argument, path in members:
        if isinstance(dtype, int):
            start = -(-end // BY_VALUE_ALIGN) * BY_VALUE_ALIGN
            slots.append(ParamSlot(name, start, None, argument, path, dtype))
        else:
            size = 8 if dtype is None else dtype.size
            slots.append(ParamSlot(name, -(-end // size) * size, dtype, argument, path))
        end = slots[-1].end
    return tuple(slots), -(-end // 8) * 8
