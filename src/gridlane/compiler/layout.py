"""Lays a kernel's flat parameters out in the parameter block."""

from __future__ import annotations

from gridlane.core.artifact import ParamSlot
from gridlane.core.dtypes import DType
from gridlane.ir.values import Function


def lay_out(kernel: Function) -> tuple[tuple[ParamSlot, ...], int]:
    """(the slot of each parameter, size of the block): in order, each naturally aligned."""
    slots, end = [], 0
    for index, param in enumerate(kernel.params):
        type_ = param.value.type
        dtype = type_ if isinstance(type_, DType) else None
        size = dtype.size if dtype else 8
        offset = -(-end // size) * size
        end = offset + size
        name = param.value.name or f"p{index}"
        slots.append(ParamSlot(name, offset, dtype, param.argument, param.path))
    return tuple(slots), -(-end // 8) * 8
