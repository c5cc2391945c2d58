"""Keeps operands inside the domain where all instructions agree, for ops that the IR defines
outside of it.

The IR defines a division by 0, a shift past the width and the integer of a float that has none;
instructions differ there, trap, or are undefined. After the pass such an op is marked ``inside``,
and selects around it give the IR's result. A target's table has what its own instructions lack, so
its code generator emits the rest as it is. The pass runs last: those before it know the ops as the
IR defines them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from gridlane.core.dtypes import DType, f32
from gridlane.ir.builder import Builder, constant
from gridlane.ir.op import Op
from gridlane.ir.ops import arith
from gridlane.ir.rewriting import Rewriter
from gridlane.ir.values import Function, Module, Value

Rule: TypeAlias = Callable[[Builder, Any], Value | None]
"""Emits the ops that replace one op, and returns its result; None where the op stays."""


# ---- rules


def quotient(b: Builder, op: arith.Div) -> Value | None:
    """The quotient, with all bits set for a divisor of 0. MIN / 1 is MIN, as MIN / -1."""
    if not _has_domain(op):
        return None
    if (known := _known_quotient(b, op.lhs, op.rhs)) is not None:
        return known
    divided, zero = _divided(b, op.lhs, op.rhs)
    return b.select(zero, b.const(-1, op.lhs.type), divided)


def rest(b: Builder, op: arith.Rem) -> Value | None:
    """The remainder as what the quotient leaves, the dividend for a divisor of 0: compilers of
    shaders differ in remainders of negative numbers."""
    if not _has_domain(op):
        return None
    known = constant(op.rhs)
    if known in (0, -1):
        return op.lhs if known == 0 else b.const(0, op.lhs.type)
    if known is not None:
        return b.sub(op.lhs, b.mul(_inside(b, op.lhs, op.rhs), op.rhs))
    divided, zero = _divided(b, op.lhs, op.rhs)
    return b.select(zero, op.lhs, b.sub(op.lhs, b.mul(divided, op.rhs)))


def remainder(b: Builder, op: arith.Rem) -> Value | None:
    """The same where remainders by a constant are right."""
    if _has_domain(op) and constant(op.rhs) not in (None, 0, -1):
        return b.value(arith.Rem(op.lhs, op.rhs, inside=True))
    return rest(b, op)


def uniform_quotient(b: Builder, op: arith.Div) -> Value | None:
    """The quotient, with guards that depend on the divisor alone: by -1 it is the negated dividend,
    so that of vectors by one divisor the guards are scalars."""
    if not _has_domain(op):
        return None
    if (known := _known_quotient(b, op.lhs, op.rhs)) is not None:
        return known
    zero, minus, divisor = _guarded(b, op.rhs)
    divided = _inside(b, op.lhs, divisor)
    if minus is not None:
        divided = b.select(minus, b.neg(op.lhs), divided)
    return b.select(zero, b.const(-1, op.lhs.type), divided)


def uniform_remainder(b: Builder, op: arith.Rem) -> Value | None:
    """The remainder with the same guards, so that both share a division; by -1 it is that by 1."""
    if not _has_domain(op) or constant(op.rhs) is not None:
        return remainder(b, op)
    zero, _, divisor = _guarded(b, op.rhs)
    return b.select(zero, op.lhs, b.value(arith.Rem(op.lhs, divisor, inside=True)))


def clamped_shift(b: Builder, op: arith.Shl | arith.Shr) -> Value | None:
    """A shift by an amount that is read as unsigned; past the width the result is the sign or 0."""
    return _shifted(b, op, arith.Min)


def masked_shift(b: Builder, op: arith.Shl | arith.Shr) -> Value | None:
    """The same where the mask of an amount is free, as in a GPU's shift."""
    return _shifted(b, op, arith.And)


def saturated(b: Builder, op: arith.Cast) -> Value | None:
    """The nearest integer of a float, and 0 of NaN, by the bits, which order the magnitudes:
    compilers may assume where floats are compared that there is no NaN."""
    source, target, value = _type(op.value), op.type, op.value
    if op.inside or not (source.is_float and target.is_integer):
        return None
    if source.bits == 16:  # f32 has the bounds of every integer
        value, source = b.cast(value, f32), f32
    whole, zero, edge = source.unsigned, b.const(0, target), b.const(target.max, target)
    magnitude = b.const(whole.max >> 1, whole)
    raw = size = b.bitcast(value, whole)
    if target.is_signed:
        size = b.and_(raw, magnitude)
        edge = b.select(b.value(arith.Gt(raw, magnitude)), b.const(target.min, target), edge)
    bias, fraction = (1023, 52) if source.bits == 64 else (127, 23)
    powers = target.bits - target.is_signed, bias + 1
    top, infinity = (b.const(bias + power << fraction, whole) for power in powers)
    fits = b.value(arith.Lt(size, top))
    number = arith.Cast(b.select(fits, value, b.const(0.0, source)), target, inside=True)
    # For an unsigned integer, numbers below 0 are above infinity.
    edge = b.select(b.value(arith.Gt(size, infinity)), zero, edge)
    return b.select(fits, b.value(number), edge)


def _shifted(b: Builder, op: arith.Shl | arith.Shr, small: type[arith.Binary]) -> Value | None:
    dtype, kind = _type(op.value), _type(op.amount).unsigned
    last = dtype.bits - 1
    if op.inside:
        return None
    if _is_at_most(op.amount, last):
        return b.value(type(op)(op.value, op.amount, inside=True))
    amount, most = b.bitcast(op.amount, kind), b.const(last, kind)
    if isinstance(op, arith.Shr) and dtype.is_signed:
        least = b.binary(arith.Min, amount, most)
        return b.value(arith.Shr(op.value, least, inside=True))
    moved = b.value(type(op)(op.value, b.binary(small, amount, most), inside=True))
    return b.select(b.value(arith.Gt(amount, most)), b.const(0, dtype), moved)


def _has_domain(op: arith.Div | arith.Rem) -> bool:
    return not _type(op.lhs).is_float and not op.inside


def _known_quotient(b: Builder, lhs: Value, rhs: Value) -> Value | None:
    """The quotient by a constant."""
    known = constant(rhs)
    if known is None or known == 0:
        return b.const(-1, lhs.type) if known == 0 else None
    return b.neg(lhs) if known == -1 else _inside(b, lhs, rhs)


def _divided(b: Builder, lhs: Value, rhs: Value) -> tuple[Value, Value]:
    """(the quotient, by 1 where a division traps or overflows, whether the divisor is 0)."""
    dtype = _type(lhs)
    zero = trap = b.eq(rhs, b.const(0, dtype))
    if dtype.is_signed:
        least = b.eq(lhs, b.const(dtype.min, dtype))
        trap = b.or_(zero, b.and_(least, b.eq(rhs, b.const(-1, dtype))))
    return _inside(b, lhs, b.select(trap, b.const(1, dtype), rhs)), zero


def _guarded(b: Builder, divisor: Value) -> tuple[Value, Value | None, Value]:
    """(whether a divisor is 0, whether a signed one is -1, the divisor or 1 where it is either)."""
    dtype = _type(divisor)
    zero = b.eq(divisor, b.const(0, dtype))
    if not dtype.is_signed:
        return zero, None, b.select(zero, b.const(1, dtype), divisor)
    minus = b.eq(divisor, b.const(-1, dtype))
    return zero, minus, b.select(b.or_(zero, minus), b.const(1, dtype), divisor)


def _inside(b: Builder, lhs: Value, rhs: Value) -> Value:
    return b.value(arith.Div(lhs, rhs, inside=True))


def _type(value: Value) -> DType:
    assert isinstance(value.type, DType)
    return value.type


def _is_at_most(amount: Value, last: int) -> bool:
    """Whether an amount is known to be at most ``last``: a constant, or one that is masked."""
    known = constant(amount)
    if known is not None:
        return 0 <= known <= last
    op = amount.op
    while isinstance(op, arith.Cast | arith.Bitcast) and _is_integer(op.value):
        op = op.value.op
    masks = map(constant, op.operands()) if isinstance(op, arith.And) else ()
    return any(type(mask) is int and 0 <= mask <= last for mask in masks)


def _is_integer(value: Value) -> bool:
    return isinstance(value.type, DType) and value.type.is_integer


# ---- targets


VECTORS: Mapping[type[Op], Rule] = {
    arith.Div: uniform_quotient,
    arith.Rem: uniform_remainder,
    **dict.fromkeys((arith.Shl, arith.Shr), clamped_shift),
}
GPU: Mapping[type[Op], Rule] = {
    arith.Div: quotient,
    arith.Rem: remainder,
    **dict.fromkeys((arith.Shl, arith.Shr), clamped_shift),
}
SHADERS: Mapping[type[Op], Rule] = {
    arith.Div: quotient,
    arith.Rem: rest,
    **dict.fromkeys((arith.Shl, arith.Shr), masked_shift),
    arith.Cast: saturated,
}
"""The rule of each op that a code generator emits only inside its domain."""


def guard_operands(module: Module, rules: Mapping[type[Op], Rule]) -> None:
    """Mark ops ``inside`` the domain of instructions, behind guards of their operands.

    Args:
        rules: the rule of each op that needs a guard.
    """
    for function in module.functions.values():
        if not rules.keys().isdisjoint(map(type, function.body.walk())):
            _Guards(module, function, rules).region(function.body)


class _Guards(Rewriter):
    def __init__(self, module: Module, function: Function, rules: Mapping[type[Op], Rule]) -> None:
        super().__init__(module, function)
        self.rules = rules

    def replaced(self, op: Op) -> Iterable[Value] | None:
        rule = self.rules.get(type(op))
        result = rule(self.builder, op) if rule is not None else None
        return None if result is None else (result,)
