"""Rules for expressions."""

from __future__ import annotations

import ast
import operator
import types
from collections.abc import Callable
from typing import Any, cast

from gridlane.frontends.foreign.python import BINARY
from gridlane.frontends.triton.arithmetic import logical, negation
from gridlane.frontends.triton.calling import call
from gridlane.frontends.triton.casting import is_true
from gridlane.frontends.triton.constants import constexpr_type
from gridlane.frontends.triton.functions import TileFunction
from gridlane.frontends.triton.names import global_value
from gridlane.frontends.triton.numbers import decayed, to_tensor
from gridlane.frontends.triton.shapes import item
from gridlane.frontends.triton.translator import ExpressionRule, Translator
from gridlane.frontends.triton.types import dtype
from gridlane.frontends.triton.values import (
    described,
    parts_of,
    shown,
    tensor,
    tensors_in,
    with_tensors,
)
from gridlane.ir.ops import control
from gridlane.ir.values import Region

CONDITIONS = (bool, int, type(None))
"""The types of constants that conditions may be."""

_CONSTANTS = (bool, int, float, str, type(None), tuple, dtype, TileFunction)
"""The types of constants that are read plainly, and have a ``value`` in Triton."""

_BINARY = BINARY | {ast.Pow: operator.pow, ast.LShift: operator.lshift}
"""Operators by the names of a class's methods; integers are computed by ``BINARY``."""

_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: lambda x: negation(x) if isinstance(x, tensor) else not x,
}

_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_OF_CONSTANTS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda x, y: x in y,
    ast.NotIn: lambda x, y: x not in y,
}


def binary(t: Translator, op: ast.operator, node: ast.AST, left: Any, right: Any) -> Any:
    """An operator of two values."""
    function = _BINARY.get(type(op))
    if function is None:
        name = type(op).__name__
        hint = "; use tl.dot" if name == "MatMult" else ""
        message = f"AST binary operator '{name}' is not (currently) implemented.{hint}"
        raise t.unsupported(node, message)
    if isinstance(op, ast.Pow) and any(isinstance(each, tensor) for each in (left, right)):
        raise t.unsupported(
            node, "AST binary operator 'Pow' is not implemented of tensors; use libdevice.pow"
        )
    own = getattr(type(left), f"__{function.__name__.strip('_')}__", None)
    if isinstance(own, TileFunction):  # of a class of the program
        return t.call(own, (left, right), {})
    if isinstance(left, int) and isinstance(right, int):
        return BINARY[type(op)](left, right)
    return function(left, right)


def _named(t: Translator, node: ast.NamedExpr) -> Any:
    value = decayed(t.expr(node.value))
    t.frame.scope[node.target.id] = value
    return value


def _binary(t: Translator, node: ast.BinOp) -> Any:
    left, right = t.expr(node.left), t.expr(node.right)
    return binary(t, node.op, node, left, right)


def _unary(t: Translator, node: ast.UnaryOp) -> Any:
    return _UNARY[type(node.op)](t.expr(node.operand))


def _compare(t: Translator, node: ast.Compare) -> Any:
    values = [t.expr(each) for each in (node.left, *node.comparators)]
    if len(values) > 2 and any(True for each in values for _ in tensors_in(each)):
        raise t.unsupported(node, "simultaneous multiple comparison is not supported")
    result: Any = True
    for op, left, right in zip(node.ops, values, values[1:], strict=False):
        fixed = _OF_CONSTANTS.get(type(op))
        result = fixed(left, right) if fixed else _COMPARISONS[type(op)](left, right)
        if not isinstance(result, tensor) and not result:
            break
    return result


def _logic(t: Translator, node: ast.BoolOp) -> Any:
    """``and`` and ``or``: constants end them early, the rest is evaluated."""
    is_and = isinstance(node.op, ast.And)
    values: list[tensor] = []
    last: Any = None
    for each in node.values:
        last = t.expr(each)
        if isinstance(last, tensor):
            values.append(last)
        elif bool(last) != is_and:
            return last
    if not values:
        return last
    result = values.pop()
    while values:
        result = logical("and" if is_and else "or", values.pop(), result)
    return result


def _constant(t: Translator, node: ast.Constant) -> Any:
    return node.value


def _name(t: Translator, node: ast.Name) -> Any:
    frame = t.frame
    if node.id in frame.scope:
        return frame.scope[node.id]
    return global_value(frame.function, node.id)


def items(t: Translator, nodes: list[ast.expr]) -> tuple[Any, ...]:
    """The values of items, starred ones among them."""
    values: list[Any] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            values += t.expr(node.value)
        else:
            values.append(t.expr(node))
    return tuple(values)


def _tuple(t: Translator, node: ast.Tuple | ast.List) -> Any:
    return items(t, node.elts)


def _call(t: Translator, node: ast.Call) -> Any:
    function = t.expr(node.func)
    needed = node is t.unused and getattr(function, "_must_use_result", "")
    if needed:
        why = f" {needed}" if isinstance(needed, str) else ""
        raise ValueError(f"The result of {ast.unparse(node.func)} is not being used.{why}")
    args = items(t, node.args)
    keywords: dict[str, Any] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise t.unsupported(node, "**keywords are not supported; name the arguments")
        keywords[keyword.arg] = t.expr(keyword.value)
    return call(t, node, function, args, keywords)


def _attribute(t: Translator, node: ast.Attribute) -> Any:
    owner = t.expr(node.value)
    if node.attr == "value" and isinstance(owner, _CONSTANTS):
        return owner  # a constexpr's
    if node.attr == "type" and isinstance(owner, (bool, int, float, str, tuple, type(None))):
        return constexpr_type(owner)
    if node.attr.startswith("_") and isinstance(owner, tensor):
        raise AttributeError(f"a tensor has no attribute {node.attr}")
    value = getattr(owner, node.attr)
    if isinstance(value, TileFunction) and hasattr(type(owner), "is_aggregate"):
        return types.MethodType(value, owner)
    return value


def _subscript(t: Translator, node: ast.Subscript) -> Any:
    owner, index = t.expr(node.value), t.expr(node.slice)
    own = getattr(type(owner), "__getitem__", None)
    return t.call(own, (owner, index), {}) if isinstance(own, TileFunction) else owner[index]


def _slice(t: Translator, node: ast.Slice) -> Any:
    ends = [None if each is None else t.expr(each) for each in (node.lower, node.upper, node.step)]
    return slice(*ends)


def condition(t: Translator, node: ast.AST, value: tensor) -> Any:
    """A condition of run time, as a b1."""
    if value.numel != 1:
        raise t.unsupported(node, "Boolean value of Tensor with more than one value is ambiguous")
    return is_true(item(value) if value.shape else value)


def constant_condition(t: Translator, node: ast.AST, value: Any) -> bool:
    """A condition that is known."""
    if type(value) not in CONDITIONS:
        names = ", ".join([each.__name__ for each in CONDITIONS])
        raise t.unsupported(
            node,
            f"`if` conditionals can only accept values of type {{{names}}}, not objects of type "
            f"{type(value).__name__}",
        )
    return bool(value)


def _choice(t: Translator, node: ast.IfExp) -> Any:
    test = t.expr(node.test)
    if not isinstance(test, tensor):
        chosen = node.body if constant_condition(t, node, test) else node.orelse
        return t.expr(chosen)
    op = control.If(condition(t, node, test), Region(), Region())
    t.b.emit(op)
    sides: list[Any] = []
    for region, side in ((op.then, node.body), (op.orelse, node.orelse)):
        with t.region(region):
            value = t.expr(side)
            keeps = value is None or parts_of(value) is not None
            sides.append(value if keeps else to_tensor(value))
    first, second = sides
    if first is None and second is None:
        return None
    if described(first) != described(second):
        raise TypeError(
            "Ternary expression with dynamic condition has inconsistent types "
            f"{shown(first)} and {shown(second)}"
        )
    variables = [t.b.variable("chosen", each.handle.type) for each in tensors_in(first)]
    for region, value in ((op.then, first), (op.orelse, second)):
        with t.b.inside(region):
            for var, each in zip(variables, tensors_in(value), strict=True):
                t.b.write(var, each.handle)
    read = [
        tensor(t.b.read(var), each.type)
        for var, each in zip(variables, tensors_in(first), strict=True)
    ]
    return with_tensors(first, iter(read))


def _text(t: Translator, node: ast.JoinedStr) -> str:
    parts: list[str] = []
    for each in node.values:
        if isinstance(each, ast.FormattedValue):
            value = t.expr(each.value)
            if any(True for _ in tensors_in(value)):
                raise t.unsupported(
                    node,
                    "Cannot evaluate f-string containing non-constexpr conversion values, found "
                    f"conversion of type {type(value)}",
                )
            mark = "" if each.conversion < 0 else "!" + chr(each.conversion)
            form = "" if each.format_spec is None else t.expr(each.format_spec)
            parts.append(
                f"{{{mark}:{form}}}".format(value) if form else f"{{{mark}}}".format(value)
            )
        else:
            parts.append(str(t.expr(each)))
    return "".join(parts)


def _listed(t: Translator, node: ast.ListComp) -> Any:
    if len(node.generators) != 1:
        raise ValueError("nested comprehensions are not supported")
    (generator,) = node.generators
    sequence = t.expr(generator.iter)
    if not isinstance(sequence, tuple) or not isinstance(generator.target, ast.Name):
        raise NotImplementedError("only tuple comprehensions are supported")
    results: list[Any] = []
    outer = t.frame.scope
    t.frame.scope = dict(outer)
    try:
        for each in cast("tuple[Any, ...]", sequence):
            t.frame.scope[generator.target.id] = each
            tests = [t.expr(test) for test in generator.ifs]
            if all(constant_condition(t, node, test) for test in tests):
                results.append(t.expr(node.elt))
    finally:
        t.frame.scope = outer
    return tuple(results)


EXPRESSIONS: dict[type[ast.expr], ExpressionRule] = {
    ast.BinOp: _binary,
    ast.NamedExpr: _named,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _logic,
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Tuple: _tuple,
    ast.List: _tuple,
    ast.Call: _call,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.IfExp: _choice,
    ast.JoinedStr: _text,
    ast.ListComp: _listed,
}
