"""Rules for loops."""

from __future__ import annotations

import ast
import builtins
from typing import Any, cast

from gridlane.frontends.triton import iterators
from gridlane.frontends.triton.assignment import bind
from gridlane.frontends.triton.carrying import Carried, assigned_names, drop_unchanged
from gridlane.frontends.triton.casting import converted
from gridlane.frontends.triton.expressions import condition, items
from gridlane.frontends.triton.numbers import decayed, to_tensor
from gridlane.frontends.triton.promotion import promoted_integers
from gridlane.frontends.triton.translator import StatementRule, Translator
from gridlane.frontends.triton.types import dtype
from gridlane.frontends.triton.values import described, shown, tensor, tensors_in
from gridlane.ir.ops import arith, control
from gridlane.ir.values import Region, Value


def _for(t: Translator, node: ast.For) -> bool:
    if node.orelse:
        raise t.unsupported(node.orelse[0], "`else` of a loop is not supported")
    iterator = _iterator(t, node)
    if isinstance(iterator, iterators.range):
        _run(t, node, iterator)
        return False
    return _unroll(t, node, iterator)


def _iterator(t: Translator, node: ast.For) -> Any:
    """A range of run time, or the constants that an unrolled loop runs over."""
    if isinstance(node.iter, ast.Call):
        function = t.expr(node.iter.func)
        kind = iterators.range if function is builtins.range else function
        if kind in (iterators.range, iterators.static_range):
            args = items(t, node.iter.args)
            options = {str(each.arg): t.expr(each.value) for each in node.iter.keywords}
            made = kind(*args, **options)
            if isinstance(made, iterators.range):
                return made
            return builtins.range(made.start, made.end, made.step)
    values = t.expr(node.iter)
    if isinstance(values, tuple):
        return cast("tuple[Any, ...]", values)
    raise t.unsupported(
        node.iter, "Only `range` and `static_range` iterators are currently supported"
    )


def _unroll(t: Translator, node: ast.For, values: Any) -> bool:
    frame = t.frame
    frame.unrolled += 1
    try:
        for value in values:
            bind(t, node.target, value)
            if t.block(node.body):
                return True
    finally:
        frame.unrolled -= 1
    return False


def _bounds(iterator: iterators.range) -> tuple[tensor, tensor, tensor, dtype]:
    bounds = [to_tensor(each) for each in (iterator.start, iterator.end, iterator.step)]
    for name, each in zip(("lower bound", "upper bound", "step"), bounds, strict=True):
        if each.shape:
            raise TypeError(f"For {name} must be a scalar, got {each.type}")
    first, last, step = [each.dtype for each in bounds]
    if not all(kind.is_int() for kind in (first, last, step)):
        raise TypeError(f"For loop bounds and step must all be ints, are ({first}, {last}, {step})")
    kind = promoted_integers(promoted_integers(first, last), step)
    start, end, by = [converted(each, kind) for each in bounds]
    return start, end, by, kind


def _run(t: Translator, node: ast.For, iterator: iterators.range) -> None:
    """A loop of run time."""
    if not isinstance(node.target, ast.Name):
        raise t.unsupported(node.target, "the variable of a loop is one name")
    b, name = t.b, node.target.id
    start, end, step, kind = _bounds(iterator)
    if type(iterator.step) is int and not iterator.step:
        raise ValueError("the step of a range is not 0")
    index = b.variable(name, start.handle.type)
    b.write(index, start.handle)
    loop = control.Loop(Region(), Region(), iterator.loop_unroll_factor or 0)
    carried = _carried(t, node, {name})
    b.emit(loop)
    with t.region(loop.body, is_loop=True) as scope:
        now = b.read(index)
        b.break_if(_is_over(t, iterator.step, now, end.handle, step.handle))
        scope[name] = tensor(now, kind)
        for each in carried:
            scope[each.name] = each.enter()
        ended = t.block(node.body)
        if not ended:
            _write_back(t, carried, scope)
    with b.inside(loop.step):
        b.write(index, b.add(b.read(index), step.handle))
    _leave(t, carried, loop)
    t.frame.scope.pop(name, None)


def _is_over(t: Translator, step: Any, now: Value, end: Value, by: Value) -> Value:
    """Whether a range ends in front of an index."""
    b = t.b
    if isinstance(step, int):
        return b.binary(arith.Ge if step > 0 else arith.Le, now, end)
    rises = b.binary(arith.Gt, by, b.zero(by.type))
    past = b.binary(arith.Ge, now, end)
    return b.select(rises, past, b.binary(arith.Le, now, end))


def _while(t: Translator, node: ast.While) -> bool:
    if node.orelse:
        raise t.unsupported(node.orelse[0], "`else` of a loop is not supported")
    b = t.b
    carried = _carried(t, node, set())
    loop = control.Loop(Region(), Region())
    b.emit(loop)
    with t.region(loop.body, is_loop=True) as scope:
        for each in carried:
            scope[each.name] = each.enter()
        test = t.expr(node.test)
        if isinstance(test, iterators.condition):
            test = test.condition
        if not isinstance(test, tensor):
            raise t.unsupported(
                node.test,
                "the condition of `while` is known when the program is compiled; the loop would "
                "run never or for ever",
            )
        b.break_if(b.not_(condition(t, node.test, test)))
        if not t.block(node.body):
            _write_back(t, carried, scope)
    _leave(t, carried, loop)
    return False


def _carried(t: Translator, node: ast.For | ast.While, others: set[str]) -> list[Carried]:
    """Variables for the names that a loop assigns and that are bound in front of it. Constants that
    unrolled loops inside run over are not carried."""
    assigned = assigned_names(node.body) - others
    inner = [each.target for each in ast.walk(node) if isinstance(each, ast.For)]
    counters = assigned_names(inner)
    result = [
        Carried(name, decayed(value))
        for name, value in t.frame.scope.items()
        if name in assigned and (name not in counters or any(True for _ in tensors_in(value)))
    ]
    for each in result:
        each.write(each.first)
    return result


def _write_back(t: Translator, carried: list[Carried], scope: dict[str, Any]) -> None:
    """Set the variables at the end of an iteration."""
    new = [(each, scope.get(each.name)) for each in carried]
    for each, value in new:
        if described(value) == described(each.first):
            continue
        if not any(True for _ in tensors_in(each.first)):
            raise TypeError(
                f"Loop carried variable {each.name} is not a triton value: it is "
                f"{shown(each.first)} in front of the loop, and becomes {shown(value)}"
            )
        raise TypeError(
            f"Loop-carried variable {each.name} has initial type {shown(each.first)} but is "
            f"re-assigned to {shown(value)} in loop! Please make sure that the type stays "
            "consistent."
        )
    for each, value in new:
        each.write(value)


def _leave(t: Translator, carried: list[Carried], loop: control.Loop) -> None:
    """Bind the names behind a loop."""
    dropped = drop_unchanged(carried, loop, t.b.function.variables)
    for each in carried:
        t.frame.scope[each.name] = each.leave(dropped)


LOOPS: dict[type[ast.stmt], StatementRule] = {ast.For: _for, ast.While: _while}
