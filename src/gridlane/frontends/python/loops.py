"""``for`` and ``while``: IR loops, with tuples unrolled where nothing jumps out of them."""

from __future__ import annotations

import ast
from collections.abc import Callable

from gridlane.core.dtypes import b1, i64, u64
from gridlane.frontends.python.assignment import assign_to
from gridlane.frontends.python.conversion import cast_scalar
from gridlane.frontends.python.expressions import condition
from gridlane.frontends.python.frames import Frame
from gridlane.frontends.python.iteration import (
    item_at,
    length,
    static_items,
)
from gridlane.frontends.python.joins import carry_loop, enter_body, join, save
from gridlane.frontends.python.operands import Operand, RangeOperand, Scalar
from gridlane.frontends.python.optionals import value_of
from gridlane.frontends.python.ranges import is_last, may_wrap, needs_wide_counter, range_bounds
from gridlane.frontends.python.refine import refined
from gridlane.frontends.python.translator import ResultUnknown, Translator
from gridlane.ir.builder import constant
from gridlane.ir.ops import arith, control
from gridlane.ir.values import Region, Value, Var

UNROLLED = 32
"""Tuples of at most so many items are unrolled; longer ones are looped over by index."""


def for_(t: Translator, node: ast.For) -> None:
    """``for target in iterable``."""
    iterable = value_of(t, t.expr(node.iter))
    flow = t.source.flows[node]
    items = static_items(t, iterable)
    if items is not None and not flow.breaks and not flow.continues and len(items) <= UNROLLED:
        _unrolled(t, node, items)
    elif isinstance(iterable, RangeOperand):
        _over_range(t, node, iterable)
    else:
        _by_index(t, node, iterable)


def _unrolled(t: Translator, node: ast.For, items: list[Operand]) -> None:
    copy = t.copy
    try:
        for number, item in enumerate(items):
            if t.dead:
                return
            t.copy = (*copy, number)
            assign_to(t, node.target, item)
            t.block(node.body)
    finally:
        t.copy = copy
    if not t.dead:
        t.block(node.orelse)


def _over_range(t: Translator, node: ast.For, operand: RangeOperand) -> None:
    """Count from start to stop; the user's variable is a copy of the counter."""
    own = operand.start.dtype
    if needs_wide_counter(operand):
        wide = [cast_scalar(t, part, i64) for part in (operand.start, operand.stop, operand.step)]
        operand = RangeOperand(*wide)
    lo, hi = range_bounds(operand)

    def item(counter: Value) -> Operand:
        return cast_scalar(t, Scalar(counter, lo, hi), own)

    _counted(t, node, operand, item)


def _by_index(t: Translator, node: ast.For, iterable: Operand) -> None:
    """Count from 0 to the length and take the item of each index."""
    count = Scalar(length(t, iterable), 0, (1 << 48))
    indices = RangeOperand(t.integer(0), count, t.integer(1))

    def item(counter: Value) -> Operand:
        return item_at(t, iterable, Scalar(counter, 0, (1 << 48)))

    _counted(t, node, indices, item)


def _counted(
    t: Translator, node: ast.For, operand: RangeOperand, item: Callable[[Value], Operand]
) -> None:
    def build(frame: Frame) -> None:
        b = t.b
        name = node.target.id if isinstance(node.target, ast.Name) else "index"
        counter = b.variable(f"{name}_counter", operand.start.dtype)
        b.write(counter, operand.start.value)
        ended = _ended_flag(t, operand)
        exhausted = _flag(t, node, frame)
        op = control.Loop(Region(), Region())
        b.emit(op)
        with b.inside(op.body):
            enter_body(t, frame)
            now = b.read(counter)
            past = _past_end(t, operand, now)
            past = past if ended is None else b.or_(past, b.read(ended))
            _exit_where(t, frame, past, exhausted)
            assign_to(t, node.target, item(now))
            _body(t, node, frame)
        with b.inside(op.step):
            now = b.read(counter)
            if ended is not None:
                b.write(ended, is_last(t, operand, now))
            b.write(counter, b.add(now, operand.step.value))
        b.loc = t.locate(node)
        frame.else_flag = exhausted

    _with_else(t, node, build)


def _ended_flag(t: Translator, operand: RangeOperand) -> Var | None:
    """The variable that is true once the counter has wrapped, if the counter itself does not show
    that."""
    if not may_wrap(operand) or _shows_wrap(operand):
        return None
    flag = t.b.variable("ended", b1)
    t.b.write(flag, t.b.const(False, b1))
    return flag


def _shows_wrap(operand: RangeOperand) -> bool:
    """Whether a counter that wrapped is negative, and no item is."""
    (first, _), (step, _) = operand.start.sure, operand.step.sure
    return operand.start.dtype is i64 and first >= 0 and step > 0


def _past_end(t: Translator, operand: RangeOperand, now: Value) -> Value:
    """Whether the counter has reached the end; a step of 0 yields no items."""
    b, stop, step = t.b, operand.stop.value, operand.step
    low, high = step.sure
    if may_wrap(operand) and _shows_wrap(operand):
        end = b.binary(arith.Max, stop, b.const(0, i64))
        return b.binary(arith.Ge, b.cast(now, u64), b.cast(end, u64))
    if low > 0:
        return b.binary(arith.Ge, now, stop)
    if high < 0:
        return b.binary(arith.Le, now, stop)
    zero = b.const(0, step.dtype)
    up = b.and_(b.binary(arith.Gt, step.value, zero), b.lt(now, stop))
    down = b.and_(b.lt(step.value, zero), b.binary(arith.Gt, now, stop))
    return b.not_(b.or_(up, down))


def while_(t: Translator, node: ast.While) -> None:
    """``while test``."""

    def build(frame: Frame) -> None:
        b = t.b
        exhausted = _flag(t, node, frame)
        op = control.Loop(Region(), Region())
        b.emit(op)
        with b.inside(op.body):
            enter_body(t, frame)
            with t.at(node.test):
                test = condition(t, node.test)
            known = constant(test)
            if known is None:
                _exit_where(t, frame, b.not_(test), exhausted)
                t.env = refined(t, t.env, node.test, True)
            elif not known:
                _leave(t, frame, exhausted)
            if not t.dead:
                _body(t, node, frame)
        b.loc = t.locate(node)
        frame.else_flag = exhausted

    _with_else(t, node, build)


def _body(t: Translator, node: ast.For | ast.While, frame: Frame) -> None:
    depth = len(t.loops)
    try:
        t.block(node.body)
    except ResultUnknown as error:
        # In this attempt the rest of the body is not reached; a break in front of it is, and so is
        # what follows the loop.
        t.unknown.append(error)
        del t.loops[depth:]
        t.dead = True
    if not t.dead:
        save(t, frame)
    t.dead = False


def _exit_where(t: Translator, frame: Frame, condition: Value, exhausted: Var | None) -> None:
    """Leave the loop at its head where a condition holds."""
    known = constant(condition)
    if known is not None and not known:
        return
    op = control.If(condition, Region(), Region())
    t.b.emit(op)
    with t.b.inside(op.then):
        _leave(t, frame, exhausted)
    t.dead = False


def _leave(t: Translator, frame: Frame, exhausted: Var | None) -> None:
    save(t, frame, leaves=True)
    if exhausted is not None:
        t.b.write(exhausted, t.b.const(True, b1))
    frame.left = True
    t.terminate(control.Break())


# ---- else


def _flag(t: Translator, node: ast.For | ast.While, frame: Frame) -> Var | None:
    """The variable that is true if a loop with an else and breaks ended without a break."""
    if not node.orelse or not frame.flow.breaks:
        return None
    flag = t.b.variable("exhausted", b1)
    t.b.write(flag, t.b.const(False, b1))
    return flag


def _with_else(t: Translator, node: ast.For | ast.While, build: Callable[[Frame], None]) -> None:
    """The loop, then its else clause, which runs unless a break left the loop."""
    frames: list[Frame] = []

    def build_and_keep(frame: Frame) -> None:
        frames[:] = [frame]
        build(frame)

    carry_loop(t, node, build_and_keep)
    if not node.orelse or t.dead:
        return
    flag = frames[0].else_flag
    if flag is None:
        t.block(node.orelse)
        return
    before = t.env
    op = control.If(t.b.read(flag), Region(), Region())
    t.b.emit(op)
    end = t.run(op.then, node.orelse, dict(before))
    join(t, op, before, (end, dict(before)), node)
