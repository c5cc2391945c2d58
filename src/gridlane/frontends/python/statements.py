"""Statements: assignments, branches, returns, raises; loops are in loops.py."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING, Any

from gridlane.core.dtypes import i64
from gridlane.core.errors import ConstantError, TypingError, UnsupportedError
from gridlane.frontends.python.attributes import set_attribute
from gridlane.frontends.python.conversion import truth
from gridlane.frontends.python.indexing import Place, element_at, item_of, place_of, store
from gridlane.frontends.python.iteration import static_items
from gridlane.frontends.python.joins import join, save
from gridlane.frontends.python.loops import for_, while_
from gridlane.frontends.python.operands import (
    NONE,
    ArrayView,
    LocalFunction,
    Operand,
    Scalar,
    Static,
)
from gridlane.frontends.python.operators import BINARY
from gridlane.frontends.python.refine import refined
from gridlane.ir.builder import constant
from gridlane.ir.ops import arith, control
from gridlane.ir.values import Region

if TYPE_CHECKING:
    from gridlane.frontends.python.translator import Translator


# ---- assignment


def _assign(t: Translator, node: ast.Assign) -> None:
    value = t.expr(node.value)
    for target in node.targets:
        assign_to(t, target, value)


def _annotated(t: Translator, node: ast.AnnAssign) -> None:
    if node.value is not None:
        assign_to(t, node.target, t.expr(node.value))


def assign_to(t: Translator, target: ast.expr, value: Operand) -> None:
    """Bind or store a value."""
    if isinstance(target, ast.Name):
        t.env[target.id] = value
    elif isinstance(target, ast.Subscript):
        base, index = t.expr(target.value), t.expr(target.slice)
        with t.at(target):
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
            raise t.fail(
                TypingError,
                f"{value.type_name} cannot be unpacked: only tuples and arrays can; index it "
                "instead",
            )
        _require_count(t, len(items), len(target.elts))
    for one, item in zip(target.elts, items, strict=True):
        assign_to(t, one, item)


def _require_count(t: Translator, count: int, names: int) -> None:
    if count != names:
        raise t.fail(TypingError, f"{count} values cannot be unpacked to {names} names")


def _require_extent(t: Translator, array: ArrayView, names: int) -> None:
    """Have an array as many items as there are names; where it has not, the thread ends."""
    extent = constant(array.shape[0])
    if extent is not None:
        _require_count(t, int(extent), names)
        return
    with t.b.if_(t.b.binary(arith.Ne, array.shape[0], t.b.const(names, i64))):
        stop(t, "ValueError", f"an array of another extent is unpacked to {names} names")
    t.dead = False


def _augmented(t: Translator, node: ast.AugAssign) -> None:
    operation = BINARY[type(node.op)]
    target = node.target
    if isinstance(target, ast.Name):
        lhs = t.name(target.id)
        t.env[target.id] = operation(t, lhs, t.expr(node.value))
        return
    place: Place
    if isinstance(target, ast.Subscript):
        base, index = t.expr(target.value), t.expr(target.slice)
        with t.at(target):
            place = place_of(t, base, index)
            old = item_of(t, place)
        store(t, place, operation(t, old, t.expr(node.value)))
        return
    base = t.expr(target.value)
    with t.at(target):
        from gridlane.frontends.python.attributes import attribute

        old = attribute(t, base, target.attr)
    set_attribute(t, base, target.attr, operation(t, old, t.expr(node.value)))


def _expression(t: Translator, node: ast.Expr) -> None:
    if not isinstance(node.value, ast.Constant):  # a docstring
        t.expr(node.value)


def _define(t: Translator, node: ast.FunctionDef) -> None:
    if node.decorator_list:
        raise t.fail(
            UnsupportedError,
            f"{node.name}: a decorated function cannot be defined in a kernel; define it outside",
        )
    t.env[node.name] = LocalFunction(node, dict(t.env), node.name)


# ---- branches


def _if(t: Translator, node: ast.If) -> None:
    with t.at(node.test):
        test = truth(t, t.expr(node.test))
    known = constant(test)
    if known is not None:
        t.block(node.body if known else node.orelse)
        return
    before = t.env
    op = control.If(test, Region(), Region())
    t.b.emit(op)
    then = t.run(op.then, node.body, refined(t, before, node.test, True))
    orelse = t.run(op.orelse, node.orelse, refined(t, before, node.test, False))
    t.b.loc = t.source.locate(node)
    join(t, op, before, (then, orelse), node)


def _break(t: Translator, node: ast.Break) -> None:
    frame = t.loops[-1]
    save(t, frame)
    frame.left = True
    t.terminate(control.Break())


def _continue(t: Translator, node: ast.Continue) -> None:
    save(t, t.loops[-1])
    t.terminate(control.Continue())


# ---- ways out


def _return(t: Translator, node: ast.Return) -> None:
    value = NONE if node.value is None else t.expr(node.value)
    if t.b.function.is_kernel:
        if not (isinstance(value, Static) and value.object is None):
            raise t.fail(
                TypingError,
                f"a kernel returns nothing, but this returns {value.type_name}; write the result "
                "to an array argument",
            )
        t.terminate(control.Return())
        return
    t.returns.append((t.b.region, value, t.b.loc))
    t.dead = True


def _assert(t: Translator, node: ast.Assert) -> None:
    with t.at(node.test):
        holds = truth(t, t.expr(node.test))
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
    made = node.exc
    arguments: list[ast.expr] = []
    if isinstance(made, ast.Call):
        made, arguments = made.func, made.args
    kind = t.expr(made)
    if not isinstance(kind, Static) or not _is_exception(kind.object):
        raise t.fail(TypingError, f"an exception class is required here, not {kind.type_name}")
    texts = [_text(t, argument) for argument in arguments]
    stop(t, exception_name(kind.object), ", ".join(texts))


def _is_exception(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseException)


def exception_name(kind: type) -> str:
    """How an error table names an exception class: builtin name, or "module:qualname"."""
    if getattr(builtins, kind.__name__, None) is kind:
        return kind.__name__
    return f"{kind.__module__}:{kind.__qualname__}"


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


def stop(t: Translator, exception: str, message: str) -> None:
    """End the thread with an error. Without debug nobody reports it, as in numba.cuda: a kernel's
    thread just ends."""
    if t.b.function.is_kernel and not t.unit.options.debug:
        t.terminate(control.Return())
        return
    t.terminate(control.Raise(t.unit.error_code(exception, message, t.b.loc)))


def _pass(t: Translator, node: ast.Pass) -> None:
    pass


STATEMENTS = {
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
