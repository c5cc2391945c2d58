"""Decide which values are folded into the expression that uses them, and which constants get names.

A pure value that one op of the same region uses, in a text that has its operand once, needs no line
of its own. What reads memory or a variable keeps its line, and so its place among writes. If
``precise`` of a variable keeps float operations as they are, a value that is computed from floats
is folded only into another such value, so that the whole expression belongs to a precise variable.

In a language that folds expressions of literals, no op has literals alone as operands, and a
literal is used only in arithmetic, not where its bits are read.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from gridlane.core.dtypes import DType, b1, f32
from gridlane.ir.builder import constant
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, control, memory
from gridlane.ir.types import PointerType
from gridlane.ir.values import Function, Region, Value

MOST = 120
"""Characters of a text that stands in another one."""

_PLAIN = (arith.Add, arith.Sub, arith.Mul, arith.And, arith.Or, arith.Xor)
_COMPARES = (arith.Eq, arith.Ne, arith.Lt, arith.Le, arith.Gt, arith.Ge)
_FOLDED = (
    *_PLAIN,
    *_COMPARES,
    arith.Neg,
    arith.Not,
    arith.Select,
    arith.Bitcast,
    arith.Cast,
    arith.Shl,
    arith.Shr,
    arith.Div,
    memory.Offset,
)
"""Their value is one expression, whatever stands in front of it."""
_TAKE_ONCE = (
    *_PLAIN,
    *_COMPARES,
    arith.Neg,
    arith.Not,
    arith.Select,
    arith.Bitcast,
    memory.Offset,
    memory.WriteVar,
    memory.Pack,
    control.If,
    control.Call,
    control.Return,
)
"""Their texts have each operand once. Others do for some types: see ``_takes_once``."""
_LITERALS = (*_PLAIN, *_COMPARES, arith.Select, memory.WriteVar, control.Call, control.Return)
"""Their texts have literals as they are."""


@dataclass(slots=True)
class Folding:
    """What is known of a function's values.

    Attributes:
        users: the ops that have a value as an operand, once for each time.
        folded: the values that may be folded into the expression that uses them.
        named: the constants that get names.
        exact: bools whose expressions have no float in them.
    """

    users: dict[Value, list[Op]] = field(default_factory=lambda: defaultdict(list[Op]))
    folded: set[Value] = field(default_factory=set[Value])
    named: set[Value] = field(default_factory=set[Value])
    exact: set[Value] = field(default_factory=set[Value])


def folding_of(function: Function, precise: bool) -> Folding:
    """Analyse a function.

    Args:
        precise: variables keep float operations as they are, and other places do not.
    """
    folding = Folding()
    for op in function.body.walk():
        for value in op.operands():
            folding.users[value].append(op)
        if isinstance(op, arith.Const):
            folding.named.add(op.results[0])
    for value in list(folding.named):
        users = folding.users[value]
        if users and all(_has_literal(user, value) for user in users):
            folding.named.discard(value)
    for region in _regions(function.body):
        of_floats: set[Value] = set()
        inside = {op for op in region.ops}
        for op in region.ops:
            if not isinstance(op, _FOLDED):
                continue
            (value,) = op.results
            if any(v.type is f32 or v in of_floats for v in (value, *op.operands())):
                of_floats.add(value)
            elif value.type is b1:
                folding.exact.add(value)
            users = folding.users[value]
            if len(users) != 1 or users[0] not in inside or not _takes_once(users[0], value):
                continue
            if not precise or value not in of_floats or _is_precise(users[0]):
                folding.folded.add(value)
    return folding


def _regions(region: Region) -> Iterator[Region]:
    yield region
    for op in region.ops:
        for inner in op.regions():
            yield from _regions(inner)


def _takes_once(op: Op, value: Value) -> bool:
    kind = value.type
    if isinstance(op, arith.Cast):
        return all(isinstance(t, DType) and not t.is_float for t in (kind, op.type))
    if isinstance(op, arith.Div):
        return kind is f32
    if isinstance(op, arith.Shl | arith.Shr):
        return value is op.value and _is_near(op)
    if isinstance(op, memory.Load | memory.Store):
        moved = op.results[0] if isinstance(op, memory.Load) else op.value
        return not isinstance(moved.type, PointerType)
    return isinstance(op, _TAKE_ONCE)


def _is_near(op: arith.Shl | arith.Shr) -> bool:
    """Whether the amount of a shift is known and within the width."""
    known, kind = constant(op.amount), op.value.type
    assert isinstance(kind, DType)
    return type(known) is int and 0 <= known < kind.bits


def _is_precise(op: Op) -> bool:
    """Whether the op's own value is computed from floats, and so belongs to a precise variable."""
    return isinstance(op, _FOLDED) and op.results[0].type in (f32, b1)


def _has_literal(op: Op, value: Value) -> bool:
    """Whether an op may have the literal of a constant in its text."""
    known = constant(value)
    if isinstance(op, arith.Shl | arith.Shr):
        return value is op.amount and _is_near(op) and constant(op.value) is None
    if isinstance(op, memory.Offset):
        return value is op.index and known is not None and 0 <= known < 1 << 20
    if isinstance(op, arith.Div | arith.Rem) and type(known) is int and known in (0, -1):
        return False
    if isinstance(op, arith.Select) and value is op.condition:
        return False
    if isinstance(op, memory.WriteVar | control.Call | control.Return):
        return True
    computes = isinstance(op, (*_LITERALS, arith.Div, arith.Rem))
    return computes and any(constant(operand) is None for operand in op.operands())


def enclosed(text: str) -> str:
    """An expression as an operand: in parentheses, unless it is one already.

    >>> enclosed("v1"), enclosed("f(a) + g(b)"), enclosed("f(a + b)"), enclosed("v3.p0")
    ('v1', '(f(a) + g(b))', 'f(a + b)', 'v3.p0')
    """
    head = _HEAD.match(text)
    assert head
    if head.end() == len(text):
        return text
    if text[head.end()] == "(" and _closing(text, head.end()) == len(text) - 1:
        return text
    return f"({text})"


_HEAD = re.compile(r"[\w.]*(<\w+>)?")


def _closing(text: str, start: int) -> int:
    """Where the parenthesis is closed that opens at ``start``."""
    depth = 0
    for index in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if not depth:
            return index
    return -1
