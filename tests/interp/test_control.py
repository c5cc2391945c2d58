"""Control flow against the same program in Python, one thread at a time; barriers; errors."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from gridlane import interp
from gridlane.core.errors import KernelError
from gridlane.interp import Memory
from gridlane.ir.parser import parse_module
from gridlane.ir.verifier import verify


def run(text: str, count: int = 64, grid=(1, 1, 1), block=None) -> tuple[list, interp.RunResult]:
    """An array of i32 that the kernel writes to, and the result."""
    module = parse_module(text)
    verify(module)
    memory, array = Memory(), np.zeros(count, np.int32)
    shape = block or (count, 1, 1)
    result = interp.run(module, grid, shape, [memory.map(array)], memory)
    assert len(list(memory)) == 1
    return array.tolist(), result


HEAD = """
kernel @k(%p: ptr<i32, global>) {
  var $x: i32
  var $i: i32
  %t: i32 = thread_idx x
  %a: ptr<i32, global> = offset %p, %t
  %one: i32 = const 1
  %two: i32 = const 2
  %three: i32 = const 3
  %seven: i32 = const 7
"""


SYNC = """
kernel @k(%p: ptr<i32, global>) {
  %one: i32 = const 1
  %b: i32 = block_idx x
  %t: i32 = thread_idx x
  %here: b1 = CONDITION
  if %here { grid_sync }
  %a: ptr<i32, global> = offset %p, %b
  store %a, %one
}
"""


SIDES = "{ grid_sync } orelse { OTHER }"


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("ne %b, %one", r"block \(0, 0, 0\) does, block \(1, 0, 0\) waits at the one at"),
        ("ne %t, %one", r"some wait at that at .*, others at this one"),
    ],
)
def test_different_grid_barriers(condition, message):
    text = SYNC.replace("CONDITION", condition)
    text = text.replace("{ grid_sync }", SIDES.replace("OTHER", "grid_sync"))
    before = threading.active_count()
    with pytest.raises(KernelError, match=message):
        run(text, 4, (3, 1, 1), (4, 1, 1))
    assert threading.active_count() == before


@pytest.mark.parametrize("condition", ["ne %t, %one", "eq %t, %one"])
def test_a_barrier_of_the_block_while_others_wait_for_the_grid(condition):
    text = SYNC.replace("CONDITION", condition)
    for sides in (SIDES.replace("OTHER", "barrier"), "{ barrier } orelse { grid_sync }"):
        with pytest.raises(KernelError, match="same barrier"):
            run(text.replace("{ grid_sync }", sides), 4, (3, 1, 1), (4, 1, 1))


PASSED = """
kernel @k(%p: ptr<i32, global>) {
  %one: i32 = const 1
  %b: i32 = block_idx x
  %t: i32 = thread_idx x
  %here: b1 = CONDITION
  %a: ptr<i32, global> = offset %p, %one
  if %here { grid_sync } orelse { %x: i32 = atomic add, %p, %one }
  if %here {
    %seen: i32 = load %p
    %y: i32 = atomic add, %a, %seen
  }
}
"""


@pytest.mark.parametrize(
    ("condition", "passed", "sum_"),
    [("ne %b, %one", 4, 8 * 4), ("ne %t, %one", 3, 9 * 3), ("eq %t, %one", 9, 3 * 9)],
)
def test_threads_and_blocks_end_without_a_grid_barrier(condition, passed, sum_):
    """Those that wait see what the others do before they end."""
    before = threading.active_count()
    got, _ = run(PASSED.replace("CONDITION", condition), 4, (3, 1, 1), (4, 1, 1))
    assert threading.active_count() == before
    assert got == [passed, sum_, 0, 0]


def test_grid_barrier():
    everywhere = SYNC.replace("CONDITION", "eq %one, %one")
    got, _ = run(everywhere, 3, (3, 1, 1), (4, 1, 1))
    assert got == [1, 1, 1]


def test_a_raised_error_ends_those_who_wait_for_the_grid():
    text = SYNC.replace("CONDITION", "ne %b, %one")
    text = text.replace("grid_sync }", "grid_sync } orelse { raise 0 }")
    text = f'error 0 "ValueError" "x"\n{text}'
    got, result = run(text, 3, (3, 1, 1), (4, 1, 1))
    assert got == [0, 0, 0]
    assert result.error == (0, (1, 0, 0), (0, 0, 0))


def test_loop_break_continue():
    got, _ = run(
        HEAD
        + """
      loop {
        %i: i32 = read $i
        %end: i32 = rem %t, %seven
        %done: b1 = ge %i, %end
        if %done { break }
        %r: i32 = rem %i, %three
        %skip: b1 = eq %r, %one
        if %skip { continue }
        %x: i32 = read $x
        %y: i32 = add %x, %i
        %z: i32 = add %y, %one
        write $x, %z
      } step {
        %j: i32 = read $i
        %k: i32 = add %j, %one
        write $i, %k
      }
      %r: i32 = read $x
      store %a, %r
    }"""
    )

    def thread(t: int) -> int:
        total = 0
        for i in range(t % 7):
            if i % 3 == 1:
                continue
            total += i + 1
        return total

    assert got == [thread(t) for t in range(64)]


def test_leave_goes_behind_the_scope_and_out_of_its_loops():
    got, _ = run(
        HEAD
        + """
      scope {
        loop {
          %i: i32 = read $i
          %done: b1 = ge %i, %t
          if %done { leave }
          %far: b1 = ge %i, %seven
          if %far { break }
          %k: i32 = add %i, %one
          write $i, %k
        }
        write $x, %one
      }
      %x: i32 = read $x
      %i: i32 = read $i
      %y: i32 = mul %x, %seven
      %z: i32 = add %y, %i
      store %a, %z
    }"""
    )
    assert got == [t if t <= 7 else 14 for t in range(64)]


def test_return_ends_the_thread():
    got, _ = run(
        HEAD
        + """
      store %a, %one
      %r: i32 = rem %t, %two
      %odd: b1 = eq %r, %one
      loop {
        if %odd { return }
        break
      }
      store %a, %two
    }"""
    )
    assert got == [1 if t % 2 else 2 for t in range(64)]


def test_call_has_its_own_variables_and_results():
    got, _ = run(
        """
    device @f(%n: i32) -> (i32) {
      var $s: i32
      %zero: i32 = const 0
      %one: i32 = const 1
      %neg: b1 = lt %n, %one
      if %neg { return (%zero) }
      %s: i32 = read $s
      %u: i32 = add %s, %n
      write $s, %u
      %v: i32 = read $s
      return (%v)
    }
    """
        + HEAD
        + """
      %m: i32 = sub %t, %three
      %x: i32 = call @f, (%m)
      %y: i32 = call @f, (%m)
      %z: i32 = add %x, %y
      store %a, %z
    }"""
    )
    assert got == [2 * max(0, t - 3) for t in range(64)]


def test_raise_in_a_function_ends_the_thread():
    got, result = run(
        """
    error 0 "ValueError" "first"
    error 1 "IndexError" "second"
    device @f(%n: i32) {
      %five: i32 = const 5
      %b: b1 = eq %n, %five
      if %b { raise 1 }
    }
    """
        + HEAD
        + """
      call @f, (%t)
      store %a, %one
      %b: b1 = eq %t, %two
      if %b { raise 0 }
      store %a, %two
    }"""
    )
    # Thread 5 is earlier in the program; the lanes run in lockstep.
    assert result.error == (1, (0, 0, 0), (5, 0, 0))
    assert [got[2], got[5]] == [1, 0]
    assert set(got[:2] + got[3:5] + got[6:]) == {2}


def test_first_error_is_of_the_first_block():
    _, result = run(
        HEAD.replace("kernel", 'error 0 "ValueError" ""\nkernel', 1)
        + """
      %b: i32 = block_idx x
      %c: b1 = eq %b, %one
      if %c { raise 0 }
    }""",
        grid=(3, 1, 1),
    )
    assert result.error == (0, (1, 0, 0), (0, 0, 0))


def test_variables_start_as_zero_in_every_block():
    got, _ = run(
        HEAD
        + """
      %x: i32 = read $x
      %y: i32 = add %x, %one
      write $x, %y
      store %a, %y
    }""",
        grid=(3, 1, 1),
    )
    assert set(got) == {1}


@pytest.mark.parametrize("other", ["barrier", "orelse { barrier }"])
def test_threads_at_different_barriers_are_an_error(other):
    then = "%b: b1 = lt %t, %two if %b { barrier }"
    with pytest.raises(KernelError, match=r"thread \(2, 0, 0\) does not come to that"):
        run(HEAD + f"{then} {other} }}")


def test_barrier_does_not_wait_for_ended_threads():
    got, _ = run(
        HEAD
        + """
      %b: b1 = lt %t, %two
      if %b { return }
      %c: i32 = barrier_reduce count, %true
      store %a, %c
    }""".replace("%c:", "%true: b1 = const true\n%c:")
    )
    assert got == [0, 0] + [62] * 62


def test_barrier_does_not_wait_for_threads_that_end_later():
    got, _ = run(
        HEAD
        + """
      %b: b1 = lt %t, %two
      %true: b1 = const true
      if %b {
        %c: i32 = barrier_reduce count, %true
        store %a, %c
      }
    }"""
    )
    assert got == [2, 2] + [0] * 62


def test_barrier_in_a_function_does_not_wait_for_those_that_returned_from_it():
    function = """device @f(%b: b1) { if %b { return } barrier }"""
    run(function + HEAD + "%b: b1 = lt %t, %two call @f, (%b) }")
    with pytest.raises(KernelError, match="not all threads of block"):
        run(function + HEAD + "%b: b1 = lt %t, %two call @f, (%b) barrier }")


def test_print_keeps_the_order_of_the_lanes():
    _, result = run(
        HEAD
        + """
      %b: b1 = lt %t, %two
      %f: f32 = const 0x1.99999ap-4
      if %b { print ("t ", "", " is ", "", " ", ""), (%t, %b, %f) }
    }"""
    )
    assert result.prints == ["t 0 is True 0.1\n", "t 1 is True 0.1\n"]


def test_grid_queries_in_three_dimensions():
    text = """
    kernel @k(%p: ptr<i32, global>) {
      %x: i32 = thread_idx x
      %y: i32 = thread_idx y
      %z: i32 = thread_idx z
      %dx: i32 = block_dim x
      %dy: i32 = block_dim y
      %lane: i32 = lane_id
      %a: i32 = mul %z, %dy
      %b: i32 = add %a, %y
      %c: i32 = mul %b, %dx
      %d: i32 = add %c, %x
      %o: ptr<i32, global> = offset %p, %d
      store %o, %lane
    }"""
    got, _ = run(text, 60, block=(5, 4, 3))
    assert got == [n % 32 for n in range(60)]


def test_depth_has_no_limit():
    depth = 2000
    text = (
        HEAD + "%b: b1 = lt %t, %two " + "if %b { " * depth + "store %a, %one" + " }" * depth + "}"
    )
    got, _ = run(text)
    assert got == [1, 1] + [0] * 62


def test_block_of_part_of_a_warp():
    got, _ = run(HEAD + "%m: u32 = active_mask %i: i32 = bitcast %m store %a, %i }", 40)
    assert got == [-1] * 32 + [0xFF] * 8
