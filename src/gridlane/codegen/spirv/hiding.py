"""Decides which values to hide from compilers that miscompile known values.

``Code`` has the ways to hide. Each rule was found by random kernels on NVIDIA's Vulkan, reduced in
tests/property/found_python.py; see Feature.FOLDS_WIDE, KEEPS_UPPER_BITS and LOSES_MINUS_ZERO.
"""

from __future__ import annotations

from gridlane.codegen.spirv.code import Code
from gridlane.codegen.spirv.opcodes import Opcode
from gridlane.core.dtypes import DType, i32, i64, u64
from gridlane.ir.builder import constant
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, memory
from gridlane.ir.values import Value

_WRAPPING = (arith.Add, arith.Sub, arith.Mul, arith.Neg, arith.Shl)
_SIGNS = (arith.Or, arith.Not, arith.Neg, arith.Min, arith.Max, arith.Select)
_ORDERS = (arith.Lt, arith.Le, arith.Gt, arith.Ge, arith.Min, arith.Max)
_SUMS = (arith.Add, arith.Sub)
_QUOTIENTS = (arith.Div, arith.Rem, arith.Shr)
_SCALING = (arith.Mul, arith.MulHi, arith.Div, arith.Rem, arith.Shr, arith.Shl)


def settled_operands(code: Code, op: Op, operands: list[int]) -> list[int]:
    """The operands of a scalar op; those that compilers know too much about are hidden."""
    if code.wide_zero is None and code.minus_zero is None:
        return operands
    values = list(op.operands())
    type_ = values[0].type
    if not isinstance(type_, DType):
        return operands
    if type_.is_float:
        if all(constant(value) is not None for value in values):
            return [code.hidden_minus_zero(operands[0], type_), *operands[1:]]
        return operands
    # Two sums as a comparison's operands would cancel.
    return [
        code.settled_integer(name, type_, Opcode.BitwiseXor) if _knows_too_much(op, value) else name
        for name, value in zip(operands, values, strict=True)
    ]


def settled_result(code: Code, op: Op, result: int) -> int:
    """The result, hidden: compilers take a 64-bit min(x, c) - x for a saturating difference."""
    type_ = op.results[0].type
    if isinstance(op, arith.Min | arith.Max) and isinstance(type_, DType) and type_ in (i64, u64):
        return code.settled_integer(result, type_)
    return result


def _knows_too_much(op: Op, value: Value) -> bool:
    """Whether compilers miscompile an op by the known bits of an integer operand."""
    maker = _maker(value)
    if isinstance(op, arith.Div | arith.Rem | arith.Shr) and value.type is i32:
        return isinstance(maker, _SIGNS)
    if value.type not in (i64, u64):
        return False
    if isinstance(op, _SCALING):
        # The compiler may also fold other ops to a constant.
        known = value is getattr(op, "amount", None) or maker is None
        return not known and not isinstance(value.op, memory.Load)
    if isinstance(op, _SUMS):
        # Of a quotient minus 1 the upper half is lost.
        return isinstance(maker, _QUOTIENTS)
    return isinstance(op, _ORDERS) and isinstance(maker, _WRAPPING)


def _maker(value: Value) -> Op | None:
    """The op that defines an integer, behind casts between integers."""
    op = value.op
    while (
        isinstance(op, arith.Cast) and isinstance(op.value.type, DType) and op.value.type.is_integer
    ):
        op = op.value.op
    return op
