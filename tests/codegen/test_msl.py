"""What generated MSL does beyond the ops of tests/runtime/metal: control flow, reports."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import assert_same, run_on
from tests.msl_cpu import machine

from gridlane.compiler import generate
from gridlane.conformance.suite import cases
from gridlane.core.options import Target
from gridlane.ir.parser import parse_module

METAL = Target("metal")

pytestmark = pytest.mark.skipif(
    machine.compiler() is None and not machine.in_ci(), reason="no g++ with _Float16"
)


NESTED = """
kernel @nested(%p0: ptr<i32, global>) {
  var $n: i32
  %x: i32 = thread_idx x
  scope {
    loop {
      loop {
        %a: i32 = read $n
        %seven: i32 = const 700
        %far: b1 = gt %a, %seven
        if %far { leave }
        %one: i32 = const 1
        %b: i32 = add %a, %one
        write $n, %b
        %enough: b1 = ge %b, %x
        if %enough { break }
      }
      continue
    } step {
      %c: i32 = read $n
      %hundred: i32 = const 100
      %d: i32 = add %c, %hundred
      write $n, %d
    }
  }
  %e: i32 = read $n
  %at: ptr<i32, global> = offset %p0, %x
  store %at, %e
}
"""


def test_leaving_from_nested_loops() -> None:
    """A leave goes through two loops, and a continue by the step."""
    module = parse_module(NESTED)
    artifact = generate(module, METAL)
    launch = (module, (1, 1, 1), (64, 1, 1), [np.zeros(64, np.int32)])
    got = machine.Library([artifact]).run(artifact, *launch)
    assert_same(got.arrays, run_on("interp", *launch).arrays, ["array"])


def test_report_of_a_raise() -> None:
    """The thread and block that raised stand in the report block."""
    case = next(case for case in cases() if case.op == "raise")
    artifact = generate(case.module, METAL)
    launch = (case.module, case.grid, case.block, case.arrays)
    report = machine.Library([artifact]).run(artifact, *launch).report.view("u4")
    assert report[:8].tolist() == [1, 1, 37, 0, 0, 0, 0, 0]


def test_printed_records() -> None:
    """Each of the two threads that print fills a record with its site and arguments."""
    case = next(case for case in cases() if case.op == "print")
    artifact = generate(case.module, METAL)
    launch = (case.module, case.grid, case.block, case.arrays)
    report = machine.Library([artifact]).run(artifact, *launch).report.view("u4")
    assert report[8] == 24
    assert report[16:22].tolist() == [1, 0, 3, 0, 0x3F000000, 0]


@pytest.mark.parametrize("axis", "xyz")
def test_blocks_of_a_part_of_a_grid(axis: str) -> None:
    """A grid beyond a dispatch's limit is launched in parts, each with the first block's place."""
    module = parse_module(
        f"kernel @k(%p: ptr<i32, global>) {{ %b: i32 = block_idx {axis} store %p, %b }}"
    )
    text = generate(module, METAL).code.decode()
    assert f"block_index.{axis} + launch.base[{'xyz'.index(axis)}]" in text
