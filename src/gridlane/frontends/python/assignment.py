"""Assignment: bind names, unpack tuples and arrays, store elements and attributes."""

from __future__ import annotations

import ast
import operator

from gridlane.core.dtypes import i64
from gridlane.core.errors import TypingError, UnsupportedError
from gridlane.frontends.python.attributes import set_attribute
from gridlane.frontends.python.calls.extended import extended_operator
from gridlane.frontends.python.indexing import element_at, place_of
from gridlane.frontends.python.iteration import static_items
from gridlane.frontends.python.operands import ArrayView, Operand, Scalar
from gridlane.frontends.python.places import store
from gridlane.frontends.python.raising import stop
from gridlane.frontends.python.translator import Translator
from gridlane.ir.builder import constant
from gridlane.ir.ops import arith


def assign_to(t: Translator, target: ast.expr, value: Operand) -> None:
    """Bind or store a value."""
    if isinstance(target, ast.Name):
        t.env[target.id] = value
    elif isinstance(target, ast.Subscript):
        base, index = t.expr(target.value), t.expr(target.slice)
        with t.at(target):
            made = extended_operator(t, (operator.setitem,), [base, index, value])
            if made is None:
                store(t, place_of(t, base, index), value)
    elif isinstance(target, ast.Tuple | ast.List):
        _unpack(t, target, value)
    elif isinstance(target, ast.Attribute):
        base = t.expr(target.value)
        with t.at(target):
            set_attribute(t, base, target.attr, value)
    else:
        with t.at(target):
            raise t.fail(UnsupportedError, "a starred target cannot be compiled; unpack each item")


def _unpack(t: Translator, target: ast.Tuple | ast.List, value: Operand) -> None:
    with t.at(target):
        items = static_items(t, value)
        if isinstance(value, ArrayView) and value.shape:
            _require_extent(t, value, len(target.elts))
            items = [element_at(t, value, t.integer(n)) for n in range(len(target.elts))]
        if items is None:
            instead = "give it one name" if isinstance(value, Scalar) else "index it instead"
            raise t.fail(
                TypingError,
                f"{value.type_name} cannot be unpacked: only tuples and arrays can; {instead}",
            )
        _require_count(t, len(items), len(target.elts))
    for one, item in zip(target.elts, items, strict=True):
        assign_to(t, one, item)


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
