"""Expressions: constants, names, attributes, boolean logic, ternaries, comparisons, calls."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

from gridlane.core.dtypes import b1
from gridlane.core.errors import ConstantError, TypingError, UnsupportedError
from gridlane.frontends.python import joins
from gridlane.frontends.python.array_expressions import are_arrays, of_arrays
from gridlane.frontends.python.attributes import attribute, method_of
from gridlane.frontends.python.calls.dispatch import call
from gridlane.frontends.python.calls.extended import extended_member, extended_operator
from gridlane.frontends.python.calls.operator_functions import FUNCTIONS
from gridlane.frontends.python.calls.printing import formatted
from gridlane.frontends.python.closures import defined
from gridlane.frontends.python.compare import compare, contains, identical
from gridlane.frontends.python.constants import operand_of
from gridlane.frontends.python.conversion import convert, integer, truth
from gridlane.frontends.python.doubles import literal
from gridlane.frontends.python.frames import Environment
from gridlane.frontends.python.indexing import subscript
from gridlane.frontends.python.lexical import Names, names_in
from gridlane.frontends.python.literals import folded
from gridlane.frontends.python.names import named
from gridlane.frontends.python.operands import (
    NONE,
    Conflict,
    Operand,
    OptionalOperand,
    RangeOperand,
    Scalar,
    SliceOperand,
    Static,
    TupleOperand,
)
from gridlane.frontends.python.operators import BINARY, UNARY
from gridlane.frontends.python.optionals import inner_of, value_of
from gridlane.frontends.python.ranges import range_contains
from gridlane.frontends.python.refine import refined
from gridlane.frontends.python.specs import (
    MemberSpec,
    ScalarSpec,
    flatten,
    rebuild,
    spec_of,
)
from gridlane.frontends.python.translator import ResultUnknown, Translator
from gridlane.frontends.python.unchanged import keep
from gridlane.ir.builder import constant
from gridlane.ir.ops import arith, control
from gridlane.ir.values import Region, Value


def _constant(t: Translator, node: ast.Constant) -> Operand:
    return operand_of(t, node.value, why=literal)


def _name(t: Translator, node: ast.Name) -> Operand:
    operand = named(t, node.id)
    keep(t, operand)  # a parameter of an inlined function has not been assigned
    return operand


def _attribute(t: Translator, node: ast.Attribute) -> Operand:
    base = t.expr(node.value)
    return extended_member(t, base, node.attr) or attribute(t, value_of(t, base), node.attr)


def _tuple(t: Translator, node: ast.Tuple) -> Operand:
    return TupleOperand(tuple(_items(t, node.elts)))


def _items(t: Translator, nodes: list[ast.expr]) -> list[Operand]:
    """The operands of a tuple display or of a call's arguments, ``*items`` among them."""
    operands: list[Operand] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            operands += _starred(t, node)
        else:
            operands.append(t.expr(node))
    return operands


def _literal(t: Translator, node: ast.BinOp | ast.UnaryOp) -> Operand | None:
    """An expression of literals alone as one constant."""
    try:
        value = folded(node)
    except OverflowError as error:
        raise t.fail(ConstantError, str(error)) from None
    return None if value is None else operand_of(t, value, why=literal)


def _binary(t: Translator, node: ast.BinOp) -> Operand:
    known = _literal(t, node)
    if known is not None:
        return known
    lhs, rhs = t.expr(node.left), t.expr(node.right)
    result = extended_operator(t, (FUNCTIONS[type(node.op)],), [lhs, rhs])
    return result or BINARY[type(node.op)](t, value_of(t, lhs), value_of(t, rhs))


def _unary(t: Translator, node: ast.UnaryOp) -> Operand:
    known = _literal(t, node)
    if known is not None:
        return known
    operand = t.expr(node.operand)
    result = extended_operator(t, (FUNCTIONS[type(node.op)],), [operand])
    if result is not None:
        return result
    if type(node.op) is ast.Not:
        return Scalar(t.b.not_(truth(t, operand)))
    return UNARY[type(node.op)](t, value_of(t, operand))


def _compare(t: Translator, node: ast.Compare) -> Operand:
    operands = t.compared[node] = [t.expr(node.left)]
    return _chained(t, node, operands)


def _chained(t: Translator, node: ast.Compare, operands: list[Operand]) -> Operand:
    """A comparison after its first operands. Operands behind a false comparison are not
    evaluated."""
    number = len(operands)
    operands.append(t.expr(node.comparators[number - 1]))
    kind = type(node.ops[number - 1])
    if len(node.ops) == 1:
        operand = _compare_arrays(t, kind, *operands)
        if operand is not None:
            return operand
    first = Scalar(_compare_one(t, kind, *operands[-2:]))
    rest = node.comparators[number:]
    if not rest:
        return first
    before, t.env = t.env, dict(t.env)
    read = partial(_chained, t, node, operands)
    result = _further(t, True, first, read, names_in(rest)[1], before)
    t.env = before
    return result


def _compare_arrays(
    t: Translator, kind: type[ast.cmpop], lhs: Operand, rhs: Operand
) -> Operand | None:
    """A comparison of arrays, element by element; None where there is none."""
    if not are_arrays((lhs, rhs)):
        return None
    result = extended_operator(t, (FUNCTIONS[kind],), _in_order(kind, lhs, rhs))
    return result or of_arrays(t, kind, lhs, rhs)


def _compare_one(t: Translator, kind: type[ast.cmpop], lhs: Operand, rhs: Operand) -> Value:
    result = extended_operator(t, (FUNCTIONS[kind],), _in_order(kind, lhs, rhs))
    if result is not None:
        is_member = truth(t, result)
        return t.b.not_(is_member) if kind is ast.NotIn else is_member
    if kind in (ast.Is, ast.IsNot):
        same = identical(t, lhs, rhs)
        return same if kind is ast.Is else t.b.not_(same)
    if kind in (ast.In, ast.NotIn):
        is_range = isinstance(rhs, RangeOperand)
        is_member = range_contains(t, lhs, rhs) if is_range else contains(t, lhs, rhs)
        return is_member if kind is ast.In else t.b.not_(is_member)
    return compare(t, kind, lhs, rhs)


def _in_order(kind: type[ast.cmpop], lhs: Operand, rhs: Operand) -> list[Operand]:
    """The operands as the function of ``operator`` takes them."""
    return [rhs, lhs] if kind in (ast.In, ast.NotIn) else [lhs, rhs]


def condition(t: Translator, node: ast.expr) -> Value:
    """The truth value of an expression in a condition, as after ``if``: the operands of its ``and``
    and ``or`` need no common type."""
    if isinstance(node, ast.BoolOp):
        with t.at(node):
            return truth(t, _boolean(t, node, _tested))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = node.operand
        if isinstance(inner, ast.BoolOp):
            return t.b.not_(condition(t, inner))
    return truth(t, t.expr(node))


def _tested(t: Translator, node: ast.expr) -> Operand:
    return Scalar(condition(t, node))


def _valued(t: Translator, node: ast.expr) -> Operand:
    return t.expr(node)


def _boolean(
    t: Translator,
    node: ast.BoolOp,
    read: Callable[[Translator, ast.expr], Operand] = _valued,
) -> Operand:
    """``and``, ``or``: the value of the deciding operand, as in Python, as ``read`` returns it."""
    is_and = type(node.op) is ast.And
    before = t.env
    result = read(t, node.values[0])
    for number, item in enumerate(node.values[1:]):
        test = truth(t, result)
        known = constant(test)
        if known is not None and _decides(node.values[number]):
            if bool(known) is not is_and:
                break
            result = read(t, item)
            before |= {name: t.env[name] for name in names_in([item])[1] if name in t.env}
            continue
        t.env = refined(t, t.env, node.values[number], is_and)
        result = _further(t, is_and, result, partial(read, t, item), names_in([item])[1], before)
    t.env = before
    return result


def _further(
    t: Translator,
    is_and: bool,
    lhs: Operand,
    read: Callable[[], Operand],
    assigned: Names,
    outside: Environment,
) -> Operand:
    """One ``and`` or ``or``. ``read`` translates the right side, which runs only if the left one
    does not decide.

    Variables that it assigns are bound, in ``outside`` as well, to their values after both.
    """
    test, region, empty, skipped = truth(t, lhs), Region(), Region(), dict(t.env)
    try:
        with t.b.inside(region):
            rhs = read()
    except ResultUnknown as error:
        t.unknown.append(error)
        t.env = skipped
        return lhs
    if not assigned:
        return _decide(t, is_and, test, lhs, region, rhs)
    right, left = (region, rhs), (empty, lhs if is_and else inner_of(lhs))
    result = choose(t, test, (right, left) if is_and else (left, right), spliced=False)
    _bind(t, assigned, (region, t.env), (empty, skipped), outside)
    return result


def _bind(
    t: Translator,
    assigned: Names,
    side: tuple[Region, Environment],
    other: tuple[Region, Environment],
    outside: Environment,
) -> None:
    """Bind the variables that two sides of an expression assign."""
    for name in sorted(assigned):
        ends = (side[0], side[1].get(name)), (other[0], other[1].get(name))
        merged = joins.merge(t, name, *ends[0], *ends[1])
        if merged is not None:
            t.env[name] = outside[name] = merged


def _decides(node: ast.expr) -> bool:
    """Whether a constant removes one side of an ``and``, with its type: a literal or a global, not
    a call such as ``np.int32(3)``."""
    return not any(isinstance(part, ast.Call) for part in ast.walk(node))


def _decide(
    t: Translator, is_and: bool, test: Value, lhs: Operand, region: Region, rhs: Operand
) -> Operand:
    """One ``and`` or ``or`` whose right side was translated into ``region``."""
    if _is_bool(lhs) and _is_bool(rhs) and _harmless(region):
        known = constant(rhs.value)  # type: ignore[attr-defined]  # a scalar
        if known is not None and bool(known) is is_and:
            return lhs
        t.b.region.ops.extend(region.ops)
        if known is not None:
            return rhs
        kind = arith.And if is_and else arith.Or
        return Scalar(t.b.binary(kind, lhs.value, rhs.value))  # type: ignore[attr-defined]
    # What counts as true is not None.
    right, left = (region, rhs), (Region(), lhs if is_and else inner_of(lhs))
    return choose(t, test, (right, left) if is_and else (left, right))


def _is_bool(operand: Operand) -> bool:
    return isinstance(operand, Scalar) and operand.dtype is b1


def _harmless(region: Region) -> bool:
    """Whether a region may run unconditionally: it has only a few pure ops."""
    return len(region.ops) <= 24 and all(op.pure for op in region.ops)


def choose(
    t: Translator,
    test: Value,
    sides: tuple[tuple[Region, Operand], tuple[Region, Operand]],
    spliced: bool = True,
) -> Operand:
    """The first side's operand where ``test`` holds, else the second's. The sides' regions run
    only where they are chosen, or both when that is harmless and they may be ``spliced``."""
    (then, on_true), (orelse, on_false) = sides
    a, b = spec_of(on_true), spec_of(on_false)
    spec = t.unify(a, b) if a is not None and b is not None else None
    if spec is None:
        op = control.If(test, then, orelse)
        t.b.emit(op)
        operand = joins.merge(t, "chosen", op.then, on_true, op.orelse, on_false)
        if operand is not None and not isinstance(operand, Conflict):
            return operand  # a range, a method, a text, or a tuple with one
        raise t.fail(
            TypingError,
            f"the sides give {on_true.type_name} and {on_false.type_name}, which have no common "
            "type; convert one of them",
        )
    spliced = spliced and _harmless(then) and _harmless(orelse)
    if spliced and isinstance(spec, ScalarSpec | MemberSpec):
        return _select(t, test, sides, spec)
    op = control.If(test, then, orelse)
    # The If is appended after its sides are translated, so it is inserted before the reads.
    t.b.emit(op)
    return joins.through(t, "chosen", spec, sides)


def _select(t: Translator, test: Value, sides: Any, spec: ScalarSpec | MemberSpec) -> Operand:
    values: list[Value] = []
    for region, operand in sides:
        t.b.region.ops.extend(region.ops)
        values += flatten(convert(t, operand, spec))
    return rebuild(t.b, spec, iter([t.b.select(test, values[0], values[1])]))


def _ternary(t: Translator, node: ast.IfExp) -> Operand:
    test = condition(t, node.test)
    known = constant(test)
    if known is not None:
        return t.expr(node.body if known else node.orelse)
    before, sides = t.env, []
    ends: list[Environment] = []
    for side, holds in ((node.body, True), (node.orelse, False)):
        t.env = refined(t, before, node.test, holds)
        try:
            sides.append(t.speculate(side))
            ends.append(t.env)
        except ResultUnknown as error:
            t.unknown.append(error)
    t.env = before
    assigned = names_in([node.body, node.orelse])[1]
    if len(sides) == 2:
        result = choose(t, test, (sides[0], sides[1]), spliced=not assigned)
        _bind(t, assigned, (sides[0][0], ends[0]), (sides[1][0], ends[1]), before)
        return result
    if not sides:
        raise t.unknown[-1]
    # In this attempt the other side is not reached.
    region, operand = sides[0]
    t.b.region.ops.extend(region.ops)
    t.env = ends[0]
    return operand


def _subscript(t: Translator, node: ast.Subscript) -> Operand:
    base = t.expr(node.value)
    if isinstance(base, TupleOperand):
        method = method_of(t, base, "__getitem__")
        if method is not None:
            return call(t, method, [t.expr(node.slice)], {})
    index = t.expr(node.slice)
    result = extended_operator(t, (operator.getitem,), [base, index])
    return result or subscript(t, value_of(t, base), value_of(t, index))


def _slice(t: Translator, node: ast.Slice) -> Operand:
    parts = []
    for part in (node.lower, node.upper, node.step):
        operand = NONE if part is None else t.expr(part)
        absent = isinstance(operand, Static) and operand.object is None
        if isinstance(operand, OptionalOperand):
            raise t.fail(TypingError, _BOUND)
        parts.append(None if absent else integer(t, operand, "an integer bound of a slice"))
    return SliceOperand(*parts)


_BOUND = (
    "a bound of a slice that may be None is unsupported; test it with `is None` before, and write "
    "two slices"
)


def _call(t: Translator, node: ast.Call) -> Operand:
    function = t.expr(node.func)
    arguments = _items(t, node.args)
    keywords: dict[str, Operand] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise t.fail(UnsupportedError, "**keywords cannot be compiled; name them one by one")
        keywords[keyword.arg] = t.expr(keyword.value)
    return call(t, function, arguments, keywords)


def _starred(t: Translator, node: ast.Starred) -> tuple[Operand, ...]:
    operand = t.expr(node.value)
    if isinstance(operand, TupleOperand):
        return operand.items
    raise t.fail(
        ConstantError,
        f"*{operand.type_name}: only a tuple has a known number of items; write them one by one",
    )


def _walrus(t: Translator, node: ast.NamedExpr) -> Operand:
    t.env[node.target.id] = result = t.expr(node.value)
    keep(t, result)
    return result


def _lambda(t: Translator, node: ast.Lambda) -> Operand:
    return defined(t, node, "lambda")


EXPRESSIONS: dict[type[ast.expr], Callable[[Translator, Any], Operand]] = {
    ast.Constant: _constant,
    ast.JoinedStr: formatted,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Tuple: _tuple,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _boolean,
    ast.IfExp: _ternary,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.Call: _call,
    ast.NamedExpr: _walrus,
    ast.Lambda: _lambda,
}
