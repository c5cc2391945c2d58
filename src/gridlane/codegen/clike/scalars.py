"""Arithmetic, comparison and selection of scalars.

Each function takes the type to compute in and the operands' texts, and returns the text of the
result. Cases that C leaves undefined (overflow, the sign of zero in a minimum) are written out;
``passes/legalise/guards`` keeps others away. bf16 is held as its bits and computed in f32; each
result is rounded.
"""

from __future__ import annotations

from collections.abc import Callable

from gridlane.codegen.clike import floats
from gridlane.codegen.clike.emission import Dialect, Emission, emits
from gridlane.codegen.clike.floats import narrow_bf16, widen_bf16
from gridlane.codegen.clike.rounding import (
    hidden_choice,
    hidden_complement,
    hidden_constant,
    hidden_once,
    hidden_select,
    kept_apart,
)
from gridlane.codegen.emitters import require_inside
from gridlane.core.dtypes import DType, bf16, by_name, f32, u32
from gridlane.ir.builder import constant
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, math
from gridlane.ir.types import PointerType
from gridlane.ir.values import Value

Emit = Callable[[Emission, Op, DType, list[str]], str]


def computing(dtype: DType, signed: bool = False) -> DType:
    """The integer type of 32 or 64 bits that an integer computes in: C widens smaller ones anyway,
    and the overflow of signed ones is undefined in C."""
    return by_name(f"{'i' if signed else 'u'}{max(32, dtype.bits)}")


def resized(state: Emission, text: str, source: DType, target: DType) -> str:
    """An integer cast to another width or sign."""
    return text if source is target else state.dialect.convert(target, text)


# ---- two operands


def _plain(symbol: str) -> Emit:
    def emit(state: Emission, op: Op, dtype: DType, operands: list[str]) -> str:
        a, b = operands
        direct = dtype.is_float or (state.dialect.wraps and dtype.bits == 32)
        if direct or dtype is computing(dtype):
            return f"{a} {symbol} {b}"
        wide = computing(dtype)
        a, b = (resized(state, text, dtype, wide) for text in operands)
        return resized(state, f"{a} {symbol} {b}", wide, dtype)

    return emit


def _bitwise(symbol: str, logical: str) -> Emit:
    plain = _plain(symbol)

    def emit(state: Emission, op: Op, dtype: DType, operands: list[str]) -> str:
        a, b = operands
        return f"{a} {logical} {b}" if dtype.is_bool else plain(state, op, dtype, operands)

    return emit


def _divide(state: Emission, op: Op, dtype: DType, operands: list[str]) -> str:
    if dtype.is_float:
        return f"{operands[0]} / {operands[1]}"
    require_inside(op)
    wide = computing(dtype, dtype.is_signed)
    top, bottom = (resized(state, text, dtype, wide) for text in operands)
    return resized(state, f"{top} / {bottom}", wide, dtype)


def _mulhi(state: Emission, op: Op, dtype: DType, operands: list[str]) -> str:
    a, b = operands
    name = state.dialect.functions.get(arith.MulHi)
    if dtype.bits < 32:
        wide = computing(dtype, dtype.is_signed)
        product = f"({resized(state, a, dtype, wide)} * {resized(state, b, dtype, wide)})"
        return resized(state, f"({product} >> {dtype.bits}u)", wide, dtype)
    if name:
        return f"{name}({a}, {b})"
    high = _high_half(state, *(resized(state, text, dtype, u32) for text in operands))
    if dtype.is_signed:
        # A negative factor is its unsigned value less 2**32.
        for one, other in ((a, b), (b, a)):
            less = state.dialect.choose(f"{one} < 0", state.dialect.convert(u32, other), "0u")
            high = state.let(u32, f"{high} - {less}")
    return resized(state, high, u32, dtype)


def _high_half(state: Emission, a: str, b: str) -> str:
    """The upper 32 bits of a product of two u32, from four products of halves."""
    a0, a1 = state.let(u32, f"{a} & 0xffffu"), state.let(u32, f"{a} >> 16u")
    b0, b1_ = state.let(u32, f"{b} & 0xffffu"), state.let(u32, f"{b} >> 16u")
    middle = state.let(u32, f"({a1} * {b0}) + (({a0} * {b0}) >> 16u)")
    low = state.let(u32, f"({a0} * {b1_}) + ({middle} & 0xffffu)")
    return state.let(u32, f"({a1} * {b1_}) + ({middle} >> 16u) + ({low} >> 16u)")


def _extreme(symbol: str) -> Emit:
    def emit(state: Emission, op: Op, dtype: DType, operands: list[str]) -> str:
        a, b = operands
        if not dtype.is_float:
            return state.dialect.choose(f"{a} {symbol} {b}", a, b)
        return floats.extreme(state, dtype, a, b, symbol)

    return emit


def _shift(state: Emission, op: Op, dtype: DType, operands: list[str]) -> str:
    """Shift by an amount below the width."""
    assert isinstance(op, arith.Shift)
    require_inside(op)
    kind, known = op.amount.type, constant(op.amount)
    assert isinstance(kind, DType)
    right = isinstance(op, arith.Shr)
    wide = computing(dtype, right and dtype.is_signed)
    by = f"{known}u" if known is not None else resized(state, operands[1], kind, u32)
    moved = f"({resized(state, operands[0], dtype, wide)} {'>>' if right else '<<'} {by})"
    return resized(state, moved, wide, dtype)


def _unequal(state: Emission, op: Op, dtype: DType, operands: list[str]) -> str:
    """Unequal; for floats the complement of ==, as compilers take != for an ordered comparison."""
    a, b = operands
    return f"!({a} == {b})" if dtype.is_float else f"{a} != {b}"


def _compare(symbol: str) -> Emit:
    def emit(state: Emission, op: Op, dtype: DType, operands: list[str]) -> str:
        return f"{operands[0]} {symbol} {operands[1]}"

    return emit


# ---- one operand


def _negate(state: Emission, op: Op, dtype: DType, operands: list[str]) -> str:
    if dtype.is_float:
        return floats.with_bits(state, dtype, operands[0], "^", 1 << (dtype.bits - 1))
    return _plain("-")(state, op, dtype, [state.literal(0, dtype), operands[0]])


def _absolute(state: Emission, op: Op, dtype: DType, operands: list[str]) -> str:
    if dtype.is_float:
        return floats.with_bits(state, dtype, operands[0], "&", (1 << (dtype.bits - 1)) - 1)
    if not dtype.is_signed:
        return operands[0]
    negative = state.let(dtype, _negate(state, op, dtype, operands))
    return state.dialect.choose(f"{operands[0]} < {state.literal(0, dtype)}", negative, operands[0])


def _complement(state: Emission, op: Op, dtype: DType, operands: list[str]) -> str:
    if dtype.is_bool:
        return hidden_complement(state, op, operands[0]) or f"!{operands[0]}"
    wide = computing(dtype)
    return resized(state, f"(~{resized(state, operands[0], dtype, wide)})", wide, dtype)


def _counted(state: Emission, op: Op, dtype: DType, operands: list[str]) -> str:
    """Bits counted or reversed, in 32 or 64 bits after zero extension."""
    wide = computing(dtype)
    filled = resized(state, operands[0], dtype, dtype.unsigned)
    filled = resized(state, filled, dtype.unsigned, wide)
    counted = _named(state, op).format(filled)
    extra = wide.bits - dtype.bits
    if extra and isinstance(op, arith.Clz):
        counted = f"({counted} - {extra}u)"
    if extra and isinstance(op, arith.Brev):
        counted = f"({counted} >> {extra}u)"
    return state.dialect.convert(dtype, counted)


def _function(state: Emission, op: Op, dtype: DType, operands: list[str]) -> str:
    return f"{_named(state, op)}({', '.join(operands)})"


def _named(state: Emission, op: Op) -> str:
    if type(op) not in state.dialect.functions:
        raise state.refuse(op, "their language has no such function")
    return state.dialect.functions[type(op)]


def _fused(state: Emission, op: Op, dtype: DType, operands: list[str]) -> str:
    """Fused multiply-add; where it must round once, a pass has lowered it to integers, or the
    language does so."""
    if arith.Fma not in state.dialect.functions:
        product = state.let(dtype, f"{operands[0]} * {operands[1]}")
        return f"{product} + {operands[2]}"
    return _function(state, op, dtype, operands)


SCALARS: dict[type[Op], Emit] = {
    arith.Add: _plain("+"),
    arith.Sub: _plain("-"),
    arith.Mul: _plain("*"),
    arith.Div: _divide,
    arith.MulHi: _mulhi,
    arith.Min: _extreme("<"),
    arith.Max: _extreme(">"),
    arith.And: _bitwise("&", "&&"),
    arith.Or: _bitwise("|", "||"),
    arith.Xor: _bitwise("^", "!="),
    arith.Shl: _shift,
    arith.Shr: _shift,
    arith.Neg: _negate,
    arith.Abs: _absolute,
    arith.Not: _complement,
    arith.Popcount: _counted,
    arith.Clz: _counted,
    arith.Brev: _counted,
    arith.Eq: _compare("=="),
    arith.Ne: _unequal,
    arith.Lt: _compare("<"),
    arith.Le: _compare("<="),
    arith.Gt: _compare(">"),
    arith.Ge: _compare(">="),
    arith.Fma: _fused,
    math.Sqrt: _function,
    math.Floor: _function,
    math.Ceil: _function,
    math.Trunc: _function,
    math.Rint: _function,
    math.Round: floats.round_away,
    math.Copysign: floats.copy_sign,
}
"""The emitter of each op on scalars of one type."""


def lacking(dialect: type[Dialect]) -> frozenset[type[Op]]:
    """The ops that would be functions of a language that has no such function."""
    named = {cls for cls, emit in SCALARS.items() if emit in (_function, _counted)}
    return frozenset(named - set(dialect.functions))


def combined(state: Emission, cls: type[Op], dtype: DType, operands: list[str]) -> str:
    """The text of an op on operands given as texts; for ops that are expanded into others."""
    op = cls(*[Value(dtype) for _ in operands])  # type: ignore[call-arg]  # it has operands alone
    return _through(state, SCALARS[cls], op, dtype, operands)


@emits(*SCALARS)
def scalar(state: Emission, op: Op) -> None:
    """Emit an op of the table, on scalars or, if it compares, on pointers."""
    values = list(op.operands())
    operands = [kept_apart(state, op, number) for number in range(len(values))]
    first = values[0].type
    if isinstance(first, PointerType):
        numbers = [state.dialect.number(text) for text in operands]
        state.give(op.results[0], SCALARS[type(op)](state, op, u32, numbers))
        return
    assert isinstance(first, DType)
    scalar_text = hidden_select(state, op, _through(state, SCALARS[type(op)], op, first, operands))
    state.give(op.results[0], hidden_once(state, op, scalar_text))


def _through(state: Emission, emit: Emit, op: Op, dtype: DType, operands: list[str]) -> str:
    """Emit an op; bf16 operands and results go through f32."""
    if dtype is not bf16:
        return emit(state, op, dtype, operands)
    wide = [widen_bf16(state, text) for text in operands]
    result = emit(state, op, f32, wide)
    if op.results[0].type is not bf16:
        return result
    return narrow_bf16(state, state.let(f32, result))


@emits(arith.Const)
def const(state: Emission, op: arith.Const) -> None:
    """Inline a constant at its uses."""
    if isinstance(op.type, PointerType):
        state.set(op.results[0], state.zero(op.type))
        return
    assert isinstance(op.type, DType)
    text = hidden_constant(state, op, op.type)
    folding, dialect = state.folding, state.dialect
    is_long = len(text) > 8 and len(folding.users[op.results[0]]) > 1
    is_named = dialect.names_constants and op.results[0] in folding.named
    if is_named or (dialect.folds and is_long):
        text = state.let(op.type, text)
    state.set(op.results[0], text)


@emits(arith.Select)
def select(state: Emission, op: arith.Select) -> None:
    """Select between scalars or pointers."""
    a, b = hidden_choice(state, op), state.name(op.on_false)
    chosen = state.dialect.choose(state.name(op.condition), a, b)
    state.give(op.results[0], hidden_once(state, op, chosen))
