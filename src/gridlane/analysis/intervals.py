"""Intervals of integers, and the transfer function of each op on them.

An interval (low, high) includes both ends. A result that may wrap has its type's full interval.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridlane.core.compact import LIMIT, MOST_BLOCKS
from gridlane.core.dtypes import DType
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, grid
from gridlane.ir.values import Value

Interval = tuple[int, int]
Known = Callable[[Value], Interval]

I32: Interval = (-(1 << 31), (1 << 31) - 1)

_LOW = (0, -1, -LIMIT, I32[0])
_HIGH = (0, LIMIT - 1, LIMIT, I32[1], (1 << 32) - 1)


def full(type_: Any) -> Interval:
    """The interval of all values of an integer type."""
    assert isinstance(type_, DType)
    return type_.min, type_.max


def hull(a: Interval, b: Interval) -> Interval:
    """The smallest interval that contains both.

    >>> hull((0, 3), (5, 9))
    (0, 9)
    """
    return min(a[0], b[0]), max(a[1], b[1])


def meet(a: Interval, b: Interval) -> Interval | None:
    """The intersection of two intervals; None when it is empty."""
    low, high = max(a[0], b[0]), min(a[1], b[1])
    return (low, high) if low <= high else None


def inside(a: Interval, b: Interval) -> bool:
    """Whether ``b`` contains all of ``a``."""
    return b[0] <= a[0] and a[1] <= b[1]


def widened(old: Interval, new: Interval, most: Interval) -> Interval:
    """An interval that contains ``new``; each end is the old one or a threshold."""
    low, high = old[0], old[1]
    if new[0] < low:
        low = max((t for t in _LOW if most[0] <= t <= new[0]), default=most[0])
    if new[1] > high:
        high = min((t for t in _HIGH if new[1] <= t <= most[1]), default=most[1])
    return low, high


# --- conditions ---

_NEGATED = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}


def clamp(name: str, truth: bool, a: Interval, b: Interval) -> tuple[Interval, Interval] | None:
    """The intervals of a comparison's operands, given its result; None where it is impossible.

    >>> clamp("lt", True, (0, 100), (0, 10))
    ((0, 9), (1, 10))
    """
    name = name if truth else _NEGATED[name]
    if name in ("gt", "ge"):
        flipped = clamp({"gt": "lt", "ge": "le"}[name], True, b, a)
        return None if flipped is None else (flipped[1], flipped[0])
    if name == "eq":
        both = meet(a, b)
        return None if both is None else (both, both)
    if name == "ne":
        return None if a == b and a[0] == a[1] else (a, b)
    less = 1 if name == "lt" else 0
    left, right = meet(a, (a[0], b[1] - less)), meet(b, (a[0] + less, b[1]))
    return None if left is None or right is None else (left, right)


# --- ops ---


def transfer(op: Op, result: Value, known: Known) -> Interval:
    """The interval of an op's integer result."""
    most = full(result.type)
    rule = _RULES.get(type(op))
    interval = rule(op, known) if rule is not None else None
    if interval is None:
        return most
    return interval if inside(interval, most) else most


def _add(op: arith.Add, known: Known) -> Interval:
    if _is_global_index(op):
        return 0, LIMIT - 1
    (a, b), (c, d) = known(op.lhs), known(op.rhs)
    return a + c, b + d


def _sub(op: arith.Sub, known: Known) -> Interval:
    (a, b), (c, d) = known(op.lhs), known(op.rhs)
    return a - d, b - c


def _mul(op: arith.Mul, known: Known) -> Interval:
    pair = {type(_plain(op.lhs)), type(_plain(op.rhs))}
    if _same_axis(op):
        if pair == {grid.BlockIdx, grid.BlockDim}:
            return 0, LIMIT - 1
        if pair == {grid.GridDim, grid.BlockDim}:
            return 1, LIMIT
    (a, b), (c, d) = known(op.lhs), known(op.rhs)
    corners = (a * c, a * d, b * c, b * d)
    return min(corners), max(corners)


def _div(op: arith.Div, known: Known) -> Interval:
    """The interval of a quotient, rounded towards zero; division by zero sets all bits."""
    (a, b), divisors = known(op.lhs), known(op.rhs)
    ends = {end for end in (*divisors, -1, 1) if end and divisors[0] <= end <= divisors[1]}
    quotients = [_quotient(x, y) for x in (a, b) for y in ends]
    if a <= 0 <= b:
        quotients.append(0)
    if divisors[0] <= 0 <= divisors[1]:
        quotients.append(full(op.lhs.type)[1] if not full(op.lhs.type)[0] else -1)
    return min(quotients), max(quotients)


def _quotient(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def _rem(op: arith.Rem, known: Known) -> Interval | None:
    """The interval of a remainder, with the dividend's sign; by zero it is the dividend."""
    (a, b), (c, d) = known(op.lhs), known(op.rhs)
    if c <= 0 <= d:
        return min(a, 0), max(b, 0)
    most = max(abs(c), abs(d)) - 1
    return max(min(a, 0), -most), min(max(b, 0), most)


def _min(op: arith.Min, known: Known) -> Interval:
    (a, b), (c, d) = known(op.lhs), known(op.rhs)
    return min(a, c), min(b, d)


def _max(op: arith.Max, known: Known) -> Interval:
    (a, b), (c, d) = known(op.lhs), known(op.rhs)
    return max(a, c), max(b, d)


def _and(op: arith.And, known: Known) -> Interval | None:
    sides = [side for side in (known(op.lhs), known(op.rhs)) if side[0] >= 0]
    return (0, min(high for _, high in sides)) if sides else None


def _or(op: arith.Or | arith.Xor, known: Known) -> Interval | None:
    (a, b), (c, d) = known(op.lhs), known(op.rhs)
    return (0, (1 << max(b, d).bit_length()) - 1) if min(a, c) >= 0 else None


def _shl(op: arith.Shl, known: Known) -> Interval | None:
    (a, b), (c, d) = known(op.value), known(op.amount)
    if c < 0 or d > 62:
        return None
    corners = (a << c, a << d, b << c, b << d)
    return min(corners), max(corners)


def _shr(op: arith.Shr, known: Known) -> Interval | None:
    (a, b), (c, d) = known(op.value), known(op.amount)
    if c < 0:  # an amount beyond the width, which gives the sign
        return min(a, -1 if a < 0 else 0), max(b, 0)
    corners = (a >> c, a >> min(d, 64), b >> c, b >> min(d, 64))
    return min(corners), max(corners)


def _neg(op: arith.Neg, known: Known) -> Interval:
    a, b = known(op.value)
    return -b, -a


def _abs(op: arith.Abs, known: Known) -> Interval:
    a, b = known(op.value)
    return 0 if a <= 0 <= b else min(abs(a), abs(b)), max(abs(a), abs(b))


def _not(op: arith.Not, known: Known) -> Interval | None:
    a, b = known(op.value)
    return (~b, ~a) if full(op.value.type)[0] else None


def _select(op: arith.Select, known: Known) -> Interval:
    return hull(known(op.on_true), known(op.on_false))


def _cast(op: arith.Cast, known: Known) -> Interval | None:
    source = op.value.type
    if isinstance(source, DType) and source.is_bool:
        return 0, 1
    return known(op.value) if isinstance(source, DType) and source.is_integer else None


def _const(op: arith.Const, known: Known) -> Interval:
    value = int(op.value)
    return value, value


def _bits(op: arith.Popcount | arith.Clz, known: Known) -> Interval:
    kind = op.value.type
    assert isinstance(kind, DType)
    return 0, kind.bits


def _along(x: Interval, z: Interval) -> Callable[[Any, Known], Interval]:
    return lambda op, known: z if op.axis is grid.Axis.Z else x


_RULES: dict[type[Op], Callable[[Any, Known], Interval | None]] = {
    arith.Const: _const,
    arith.Add: _add,
    arith.Sub: _sub,
    arith.Mul: _mul,
    arith.Div: _div,
    arith.Rem: _rem,
    arith.Min: _min,
    arith.Max: _max,
    arith.And: _and,
    arith.Or: _or,
    arith.Xor: _or,
    arith.Shl: _shl,
    arith.Shr: _shr,
    arith.Neg: _neg,
    arith.Abs: _abs,
    arith.Not: _not,
    arith.Select: _select,
    arith.Cast: _cast,
    arith.Popcount: _bits,
    arith.Clz: _bits,
    grid.ThreadIdx: _along((0, 1023), (0, 63)),
    grid.BlockDim: _along((1, 1024), (1, 64)),
    grid.BlockIdx: _along((0, MOST_BLOCKS - 1), (0, MOST_BLOCKS - 1)),
    grid.GridDim: _along((1, MOST_BLOCKS), (1, MOST_BLOCKS)),
    grid.LaneId: lambda op, known: (0, 31),
}


def _plain(value: Value) -> Op | None:
    """The operand of integer casts that widen."""
    op = value.op
    while isinstance(op, arith.Cast) and isinstance(op.value.type, DType):
        source, target = op.value.type, op.type
        if not (source.is_integer and target.is_integer and target.bits >= source.bits):
            break
        op = op.value.op
    return op


def _same_axis(op: arith.Mul) -> bool:
    left, right = _plain(op.lhs), _plain(op.rhs)
    return (
        isinstance(left, grid.GridQuery)
        and isinstance(right, grid.GridQuery)
        and left.axis is right.axis
    )


def _is_global_index(op: arith.Add) -> bool:
    """Whether an op is block index * block size + thread index along one axis."""
    for product, rest in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        times, thread = _plain(product), _plain(rest)
        if not isinstance(times, arith.Mul) or not isinstance(thread, grid.ThreadIdx):
            continue
        left, right = _plain(times.lhs), _plain(times.rhs)
        if {type(left), type(right)} != {grid.BlockIdx, grid.BlockDim} or not _same_axis(times):
            continue
        assert isinstance(left, grid.GridQuery)
        return left.axis is thread.axis
    return False
