"""Kernels whose warps meet in blocks answer as before; the interpreter refuses a barrier that not
all threads of a block come to."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import assert_same, run_on
from tests.ops.effects import effects

from gridlane.ir.parser import parse_module
from gridlane.ir.printer import print_module
from gridlane.ir.values import Module
from gridlane.ir.verifier import verify
from gridlane.passes.inline import inline_calls
from gridlane.passes.warps_by_blocks import warps_by_blocks

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
    return copy


@pytest.mark.parametrize("name", KERNELS)
def test_kernel(name: str) -> None:
    module = parse_module(KERNELS[name])
    verify(module)
    wanted = run_on("interp", module, *launch())
    got = run_on("interp", rewritten(module), *launch())
    assert len(np.unique(wanted.arrays[1])) > 4
    assert_same(got.arrays, wanted.arrays, ["in", "out"])


CASES = [case for case in effects() if any(op.cross_lane for op in case.module.kernel.body.walk())]


@pytest.mark.parametrize("case", CASES[::7], ids=str)
def test_case(case) -> None:
    launched = (case.grid, case.block, case.arrays, (), case.shared)
    wanted = run_on("interp", case.module, *launched)
    got = run_on("interp", rewritten(case.module), *launched)
    assert_same(got.arrays, wanted.arrays, case.labels)


def test_other_kernels_stay() -> None:
    case = next(case for case in effects() if case.op == "barrier")
    before = print_module(case.module)
    warps_by_blocks(case.module)
    assert print_module(case.module) == before
