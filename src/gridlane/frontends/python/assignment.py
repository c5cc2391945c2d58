"""Assignment: bind names, unpack tuples and arrays, store elements and attributes."""

from __future__ import annotations

import ast
import operator
from collections.abc import Sequence

from gridlane.core.dtypes import i64
from gridlane.core.errors import TypingError, UnsupportedError
from gridlane.frontends.python.attributes import set_attribute
from gridlane.frontends.python.calls.extended import extended_operator
from gridlane.frontends.python.indexing import element_at, place_of
from gridlane.frontends.python.iteration import static_items
from gridlane.frontends.python.operands import ArrayView, Operand, Scalar, TupleOperand
from gridlane.frontends.python.optionals import value_of
from gridlane.frontends.python.raising import stop
from gridlane.frontends.python.stores import store
from gridlane.frontends.python.translator import Translator
from gridlane.frontends.python.unchanged import keep
from gridlane.ir.builder import constant
from gridlane.ir.ops import arith


def assign_to(t: Translator, target: ast.expr, value: Operand) -> None:
    """Bind or store a value."""
    if isinstance(target, ast.Name):
        keep(t, value)
        t.env[target.id] = value
    elif isinstance(target, ast.Subscript):
        base, index = t.expr(target.value), t.expr(target.slice)
        with t.at(target):
            stored = extended_operator(t, (operator.setitem,), [base, index, value])
            if stored is None:
                store(t, place_of(t, value_of(t, base), value_of(t, index)), value)
    elif isinstance(target, ast.Tuple | ast.List):
        _unpack(t, target, value)
    elif isinstance(target, ast.Attribute):
        base = t.expr(target.value)
        with t.at(target):
            set_attribute(t, value_of(t, base), target.attr, value_of(t, value))
    else:
        with t.at(target):
            raise t.fail(UnsupportedError, f"{type(target).__name__} nodes are no target")


def _unpack(t: Translator, target: ast.Tuple | ast.List, value: Operand) -> None:
    with t.at(target):
        value = value_of(t, value)
        items = static_items(t, value)
        starred = any(isinstance(one, ast.Starred) for one in target.elts)
        if isinstance(value, ArrayView) and starred:
            raise t.fail(
                UnsupportedError, "an array cannot be unpacked to a starred target; slice it"
            )
        if isinstance(value, ArrayView) and value.shape:
            _require_extent(t, value, len(target.elts))
            items = [element_at(t, value, t.integer(n)) for n in range(len(target.elts))]
        if items is None:
            instead = "give it one name" if isinstance(value, Scalar) else "index it instead"
            raise t.fail(
                TypingError,
                f"{value.type_name} cannot be unpacked: only tuples and arrays can; {instead}",
            )
        items = _gathered(t, target.elts, items)
        _require_count(t, len(items), len(target.elts))
    for one, item in zip(target.elts, items, strict=True):
        assign_to(t, one.value if isinstance(one, ast.Starred) else one, item)


def _gathered(t: Translator, targets: list[ast.expr], items: Sequence[Operand]) -> list[Operand]:
    """The items, with those of a starred target as one tuple."""
    starred = [n for n, one in enumerate(targets) if isinstance(one, ast.Starred)]
    if not starred:
        return list(items)
    first, rest = starred[0], len(targets) - 1
    if len(items) < rest:
        raise t.fail(TypingError, f"{len(items)} values cannot be unpacked to {rest} names or more")
    end = len(items) - (rest - first)
    return [*items[:first], TupleOperand(tuple(items[first:end])), *items[end:]]


def _require_count(t: Translator, count: int, names: int) -> None:
    if count != names:
        raise t.fail(TypingError, f"{count} values cannot be unpacked to {names} names")


def _require_extent(t: Translator, array: ArrayView, names: int) -> None:
    """Require that an array has as many items as there are names; otherwise end the thread."""
    extent = constant(array.shape[0])
    if extent is not None:
        _require_count(t, int(extent), names)
        return
    with t.b.if_(t.b.binary(arith.Ne, array.shape[0], t.b.const(names, i64))):
        stop(t, "ValueError", f"an array of another extent is unpacked to {names} names")
    t.dead = False
