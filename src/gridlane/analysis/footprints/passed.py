"""Numbers among a kernel's parameters that it passes on to values alone."""

from __future__ import annotations

from collections.abc import Sequence

from gridlane.core.dtypes import DType
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, math, memory
from gridlane.ir.types import PointerType
from gridlane.ir.values import Function, Value

_ARITHMETIC = arith.__name__, math.__name__


def passed_on(kernel: Function) -> frozenset[int]:
    """The places of numbers on which no address and no condition depends: values are computed of
    them, and stored. Extents and strides of arrays are none, as many kernels have the same."""
    ops = list(kernel.body.walk())
    return frozenset(
        place
        for place, param in enumerate(kernel.params)
        if isinstance(param.value.type, DType)
        and not param.path
        and _is_passed_on(ops, param.value)
    )


def _is_passed_on(ops: Sequence[Op], number: Value) -> bool:
    values, variables, before = {number}, set[object](), -1
    while before != len(values) + len(variables):  # loops carry variables
        before = len(values) + len(variables)
        for op in ops:
            if isinstance(op, memory.ReadVar):
                if op.var in variables:
                    values.update(op.results)
            elif values.isdisjoint(op.operands()):
                continue
            elif isinstance(op, memory.WriteVar):
                variables.add(op.var)
            elif isinstance(op, memory.Store):
                if op.pointer in values:
                    return False
            elif type(op).__module__ not in _ARITHMETIC or any(map(_is_pointer, op.results)):
                return False
            else:
                values.update(op.results)
    return True


def _is_pointer(value: Value) -> bool:
    return isinstance(value.type, PointerType)
