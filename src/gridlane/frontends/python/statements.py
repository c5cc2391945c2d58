"""Statements: assignments, branches, returns, raises; loops are in loops.py."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from gridlane.core.errors import ConstantError, TypingError, UnsupportedError
from gridlane.frontends.python.array_expressions import in_place, memory_needed
from gridlane.frontends.python.assignment import assign_to
from gridlane.frontends.python.attributes import attribute, set_attribute
from gridlane.frontends.python.calls.extended import extended_operator
from gridlane.frontends.python.calls.operator_functions import FUNCTIONS, IN_PLACE
from gridlane.frontends.python.closures import defined, passed_on
from gridlane.frontends.python.element_addresses import Place, item_of
from gridlane.frontends.python.expressions import condition
from gridlane.frontends.python.indexing import place_of
from gridlane.frontends.python.joins import join, save
from gridlane.frontends.python.loops import for_, while_
from gridlane.frontends.python.names import named
from gridlane.frontends.python.operands import (
    NONE,
    ArrayExpression,
    ArrayView,
    Operand,
    Scalar,
    Static,
)
from gridlane.frontends.python.operators import BINARY
from gridlane.frontends.python.optionals import value_of
from gridlane.frontends.python.raising import exception_name, stop
from gridlane.frontends.python.refine import refined
from gridlane.frontends.python.stores import store
from gridlane.frontends.python.translator import Translator
from gridlane.ir.builder import constant
from gridlane.ir.ops import control
from gridlane.ir.values import Region

# ---- assignment


def _assign(t: Translator, node: ast.Assign) -> None:
    value = t.expr(node.value)
    for target in node.targets:
        assign_to(t, target, value)


def _annotated(t: Translator, node: ast.AnnAssign) -> None:
    if node.value is not None:
        assign_to(t, node.target, t.expr(node.value))


def _augmented(t: Translator, node: ast.AugAssign) -> None:
    target = node.target

    def operation(t: Translator, lhs: Operand, rhs: Operand) -> Operand:
        kind = type(node.op)
        functions = IN_PLACE[kind], FUNCTIONS[kind]
        operand = extended_operator(t, functions, [lhs, rhs])
        if operand is not None:
            return operand
        lhs, rhs = value_of(t, lhs), value_of(t, rhs)
        if in_place(t, kind, lhs, rhs):
            return lhs
        if isinstance(lhs, ArrayExpression):
            raise memory_needed(t, lhs, "an operator in place")
        return BINARY[kind](t, lhs, rhs)

    if isinstance(target, ast.Name):
        lhs = named(t, target.id)
        t.env[target.id] = operation(t, lhs, t.expr(node.value))
        return
    place: Place
    if isinstance(target, ast.Subscript):
        base, index = t.expr(target.value), t.expr(target.slice)
        with t.at(target):
            place = place_of(t, value_of(t, base), value_of(t, index))
            old = item_of(t, place)
        outcome = operation(t, old, t.expr(node.value))
        if outcome is not old or not isinstance(old, ArrayView):  # else it is stored
            store(t, place, outcome)
        return
    base = value_of(t, t.expr(target.value))
    with t.at(target):
        old = attribute(t, base, target.attr)
    outcome = operation(t, old, t.expr(node.value))
    if outcome is not old or not isinstance(old, ArrayView):
        set_attribute(t, base, target.attr, outcome)


def _expression(t: Translator, node: ast.Expr) -> None:
    if not isinstance(node.value, ast.Constant):  # a docstring
        t.expr(node.value)


def _define(t: Translator, node: ast.FunctionDef) -> None:
    if node.decorator_list:
        raise t.fail(
            UnsupportedError,
            f"{node.name}: a decorated function cannot be defined in a kernel; define it outside",
        )
    t.env[node.name] = defined(t, node, node.name)


# ---- branches


def _if(t: Translator, node: ast.If) -> None:
    with t.at(node.test):
        test = condition(t, node.test)
    known = constant(test)
    if known is not None:
        t.block(node.body if known else node.orelse)
        return
    before = t.env
    op = control.If(test, Region(), Region())
    t.b.emit(op)
    then = t.run(op.then, node.body, refined(t, before, node.test, True))
    orelse = t.run(op.orelse, node.orelse, refined(t, before, node.test, False))
    t.b.loc = t.locate(node)
    join(t, op, before, (then, orelse), node)


def _break(t: Translator, node: ast.Break) -> None:
    frame = t.loops[-1]
    save(t, frame, leaves=True)
    frame.left = True
    t.terminate(control.Break())


def _continue(t: Translator, node: ast.Continue) -> None:
    save(t, t.loops[-1])
    t.terminate(control.Continue())


# ---- exits


def _return(t: Translator, node: ast.Return) -> None:
    value = NONE if node.value is None else t.expr(node.value)
    if t.b.function.is_kernel:
        if not (isinstance(value, Static) and value.object is None):
            raise t.fail(
                TypingError,
                f"CUDA kernel must have void return type: this returns {value.type_name}; write "
                "the result to an array argument",
            )
        t.terminate(control.Return())
        return
    # Variables of this function end with it: its caller gets functions with constants.
    t.returns.append((t.b.region, passed_on(t, value), t.b.loc))
    t.dead = True


def _assert(t: Translator, node: ast.Assert) -> None:
    if not __debug__:  # python -O compiles none
        return
    with t.at(node.test):
        holds = condition(t, node.test)
    known = constant(holds)
    if known:
        return
    message = _text(t, node.msg)
    before = t.env
    if known is None:
        with t.b.if_(t.b.not_(holds)):
            stop(t, "AssertionError", message)
        t.dead = False
        t.env = refined(t, before, node.test, True)
    else:
        stop(t, "AssertionError", message)


def _raise(t: Translator, node: ast.Raise) -> None:
    if node.exc is None:
        raise t.fail(UnsupportedError, "a bare raise cannot be compiled; name the exception")
    raised = node.exc
    arguments: list[ast.expr] = []
    if isinstance(raised, ast.Call):
        raised, arguments = raised.func, raised.args
    kind = t.expr(raised)
    if not isinstance(kind, Static) or not _is_exception(kind.object):
        raise t.fail(TypingError, f"an exception class is required here, not {kind.type_name}")
    messages = [_text(t, argument) for argument in arguments]
    stop(t, exception_name(kind.object), ", ".join(messages))


def _is_exception(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseException)


def _text(t: Translator, node: ast.expr | None) -> str:
    """A message of constants."""
    if node is None:
        return ""
    operand = t.expr(node)
    if isinstance(operand, Static):
        return str(operand.object)
    known = constant(operand.value) if isinstance(operand, Scalar) else None
    if known is None:
        raise t.fail(
            ConstantError,
            "the message of an exception must be constant text or numbers; print the value instead",
        )
    return str(known)


def _pass(t: Translator, node: ast.Pass) -> None:
    pass


STATEMENTS: dict[type[ast.stmt], Callable[[Translator, Any], None]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Expr: _expression,
    ast.FunctionDef: _define,
    ast.If: _if,
    ast.For: for_,
    ast.While: while_,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Return: _return,
    ast.Assert: _assert,
    ast.Raise: _raise,
    ast.Pass: _pass,
}
