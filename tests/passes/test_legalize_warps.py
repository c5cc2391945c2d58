"""Warp ops through shared memory, where the threads of a block are together."""

from __future__ import annotations

import numpy as np
import pytest
from tests.ops import cases, effects
from tests.ops.kernels import Kernel
from tests.passes.legalizing import check, copied, ops_of
from tests.property.random_ir import random_program

from gridlane.core.dtypes import b1, i32, u32
from gridlane.core.errors import TargetError
from gridlane.core.source import Loc
from gridlane.ir.ops import arith, control, grid, warp
from gridlane.ir.ops.control import ScopeOp
from gridlane.ir.values import ErrorSite, Module, Region
from gridlane.passes.inline import inline_calls
from gridlane.passes.legalize_warps import RULES, legalize_warps

FAMILIES = (effects.shuffles, effects.votes, effects.matches, effects.reductions, effects.queries)
ALL_CASES = [c for family in FAMILIES for c in family()]
ALL_CASES += [c for c in effects.barriers() if c.op == "sync_warp"]
ALL_CASES = [c for c in ALL_CASES if any(type(op) in RULES for op in ops_of(c.module))]


def legalize(module: Module) -> None:
    inline_calls(module)
    legalize_warps(module)


def has_branch(case: cases.Case) -> bool:
    return any(isinstance(op, control.If) for op in ops_of(case.module))


def straight(case: cases.Case) -> cases.Case:
    """The case without its branches on the thread."""
    body = case.module.kernel.body
    body.ops = [op for op in body.ops if not isinstance(op, control.If)]
    return case


@pytest.mark.parametrize("case", ALL_CASES, ids=str)
def test_the_answer_stays(case: cases.Case) -> None:
    if has_branch(case):
        with pytest.raises(TargetError, match="all threads of the block come together"):
            legalize(copied(case.module))
    changed = check(straight(case), legalize)
    assert not any(type(op) in RULES for op in ops_of(changed))


@pytest.mark.parametrize("block", [(40, 1, 1), (5, 7, 1), (1, 1, 1), (8, 4, 2)])
@pytest.mark.parametrize("mask", [0xFFFFFFFF, 0x0F0F00F1, 1])
def test_part_of_a_warp_and_masks(block, mask: int) -> None:
    kernel = Kernel()
    b = kernel.builder
    threads = block[0] * block[1] * block[2]
    number = b.const(0, i32)
    for axis in reversed(grid.Axis):
        size, index = b.value(grid.BlockDim(axis)), b.value(grid.ThreadIdx(axis))
        number = b.add(b.mul(number, size), index)
    lanes = b.const(mask, u32)
    odd = b.eq(b.and_(number, b.const(1, i32)), b.const(1, i32))
    third = b.rem(number, b.const(3, i32))
    made = [b.value(warp.Vote(mode, lanes, odd)) for mode in warp.VoteMode]
    made += [b.value(warp.MatchAny(lanes, third)), *b.emit(warp.MatchAll(lanes, third)).results]
    made += [b.value(warp.WarpReduce(kind, lanes, number)) for kind in warp.WarpReduction]
    made.append(b.value(warp.ActiveMask()))
    for mode in warp.ShuffleMode:
        made += b.emit(warp.Shuffle(mode, lanes, number, third, b.const(8, i32))).results
    for value in made:
        b.store(b.offset(kernel.array(value.type), number), value)
    arrays = [np.zeros(threads, value.type.numpy) for value in made]
    labels = [f"array {n}" for n in range(len(arrays))]
    check(cases.Case("vote", kernel.module, arrays, (1, 1, 1), block, labels=labels), legalize)


def test_random_programs() -> None:
    """Most of those in which lanes exchange where all are together are done, none is wrong."""
    done = 0
    for seed in range(60):
        program = random_program(seed, 25, lockstep=True)
        if not any(type(op) in RULES for op in ops_of(program.module)):
            continue
        try:
            legalize(copied(program.module))
        except TargetError:
            continue
        check(program, legalize)
        done += 1
    assert done > 20


def test_any_random_program_is_done_or_refused() -> None:
    for seed in range(100, 160):
        program = random_program(seed, 20)
        try:
            legalize(copied(program.module))
        except TargetError:
            continue
        check(program, legalize)


# ---- where threads are apart


def exchange(b, mask: int = 0xFFFFFFFF) -> None:
    b.value(warp.Vote(warp.VoteMode.ANY, b.const(mask, u32), b.const(True, b1)))


def kernel_of(fill) -> Module:
    kernel = Kernel()
    b = kernel.builder
    kernel.module.errors.append(ErrorSite("ValueError", "x"))
    later = b.lt(b.const(3, i32), b.value(grid.BlockIdx(grid.Axis.X)))
    fill(b, b.lt(kernel.local, b.const(3, i32)), later)
    return kernel.module


def behind_return(b, varying, uniform) -> None:
    with b.if_(varying):
        b.return_()
    exchange(b)


def behind_raise(b, varying, uniform) -> None:
    with b.if_(varying):
        b.emit(control.Raise(0))
    exchange(b)


def in_divergent_loop(b, varying, uniform) -> None:
    with b.loop():
        exchange(b)
        b.break_if(varying)
        b.emit(control.Break())


def behind_continue(b, varying, uniform) -> None:
    with b.loop():
        with b.if_(varying):
            b.emit(control.Continue())
        exchange(b)
        b.emit(control.Break())


def in_left_scope(b, varying, uniform) -> None:
    scope = ScopeOp(Region())
    b.emit(scope)
    with b.inside(scope.body):
        with b.loop():
            with b.if_(varying):
                b.emit(control.Leave())
            b.emit(control.Break())
        exchange(b)


def on_a_variable(b, varying, uniform) -> None:
    var = b.variable("v", b1)
    with b.if_(varying):
        b.write(var, uniform)
    with b.if_(b.read(var)):
        exchange(b)


def on_a_late_variable(b, varying, uniform) -> None:
    """What the loop writes last decides the next turn."""
    var, turn = b.variable("v", b1), b.variable("turn", i32)
    with b.loop():
        with b.if_(b.read(var)):
            exchange(b)
        b.write(var, varying)
        b.write(turn, b.add(b.read(turn), b.const(1, i32)))
        b.break_if(b.value(arith.Gt(b.read(turn), b.const(2, i32))))


def on_a_vote(b, varying, uniform) -> None:
    vote = b.value(warp.Vote(warp.VoteMode.ANY, b.const(0xFFFFFFFF, u32), varying))
    with b.if_(vote):
        exchange(b)


APART = [behind_return, behind_raise, in_divergent_loop, behind_continue, in_left_scope]
APART += [on_a_variable, on_a_late_variable, on_a_vote]


@pytest.mark.parametrize("fill", APART, ids=lambda fill: fill.__name__)
def test_refused_where_threads_are_apart(fill) -> None:
    module = kernel_of(fill)
    for number, op in enumerate(ops_of(module)):
        op.loc = Loc("kernel.py", number + 1)
    with pytest.raises(TargetError, match="come together") as caught:
        legalize_warps(module)
    votes = [op.loc for op in ops_of(module) if isinstance(op, warp.Vote)]
    assert caught.value.loc == votes[-1]
    assert caught.value.related[0][1].line


@pytest.mark.parametrize("fill", APART[:-1], ids=lambda fill: fill.__name__)
def test_done_where_the_block_decides(fill) -> None:
    """The same kernels on a condition that is one for the block."""
    module = kernel_of(lambda b, varying, uniform: fill(b, uniform, uniform))
    case = cases.Case("vote", module, [], (1, 1, 1), (40, 1, 1))
    check(case, legalize)


def test_reconverged_behind_a_loop_and_a_branch() -> None:
    def fill(b, varying, uniform) -> None:
        with b.loop():
            b.break_if(varying)
            b.emit(control.Break())
        exchange(b)

    case = cases.Case("vote", kernel_of(fill), [], (1, 1, 1), (40, 1, 1))
    check(case, legalize)
