"""Rules for statements but loops."""

from __future__ import annotations

import ast
from typing import Any

from gridlane.frontends.triton.assignment import bind, kept
from gridlane.frontends.triton.carrying import assigned_names
from gridlane.frontends.triton.constants import constexpr
from gridlane.frontends.triton.debugging import device_assert
from gridlane.frontends.triton.errors import CompilationError
from gridlane.frontends.triton.expressions import binary, condition, constant_condition
from gridlane.frontends.triton.loops import LOOPS
from gridlane.frontends.triton.numbers import decayed
from gridlane.frontends.triton.translator import StatementRule, Translator
from gridlane.frontends.triton.values import (
    described,
    shown,
    tensor,
    tensors_in,
    with_tensors,
)
from gridlane.ir.ops import control
from gridlane.ir.values import Region

_MISSING: Any = object()


# ---- assignments


def _assign(t: Translator, node: ast.Assign) -> bool:
    value = t.expr(node.value)
    for target in node.targets:
        bind(t, target, kept(t, target, value))
    return False


def _augment(t: Translator, node: ast.AugAssign) -> bool:
    if not isinstance(node.target, ast.Name):
        bind(t, node.target, None)
        return False
    load = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
    left, right = t.expr(load), t.expr(node.value)
    bind(t, node.target, decayed(binary(t, node.op, node, left, right)))
    return False


def _annotated(t: Translator, node: ast.AnnAssign) -> bool:
    if node.value is None:
        if _is_constant(t, node.annotation) and isinstance(node.target, ast.Name):
            t.frame.pending.add(node.target.id)
        return False
    value = t.expr(node.value)
    if not _is_constant(t, node.annotation):
        bind(t, node.target, decayed(value))
        return False
    if not isinstance(node.target, ast.Name):
        raise t.unsupported(node)
    name, frame = node.target.id, t.frame
    known = frame.scope.get(name, _MISSING)
    if known is not _MISSING and not frame.unrolled:
        raise ValueError(f"{name} is already defined. constexpr cannot be reassigned.")
    frame.scope[name] = value
    return False


def _is_constant(t: Translator, annotation: ast.expr) -> bool:
    try:
        return t.expr(annotation) is constexpr
    except CompilationError:  # an annotation that the program does not read
        return False


# ---- plain statements


def _expression(t: Translator, node: ast.Expr) -> bool:
    t.unused = node.value
    t.expr(node.value)
    return False


def _assertion(t: Translator, node: ast.Assert) -> bool:
    message = "" if node.msg is None else t.expr(node.msg)
    device_assert(t.expr(node.test), message)
    return False


def _nothing(t: Translator, node: ast.Pass) -> bool:
    return False


def _nested(t: Translator, node: ast.FunctionDef) -> bool:
    raise t.unsupported(
        node,
        "nested function definitions are not allowed inside a @triton.jit kernel. Move the helper "
        "function to module level and decorate it with @triton.jit.",
    )


# ---- returns


def _return(t: Translator, node: ast.Return) -> bool:
    frame = t.frame
    if frame.loops:
        raise t.unsupported(
            node, "Cannot have `return` statements inside `while` or `for` statements in triton."
        )
    value = None if node.value is None else t.expr(node.value)
    if frame.is_kernel:
        if value is not None:
            raise t.unsupported(node, "a kernel returns nothing: store its result to memory")
        t.b.return_()
        return True
    if not frame.depth and not frame.label:
        frame.result = value
        return True
    _return_early(t, value)
    if frame.depth:
        t.b.emit(control.Leave(frame.label))
    return True


def _return_early(t: Translator, value: Any) -> None:
    """Keep the value of a return that other returns follow."""
    frame, value = t.frame, decayed(value)
    if not frame.label:
        frame.label = t.unit.new_label()
        frame.returned = value
        if value is not None:
            frame.variables = [
                t.b.variable("returned", each.handle.type) for each in tensors_in(value)
            ]
    if described(value) != described(frame.returned):
        raise TypeError(
            f"Return type mismatch: {shown(frame.returned)} and {shown(value)}. Returns that a "
            "condition of run time chooses from have one type"
        )
    for var, each in zip(frame.variables or (), tensors_in(value), strict=True):
        t.b.write(var, each.handle)


# ---- conditions


def _if(t: Translator, node: ast.If) -> bool:
    test = t.expr(node.test)
    if not isinstance(test, tensor):
        return t.block(node.body if constant_condition(t, node, test) else node.orelse)
    op = control.If(condition(t, node, test), Region(), Region())
    t.b.emit(op)
    live: list[tuple[Region, dict[str, Any], str]] = []
    for region, body, name in ((op.then, node.body, "then"), (op.orelse, node.orelse, "else")):
        with t.region(region) as scope:
            ended = t.block(body)
        if not ended:
            live.append((region, scope, name))
    if not live:
        return True
    for name in sorted(assigned_names([*node.body, *node.orelse])):
        _merge(t, name, live)
    return False


def _merge(t: Translator, name: str, live: list[tuple[Region, dict[str, Any], str]]) -> None:
    """Bind a name that branches assign to the value of the branch that ran."""
    before = t.frame.scope.get(name, _MISSING)
    values = [scope.get(name, _MISSING) for _, scope, _ in live]
    if any(value is _MISSING for value in values):
        return
    if all(value is before for value in values):
        return
    if any(True for value in values for _ in tensors_in(value)):
        # A constant in front, such as an argument that is 1, is a number like others.
        values = [
            _inside(t, region, value) for value, (region, _, _) in zip(values, live, strict=True)
        ]
        before = before if before is _MISSING else decayed(before)
    for value, (_, _, branch) in zip(values, live, strict=True):
        if before is not _MISSING and described(value) != described(before):
            raise TypeError(
                f"initial value for `{name}` is of type {shown(before)}, but the {branch} block "
                f"redefines it as {shown(value)}"
            )
    first = values[0]
    if any(described(value) != described(first) for value in values):
        raise TypeError(
            f"Mismatched type for {name} between then block ({shown(values[0])}) "
            f"and else block ({shown(values[1])})"
        )
    t.frame.scope[name] = _joined(t, name, values, [region for region, _, _ in live])


def _inside(t: Translator, region: Region, value: Any) -> Any:
    """A value with its constants as numbers of the IR, at the end of a region."""
    with t.b.inside(region):
        return decayed(value)


def _joined(t: Translator, name: str, values: list[Any], regions: list[Region]) -> Any:
    """The value of one of some regions: a variable for each tensor that differs."""
    parts = zip(*[tensors_in(value) for value in values], strict=True)
    merged: list[tensor] = []
    for each in parts:
        handles = [part.handle for part in each]
        if len(handles) > 1 and all(handle is handles[0] for handle in handles):
            merged.append(each[0])
            continue
        var = t.b.variable(name, handles[0].type)
        for region, handle in zip(regions, handles, strict=True):
            with t.b.inside(region):
                t.b.write(var, handle)
        merged.append(tensor(t.b.read(var), each[0].type))
    return with_tensors(values[0], iter(merged))


STATEMENTS: dict[type[ast.stmt], StatementRule] = {
    ast.Assign: _assign,
    ast.AugAssign: _augment,
    ast.AnnAssign: _annotated,
    ast.Expr: _expression,
    ast.Assert: _assertion,
    ast.Pass: _nothing,
    ast.FunctionDef: _nested,
    ast.Return: _return,
    ast.If: _if,
    **LOOPS,
}
