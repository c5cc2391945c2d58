"""Keeps float operations apart in languages that let compilers contract and reorder them.

A result that goes into another operation passes through its bits, with a zero in between that the
compiler cannot know: so ``(a + b) - a`` stays what it is, and products are rounded. What a compiler
may find to be zero is hidden likewise where compilers take 0 + x as x and 0 * x as 0, and a
constant that something is divided by, as they multiply by its reciprocal. Where they take NaN and
infinity for absent, so are constants of these, what is compared with itself or subtracted from
itself, the choice of the smaller, which is no minimum, and the opposite of an order.
"""

from __future__ import annotations

from math import frexp, isfinite

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
"""What compilers cannot compute beforehand: memory, arithmetic of what is hidden from them, and the
results of functions, which are hidden there."""
_OPEN = FastMath.NSZ | FastMath.NNAN
"""The sign of zeros, and what becomes of NaN, are left open: zeros may be folded."""


def kept_apart(state: Emission, op: Op, number: int) -> str:
    """The text of an operand, so that what made it is not merged with ``op`` unless both allow."""
    value = list(op.operands())[number]
    text, source = state.name(value), value.op
    if not isinstance(op, (*ROUNDED, *COMPARES)) or value.type is not f32:
        return text
    if state.dialect.folds_zeros and number == 1 and _is_of_one(op):
        return _hidden(state, text, "|")  # the other may be hidden as well
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
    """Whether an operation must not see what made an operand."""
    if state.dialect.folds_zeros and _may_be_known_zero(value) and _flags(op) & _OPEN != _OPEN:
        return True
    return state.dialect.merges and isinstance(source, ROUNDED) and not _may_merge(op, source)


def hidden_parameter(state: Emission, value: Value) -> str:
    """The text of a parameter of a function, which may come from any operation of a caller."""
    text = state.name(value)
    if not state.dialect.merges or value.type is not f32:
        return text
    return state.let(f32, _hidden(state, text))


def hidden_zero(state: Emission, value: Value) -> str:
    """The text of a value that goes to a callee, which may add or multiply by it. Where operations
    merge, the callee hides what comes in."""
    text = state.name(value)
    if state.dialect.merges or not state.dialect.folds_zeros or value.type is not f32:
        return text
    hide = _may_be_known_zero(value) and value not in state.apart
    return _hidden(state, text) if hide else text


def hidden_result(state: Emission, value: Value) -> str:
    """The text of a value that goes to a caller, which may compute with it."""
    if not state.dialect.merges:
        return hidden_zero(state, value)
    text, seen = state.name(value), value.type is f32 and value not in state.apart
    return _hidden(state, text) if seen else text


def hidden_constant(state: Emission, op: arith.Const, dtype: DType) -> str:
    """The text of a constant; of infinity and NaN one that a compiler does not know, as it may
    compute with such as if there were none, and take ``x < infinity`` for true. Likewise of -0:
    Mesa's takes a choice of 1 and -0 for one of 1 and 0."""
    text = state.literal(op.value, dtype)
    known = isfinite(op.value) and not op.is_negative_zero
    if not state.dialect.folds_zeros or dtype is not f32 or known:
        return text
    return _hidden(state, text, "|" if op.is_negative_zero else "^")  # it may be hidden again


def hidden_complement(state: Emission, op: Op, text: str) -> str:
    """What is true where the order of two floats is not, so that a compiler does not make the
    opposite order of it, which is as false for NaN; "" for other conditions."""
    compared = next(op.operands()).op
    if not state.dialect.folds_zeros or not isinstance(compared, ORDERS):
        return ""
    if not isinstance(compared.lhs.type, DType) or not compared.lhs.type.is_float:
        return ""
    state.uses.add("zero")
    return f"(({state.dialect.choose(text, '1u', '0u')} ^ zero) == 0u)"


def hidden_choice(state: Emission, op: arith.Select) -> str:
    """The text of what a choice gives where its condition holds: of the smaller, or the larger, of
    two floats one that is not seen to be what was compared."""
    text, chosen = state.name(op.on_true), {op.on_true, op.on_false}
    compared = op.condition.op
    if not state.dialect.folds_zeros or op.on_true.type is not f32:
        return text
    if not isinstance(compared, ORDERS) or set(compared.operands()) != chosen:
        return text
    return _hidden(state, text)


def hidden_bits(state: Emission, text: str) -> str:
    """A u32 of bits of two, for compilers that go wrong when they find where these come from."""
    if not state.module.hides_bit_selects:
        return text
    state.uses.add("zero")
    return f"(({text}) ^ zero)"


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
    """The same number, which a compiler does not know to be."""
    state.uses.add("zero")
    if text[0] in "-(.0123456789" and state.dialect.names_constants:  # a literal, maybe
        text = state.let(f32, text)
    raw = f"{state.dialect.bits(f32, u32, text)} {symbol} zero"
    made = state.dialect.bits(u32, f32, raw)
    return made if state.dialect.folds else state.let(f32, made)


def _may_be_known_zero(value: Value) -> bool:
    """Whether a compiler may find that a value is 0: a constant, and what others are made into."""
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
    """Whether the flags of two ops allow to make one of them."""
    flags = _flags(op) & _flags(source)
    if flags & FastMath.REASSOC:
        return True
    return (
        bool(flags & FastMath.CONTRACT) and isinstance(op, SUMS) and isinstance(source, arith.Mul)
    )


def _is_of_one(op: Op) -> bool:
    """Whether a compiler may find the operands to be one, and then takes the result for 0, or for
    true or false, as if there were no NaN and no infinity. A difference from what may be zero is
    among them: NVIDIA's compiler of GLSL makes one of integers of it."""
    if not isinstance(op, (arith.Sub, *COMPARES)):
        return False
    if isinstance(op, arith.Sub) and _flags(op) & _OPEN != _OPEN and _may_be_known_zero(op.lhs):
        return True
    return _are_alike(op.lhs, op.rhs)


def _are_alike(a: Value, b: Value) -> bool:
    """Whether two values are made in one way of the same."""
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
"""Values that are looked at, behind which a compiler is not expected to see it either."""


def _end_alike(a: Value, b: Value) -> bool:
    """Whether the ops that make two values do the same, whatever with."""
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
