"""The functions of ``operator``, equivalent to their operators."""

from __future__ import annotations

import ast
import operator
from typing import Any

from gridlane.frontends.python.array_expressions import in_place, of_arrays
from gridlane.frontends.python.calls.registry import handles, register
from gridlane.frontends.python.compare import OPS, compare, contains, identical
from gridlane.frontends.python.conversion import truth
from gridlane.frontends.python.indexing import place_of, subscript
from gridlane.frontends.python.operands import NONE, Operand, Scalar
from gridlane.frontends.python.operators import BINARY, UNARY
from gridlane.frontends.python.stores import store
from gridlane.frontends.python.translator import Translator

_BINARY = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.BitAnd: "and_",
    ast.BitOr: "or_",
    ast.BitXor: "xor",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
}
_UNARY = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}
_COMPARE = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
}


FUNCTIONS: dict[type[ast.AST], Any] = {
    **{kind: getattr(operator, name) for kind, name in (_BINARY | _UNARY | _COMPARE).items()},
    ast.MatMult: operator.matmul,
    ast.Not: operator.not_,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: operator.contains,
    ast.NotIn: operator.contains,
}
"""The function of each operator."""
IN_PLACE: dict[type[ast.operator], Any] = {
    kind: getattr(operator, f"i{name.rstrip('_')}")
    for kind, name in (_BINARY | {ast.MatMult: "matmul"}).items()
}
"""The function of each operator with an assignment."""


def _register() -> None:
    for kind, name in _BINARY.items():

        def changed(
            t: Translator, a: Operand, b: Operand, kind: type[ast.operator] = kind
        ) -> Operand:
            return a if in_place(t, kind, a, b) else BINARY[kind](t, a, b)

        own = getattr(operator, "i" + name.rstrip("_"))
        register((own,), f"operator.{own.__name__}", changed, "a, b", unstored=True)
        every = getattr(operator, name)
        register((every,), f"operator.{name}", BINARY[kind], "a, b", unstored=True)
    for unary, name in _UNARY.items():
        register((getattr(operator, name),), f"operator.{name}", UNARY[unary], "a", unstored=True)
    register((operator.inv,), "operator.inv", UNARY[ast.Invert], "a")
    assert set(_COMPARE) == set(OPS)
    for relation, name in _COMPARE.items():

        def emit(
            t: Translator, a: Operand, b: Operand, relation: type[ast.cmpop] = relation
        ) -> Operand:
            of_elements = of_arrays(t, relation, a, b)
            return of_elements or Scalar(compare(t, relation, a, b))

        register((getattr(operator, name),), f"operator.{name}", emit, "a, b", unstored=True)


_register()


@handles(operator.not_, params="a")
def _not(t: Translator, a: Operand) -> Operand:
    return Scalar(t.b.not_(truth(t, a)))


@handles(operator.truth, params="a")
def _truth(t: Translator, a: Operand) -> Operand:
    return Scalar(truth(t, a))


@handles(operator.is_, params="a, b")
def _is(t: Translator, a: Operand, b: Operand) -> Operand:
    return Scalar(identical(t, a, b))


@handles(operator.is_not, params="a, b")
def _is_not(t: Translator, a: Operand, b: Operand) -> Operand:
    return Scalar(t.b.not_(identical(t, a, b)))


@handles(operator.contains, params="a, b")
def _contains(t: Translator, a: Operand, b: Operand) -> Operand:
    return Scalar(contains(t, b, a))


@handles(operator.getitem, params="a, b", unstored=True)
def _getitem(t: Translator, a: Operand, b: Operand) -> Operand:
    return subscript(t, a, b)


@handles(operator.setitem, params="a, b, c", unstored=True)
def _setitem(t: Translator, a: Operand, b: Operand, c: Operand) -> Operand:
    store(t, place_of(t, a, b), c)
    return NONE
