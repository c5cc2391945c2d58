"""Keeps float operations separate in languages whose compilers may contract and reorder them.

An operand that is another operation's result passes through its bits, with a zero in between that
the compiler cannot know: so ``(a + b) - a`` keeps its meaning, and products are rounded. The same
way hides values that a compiler may know to be zero, where compilers fold 0 + x and 0 * x, and
constant divisors, as compilers multiply by their reciprocals. Where compilers assume that NaN and
infinity are absent, it also hides constants of these, a value that is compared with or subtracted
from itself, the choice of the smaller, which is no minimum, and the negation of an order.
"""

from __future__ import annotations

from math import frexp, isfinite

from gridlane.codegen.chosen_units import is_misread
from gridlane.codegen.clike.emission import Emission
from gridlane.codegen.joined_bits import may_select_bits
from gridlane.core.dtypes import DType, f32, u32
from gridlane.ir.builder import constant, rounded
from gridlane.ir.op import FastMath, Op
from gridlane.ir.ops import arith, control, memory
from gridlane.ir.values import Value

ROUNDED = (arith.Add, arith.Sub, arith.Mul, arith.Div, arith.Fma)
SUMS = (arith.Add, arith.Sub)
ORDERS = (arith.Lt, arith.Le, arith.Gt, arith.Ge)
COMPARES = (arith.Eq, arith.Ne, *ORDERS)
_UNKNOWN = (memory.Load, control.Call, *ROUNDED)
"""Ops that compilers cannot fold: loads, arithmetic on hidden values, and calls, whose results the
callee hides."""
_OPEN = FastMath.NSZ | FastMath.NNAN
"""Flags that leave the sign of zeros and the result of NaN open, so that zeros may be folded."""


def kept_apart(state: Emission, op: Op, number: int) -> str:
    """The text of an operand, hidden so that compilers fuse its op with ``op`` only if both allow
    it."""
    value = list(op.operands())[number]
    text, source = state.name(value), value.op
    if not isinstance(op, (*ROUNDED, *COMPARES)) or value.type is not f32:
        return text
    if state.dialect.folds_zeros and number == 1 and _is_of_one(op):
        return _hidden(state, text, "|")  # the other operand may be hidden as well
    if not isinstance(op, ROUNDED):
        return text
    if state.dialect.merges and number == 1 and _has_reciprocal(op):
        return _hidden(state, text)
    if value not in state.apart and _is_kept_from(state, op, value, source):
        return _hidden(state, text)
    return text


def hidden_once(state: Emission, op: Op, text: str) -> str:
    """The text of an op, hidden where it is made if all operations with its result need that."""
    value = op.results[0]
    if value.type is not f32:
        return text
    others = [user for user in state.folding.users[value] if isinstance(user, ROUNDED)]
    if not others or not all(_is_kept_from(state, user, value, op) for user in others):
        return text
    state.apart.add(value)
    return _hidden(state, text)


def _is_kept_from(state: Emission, op: Op, value: Value, source: Op | None) -> bool:
    """Whether an operation must not see the op that defines an operand."""
    if state.dialect.folds_zeros and _may_be_known_zero(value) and _flags(op) & _OPEN != _OPEN:
        return True
    return state.dialect.merges and isinstance(source, ROUNDED) and not _may_merge(op, source)


def hidden_parameter(state: Emission, value: Value) -> str:
    """The text of a parameter of a function, whose argument any operation of a caller defines."""
    text = state.name(value)
    if not state.dialect.merges or value.type is not f32:
        return text
    return state.let(f32, _hidden(state, text))


def hidden_zero(state: Emission, value: Value) -> str:
    """The text of a value passed to a callee, which may add it or multiply by it. Where operations
    merge, the callee hides its parameters."""
    text = state.name(value)
    if state.dialect.merges or not state.dialect.folds_zeros or value.type is not f32:
        return text
    hide = _may_be_known_zero(value) and value not in state.apart
    return _hidden(state, text) if hide else text


def hidden_result(state: Emission, value: Value) -> str:
    """The text of a value that is returned to a caller, which may compute with it."""
    if not state.dialect.merges:
        return hidden_zero(state, value)
    text, seen = state.name(value), value.type is f32 and value not in state.apart
    return _hidden(state, text) if seen else text


def hidden_constant(state: Emission, op: arith.Const, dtype: DType) -> str:
    """The text of a constant. Infinity and NaN are hidden, as a compiler may assume that there are
    none, and fold ``x < infinity`` to true. -0 is hidden too: Mesa's compiler folds a select of 1
    and -0 to one of 1 and 0."""
    text = state.literal(op.value, dtype)
    if state.module.hides_units and is_misread(op, state.folding.users):
        return _hidden_word(state, text, dtype)
    known = isfinite(op.value) and not op.is_negative_zero
    if not state.dialect.folds_zeros or dtype is not f32 or known:
        return text
    return _hidden(state, text, "|" if op.is_negative_zero else "^")  # a second ^ would cancel


def hidden_complement(state: Emission, op: Op, text: str) -> str:
    """The negation of an order of two floats, in a form that a compiler does not fold to the
    inverse order, which is false for NaN as well; "" for other conditions."""
    compared = next(op.operands()).op
    if not state.dialect.folds_zeros or not isinstance(compared, ORDERS):
        return ""
    if not isinstance(compared.lhs.type, DType) or not compared.lhs.type.is_float:
        return ""
    state.uses.add("zero")
    return f"(({state.dialect.choose(text, '1u', '0u')} ^ zero) == 0u)"


def hidden_choice(state: Emission, op: arith.Select) -> str:
    """The text of a select's first value. Where a select takes the smaller or the larger of two
    floats, that value is hidden, so that it differs from the compared operand."""
    text, chosen = state.name(op.on_true), {op.on_true, op.on_false}
    compared = op.condition.op
    if not state.dialect.folds_zeros or op.on_true.type is not f32:
        return text
    if not isinstance(compared, ORDERS) or set(compared.operands()) != chosen:
        return text
    return _hidden(state, text)


def hidden_bits(state: Emission, text: str) -> str:
    """A u32 that joins bits of two, hidden from compilers that miscompile such a join."""
    if not state.module.hides_bit_selects:
        return text
    state.uses.add("zero")
    return f"(({text}) ^ zero)"


def _hidden_word(state: Emission, text: str, dtype: DType) -> str:
    """A constant of 32 bits, hidden from the compiler; shorter ones have 32 bits in registers."""
    if dtype is f32:
        return _hidden(state, text, "|")
    if dtype.bits != 32 or not dtype.is_integer:
        return text
    state.uses.add("zero")
    zero = "zero" if dtype is u32 else state.dialect.convert(dtype, "zero")
    return f"(({text}) ^ {zero})"


def hidden_select(state: Emission, op: Op, text: str) -> str:
    """The text of an op, hidden where it may be a bit select; see ``codegen/joined_bits.py``."""
    if not state.module.hides_bit_selects or not may_select_bits(op):
        return text
    dtype = op.results[0].type
    assert isinstance(dtype, DType) and dtype.bits == 32  # languages that need it have no others
    state.uses.add("zero")
    zero = "zero" if dtype is u32 else state.dialect.convert(dtype, "zero")
    return f"({text}) ^ {zero}"


def _hidden(state: Emission, text: str, symbol: str = "^") -> str:
    """The same number, hidden from the compiler."""
    state.uses.add("zero")
    if text[0] in "-(.0123456789" and state.dialect.names_constants:  # a literal, maybe
        text = state.let(f32, text)
    raw = f"{state.dialect.bits(f32, u32, text)} {symbol} zero"
    number = state.dialect.bits(u32, f32, raw)
    return number if state.dialect.folds else state.let(f32, number)


def _may_be_known_zero(value: Value) -> bool:
    """Whether a compiler may know that a value is 0: a constant, or an op that it may fold."""
    known = constant(value)
    if known is not None:
        return rounded(known, value.type) == 0
    return value.op is not None and not isinstance(value.op, _UNKNOWN)


def _has_reciprocal(op: Op) -> bool:
    """Whether a compiler may multiply by the rounded reciprocal of a divisor; that of a power of
    two is exact."""
    if not isinstance(op, arith.Div) or op.fast & FastMath.ARCP:
        return False
    constant = op.rhs.op
    return isinstance(constant, arith.Const) and abs(frexp(constant.value)[0]) != 0.5


def _may_merge(op: Op, source: Op) -> bool:
    """Whether the flags of two ops allow merging them into one."""
    flags = _flags(op) & _flags(source)
    if flags & FastMath.REASSOC:
        return True
    return (
        bool(flags & FastMath.CONTRACT) and isinstance(op, SUMS) and isinstance(source, arith.Mul)
    )


def _is_of_one(op: Op) -> bool:
    """Whether a compiler may know the operands to be the same value, and then folds the result to
    0, true or false, as if there were no NaN and no infinity. A difference from a value that may be
    zero is included: NVIDIA's GLSL compiler turns it into one of integers."""
    if not isinstance(op, (arith.Sub, *COMPARES)):
        return False
    if isinstance(op, arith.Sub) and _flags(op) & _OPEN != _OPEN and _may_be_known_zero(op.lhs):
        return True
    return _are_alike(op.lhs, op.rhs)


def _are_alike(a: Value, b: Value) -> bool:
    """Whether two values are computed in the same way from the same values."""
    seen: set[tuple[Value, Value]] = set()
    waiting = [(a, b)]
    while waiting:
        one, other = pair = waiting.pop()
        if one is other or pair in seen:
            continue
        seen.add(pair)
        if len(seen) > _MOST_ALIKE or not _end_alike(one, other):
            return False
        assert one.op is not None and other.op is not None
        waiting += zip(one.op.operands(), other.op.operands(), strict=True)
    return True


_MOST_ALIKE = 200
"""The most values compared; compilers are not expected to look further either."""


def _end_alike(a: Value, b: Value) -> bool:
    """Whether the ops of two values are the same apart from their operands."""
    if a.op is None or b.op is None or type(a.op) is not type(b.op) or a.type != b.type:
        return False
    if a.op.results.index(a) != b.op.results.index(b):
        return False
    if len(list(a.op.operands())) != len(list(b.op.operands())):
        return False
    return _attributes(a.op) == _attributes(b.op)


def _attributes(op: Op) -> list[object]:
    return [getattr(op, name) for name in (*op.PLAIN_FIELDS, *op.VARIABLE_FIELDS)]


def _flags(op: Op) -> FastMath:
    return getattr(op, "fast", FastMath.NONE)
