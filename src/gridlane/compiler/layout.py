"""Lay out a kernel's flat parameters in the parameter block."""

from __future__ import annotations

from collections.abc import Iterator

from gridlane.core import parameters
from gridlane.core.artifact import ParamSlot
from gridlane.core.dtypes import DType
from gridlane.ir.values import Function


def lay_out(kernel: Function) -> tuple[tuple[ParamSlot, ...], int]:
    """(the slot of each parameter, size of the block)."""
    return parameters.lay_out(_members(kernel))


def _members(kernel: Function) -> Iterator[parameters.Member]:
    for number, param in enumerate(kernel.params):
        type_ = param.value.type
        dtype = type_ if isinstance(type_, DType) else param.by_value or None
        yield param.value.name or f"p{number}", dtype, param.argument, param.path
