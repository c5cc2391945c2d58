"""Kernels whose warps meet in blocks answer as before; the interpreter refuses a barrier that not
all threads of a block come to."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import assert_same, run_on
from tests.effort import examples
from tests.passes.legalizing import check, ops_of
from tests.property.random_ir import random_program

from gridlane.analysis.uniformity import BlockUniformity
from gridlane.conformance import cases
from gridlane.conformance.effects import effects
from gridlane.conformance.kernels import Kernel
from gridlane.core.dtypes import b1, i32, u32
from gridlane.ir.families import MEMORY_PRODUCTS, PRODUCTS, WARPGROUPS
from gridlane.ir.ops import arith, control, grid, warp
from gridlane.ir.ops.control import ScopeOp
from gridlane.ir.parser import parse_module
from gridlane.ir.printer import print_module
from gridlane.ir.values import ErrorSite, Module, Region
from gridlane.ir.verifier import verify
from gridlane.passes.legalise.warps_by_blocks import barriers_by_blocks, warps_by_blocks
from gridlane.passes.structure.inline import inline_calls

THREADS = 75  # the last warp is not full
HEAD = """
kernel @k(%in: ptr<i32, global>, %out: ptr<i32, global>) {
  var $i: i32
  var $n: i32
  %t: i32 = thread_idx x
  %full: u32 = const 4294967295
  %zero: i32 = const 0
  %one: i32 = const 1
  %two: i32 = const 2
  %three: i32 = const 3
  %five: i32 = const 5
  %seven: i32 = const 7
  %width: i32 = const 32
  %from: ptr<i32, global> = offset %in, %t
  %x: i32 = load %from
  %to: ptr<i32, global> = offset %out, %t
"""
COUNT_LANES = """
    %here{0}: u32 = active_mask
    %many{0}: u32 = popcount %here{0}
    %lanes{0}: i32 = cast %many{0}
    %n{0}: i32 = read $n
    %m{0}: i32 = add %n{0}, %lanes{0}
    write $n, %m{0}
"""
TAIL = """
  %n: i32 = read $n
  store %to, %n
}
"""

KERNELS = {
    "rounds of different numbers": HEAD
    + """
  %length: i32 = rem %t, %seven
  loop {
    %i: i32 = read $i
    %over: b1 = ge %i, %length
    if %over {
      break
    }
    %r: i32 = rem %i, %three
    %skip: b1 = eq %r, %one
    if %skip {
      continue
    }
"""
    + COUNT_LANES.format("a")
    + """
    %ia: i32 = read $i
    %sum: i32 = add %x, %ia
    %got: i32, %in_range: b1 = shuffle xor, %full, %sum, %one, %width
    %na2: i32 = read $n
    %nb2: i32 = add %na2, %got
    write $n, %nb2
  } step {
    %is: i32 = read $i
    %it: i32 = add %is, %one
    write $i, %it
  }
"""
    + TAIL,
    "a step that meets": HEAD
    + """
  loop {
    %i: i32 = read $i
    %limit: i32 = rem %t, %five
    %over: b1 = gt %i, %limit
    if %over {
      break
    }
  } step {
"""
    + COUNT_LANES.format("a")
    + """
    %is: i32 = read $i
    %it: i32 = add %is, %one
    write $i, %it
  }
"""
    + TAIL,
    "ends of threads": HEAD
    + """
  %small: b1 = lt %x, %three
  if %small {
    store %to, %x
    return
  }
"""
    + COUNT_LANES.format("a")
    + """
  loop {
    %i: i32 = read $i
    %i1: i32 = add %i, %one
    write $i, %i1
    %rest: i32 = rem %t, %seven
    %late: b1 = gt %i1, %rest
    if %late {
      %n1: i32 = read $n
      store %to, %n1
      return
    }
"""
    + COUNT_LANES.format("b")
    + """
    %four: i32 = const 4
    %over: b1 = gt %i1, %four
    if %over {
      break
    }
  }
"""
    + TAIL,
    "leaving scopes": HEAD
    + """
  scope {
    %odd: i32 = and %x, %one
    %is_odd: b1 = eq %odd, %one
    if %is_odd {
      scope {
        %big: b1 = gt %x, %five
        if %big {
          leave
        }
"""
    + COUNT_LANES.format("a")
    + """
        loop {
          %i: i32 = read $i
          %i1: i32 = add %i, %one
          write $i, %i1
          %past: b1 = gt %i1, %t
          if %past {
            leave
          }
          %enough: b1 = gt %i1, %five
          if %enough {
            break
          }
"""
    + COUNT_LANES.format("b")
    + """
        }
      }
      loop {
        %j: i32 = read $i
        %j1: i32 = add %j, %two
        write $i, %j1
        %end: b1 = gt %j1, %seven
        if %end {
          leave
        }
      }
    } orelse {
"""
    + COUNT_LANES.format("c")
    + """
      %eight: i32 = const 8
      %kept: i32 = mul %x, %eight
"""
    + COUNT_LANES.format("d")
    + """
      %nk: i32 = read $n
      %nk2: i32 = add %nk, %kept
      write $n, %nk2
    }
"""
    + COUNT_LANES.format("e")
    + """
  }
"""
    + TAIL,
    "an inner scope of a run that comes again": HEAD
    + """
  loop {
    %i: i32 = read $i
    %over: b1 = gt %i, %five
    if %over {
      break
    }
"""
    + COUNT_LANES.format("a")
    + """
    %r: i32 = add %i, %t
    %r3: i32 = rem %r, %three
    %skip: b1 = eq %r3, %one
    if %skip {
      continue
    }
    scope {
      %r7: i32 = rem %r, %seven
      %quit: b1 = eq %r7, %five
      if %quit {
        store %to, %i
        return
      }
      leave
    }
    %n0: i32 = read $n
    %n1: i32 = add %n0, %two
    write $n, %n1
  } step {
    %is: i32 = read $i
    %it: i32 = add %is, %one
    write $i, %it
  }
"""
    + TAIL,
    "an inner scope of a run": HEAD
    + """
"""
    + COUNT_LANES.format("a")
    + """
  scope {
    %big: b1 = gt %x, %five
    if %big {
      scope {
        %three_t: i32 = rem %t, %three
        %third: b1 = eq %three_t, %zero
        if %third {
          store %to, %x
          return
        }
        leave
      }
      write $n, %seven
      leave
    }
"""
    + COUNT_LANES.format("b")
    + """
  }
  barrier
"""
    + COUNT_LANES.format("c")
    + TAIL,
}


def launch() -> tuple:
    values = np.arange(THREADS, dtype=np.int32) * 7 % 11
    return (1, 1, 1), (THREADS, 1, 1), [values, np.full(THREADS, -1, np.int32)]


def rewritten(module: Module) -> Module:
    copy = parse_module(print_module(module))
    inline_calls(copy)
    warps_by_blocks(copy)
    verify(copy)
    assert not any(op.cross_lane for op in copy.kernel.body.walk())
    barriers = [op for op in copy.kernel.body.walk() if op.barrier]
    assert not any(map(BlockUniformity(copy.kernel).divergent, barriers))
    return copy


@pytest.mark.parametrize("name", KERNELS)
def test_kernel(name: str) -> None:
    module = parse_module(KERNELS[name])
    verify(module)
    wanted = run_on("interp", module, *launch())
    got = run_on("interp", rewritten(module), *launch())
    assert len(np.unique(wanted.arrays[1])) > 4
    assert_same(got.arrays, wanted.arrays, ["in", "out"])


CASES = [
    case
    for case in effects()
    if case.op not in PRODUCTS | MEMORY_PRODUCTS | WARPGROUPS  # which other passes lower
    and any(op.cross_lane for op in case.module.kernel.body.walk())
]


@pytest.mark.parametrize("case", CASES[::7], ids=str)
def test_case(case) -> None:
    launched = (case.grid, case.block, case.arrays, (), case.shared)
    wanted = run_on("interp", case.module, *launched)
    got = run_on("interp", rewritten(case.module), *launched)
    assert_same(got.arrays, wanted.arrays, case.labels)


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


def legalize(module: Module) -> None:
    inline_calls(module)
    warps_by_blocks(module)


# ---- where threads are apart


def exchange(b) -> None:
    """Count the lanes that are here, in a cell of the thread."""
    here = b.unary(arith.Popcount, b.value(warp.ActiveMask()))
    at = b.offset(b.function.params[0].value, b.value(grid.ThreadIdx(grid.Axis.X)))
    b.store(at, b.add(b.load(at), here))


def kernel_of(fill) -> Module:
    kernel = Kernel()
    b = kernel.builder
    kernel.array(u32)
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
    turn = b.variable("turn", i32)
    with b.loop() as loop:
        b.break_if(b.value(arith.Gt(b.read(turn), b.const(2, i32))))
        with b.if_(varying):
            b.emit(control.Continue())
        exchange(b)
        with b.inside(loop.step):
            b.write(turn, b.add(b.read(turn), b.const(1, i32)))


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
def test_where_threads_are_apart(fill) -> None:
    changed = check(case_of(kernel_of(fill)), legalize)
    barriers = [op for op in ops_of(changed) if op.barrier]
    assert barriers and not any(map(BlockUniformity(changed.kernel).divergent, barriers))
    assert not any(isinstance(op, control.Raise) for op in ops_of(changed))


@pytest.mark.parametrize("fill", APART[:-1], ids=lambda fill: fill.__name__)
def test_where_the_block_decides(fill) -> None:
    """The same kernels on a condition that is one for the block."""
    check(case_of(kernel_of(lambda b, varying, uniform: fill(b, uniform, uniform))), legalize)


def case_of(module: Module) -> cases.Case:
    return cases.Case(
        "vote", module, [np.zeros(40, np.uint32)], (1, 1, 1), (40, 1, 1), labels=["a"]
    )


LONE = (
    HEAD
    + """
  %small: b1 = lt %x, %three
  if %small {
    {end}
  }
  barrier
  %n: i32 = barrier_reduce count, %small
  write $n, %n
"""
    + TAIL.replace("%n: i32 = read $n\n  store %to, %n", "%m: i32 = read $n\n  store %to, %m")
)


def test_barriers_behind_the_end_of_threads() -> None:
    module = parse_module(LONE.replace("{end}", "return"))
    wanted = run_on("interp", module, *launch())
    barriers_by_blocks(module)
    verify(module)
    barriers = [op for op in module.kernel.body.walk() if op.barrier]
    assert len(barriers) > 2 and not any(map(BlockUniformity(module.kernel).divergent, barriers))
    assert_same(run_on("interp", module, *launch()).arrays, wanted.arrays, ["in", "out"])


def test_random_programs() -> None:
    """Whatever the control flow round their warp ops."""
    for seed in range(examples(15, 300)):
        program = random_program(seed, 22)
        changed = check(program, legalize)
        barriers = [op for op in ops_of(changed) if op.barrier]
        assert not any(map(BlockUniformity(changed.kernel).divergent, barriers))


def test_other_kernels_stay() -> None:
    case = next(case for case in effects() if case.op == "barrier")
    before = print_module(case.module)
    warps_by_blocks(case.module)
    assert print_module(case.module) == before
