"""The MSL of every op computes what the interpreter does, in a stand-in for a Metal device."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.devices import assert_same, run_on
from tests.msl_cpu import machine
from tests.ops.cases import INEXACT, Case, arithmetic, emitting, over
from tests.ops.effects import effects
from tests.ops.special import special
from tests.ops.test_math_ulp import column, distance

from gridlane.compiler import generate
from gridlane.core.artifact import Artifact
from gridlane.core.dtypes import f32, i32
from gridlane.core.errors import TargetError
from gridlane.core.options import KernelOptions, Target
from gridlane.ir.op import REGISTRY
from gridlane.ir.ops import math
from gridlane.ir.parser import parse_module

CASES = [*arithmetic(), *effects()]
METAL = Target("metal")
EXACT = KernelOptions(fp64="exact")

pytestmark = pytest.mark.skipif(
    machine.compiler() is None and not machine.in_ci(), reason="no g++ with _Float16"
)


OPS = sorted({case.op for case in CASES})


def made(case: Case) -> Artifact | TargetError:
    """The kernel of a case, or why there is none."""
    try:
        return generate(case.module, METAL, EXACT)
    except TargetError as error:
        return error


@pytest.mark.parametrize("op", OPS)
def test_op(op: str) -> None:
    """All cases of an op at once: they compile together, which takes a fraction of the time."""
    cases = [case for case in CASES if case.op == op]
    found = [(case, made(case)) for case in cases]
    kept = [(case, artifact) for case, artifact in found if isinstance(artifact, Artifact)]
    refused = {str(c): e.message for c, e in found if isinstance(e, TargetError)}
    assert set(refused) == {str(case) for case in cases if refusal(case)}, refused
    for case in cases:
        assert not refusal(case) or refusal(case) in refused[str(case)]
    kernels = machine.Library([artifact for _, artifact in kept])
    wrong = [text for case, artifact in kept if (text := differs(kernels, case, artifact))]
    assert not wrong, "\n".join(wrong)


def differs(kernels: machine.Library, case: Case, artifact: Artifact) -> str:
    """What a kernel computes otherwise than the interpreter, or ""."""
    launch = (case.module, case.grid, case.block, case.arrays, (), case.shared)
    wanted = run_on("interp", *launch)
    try:
        got = kernels.run(artifact, *launch)
        assert got.raised == wanted.raised
        assert_same(got.arrays, wanted.arrays, case.labels)
    except AssertionError as error:
        return f"{case}: {str(error)[:300]}"
    return ""


def refusal(case: Case) -> str:
    """A word of why Metal cannot do a case, or "" when it can."""
    if case.op in ("atomic", "atomic_cas") and WIDE_ATOMIC.match(case.label):
        return "" if case.label in IN_HALVES else "atomics have 32 bits"
    return REFUSED.get(str(case), "")


WIDE_ATOMIC = re.compile(r"(\w+-)?[iuf]64\b")
IN_HALVES = {f"{op}-{t}64-together" for op in ("add", "sub", "and", "or", "xor") for t in "iu"}
REFUSED = {"fence": "host", "grid_sync": "no grid_sync"}


def test_functions_are_close() -> None:
    """The functions that gridlane brings along, of f32, within what is allowed on other devices."""
    cases, names = [], sorted(cls.name for cls in INEXACT)
    for name in names:
        count = 2 if issubclass(REGISTRY[name], math.MathBinary) else 1
        columns = [column(f32, f"{name}{n}", 500) for n in range(count)]
        cases.append(over(name, "", [f32] * count, columns, emitting(REGISTRY[name])))
    artifacts = [generate(case.module, METAL) for case in cases]
    kernels = machine.Library(artifacts)
    for case, artifact in zip(cases, artifacts, strict=True):
        launch = (case.module, case.grid, case.block, case.arrays)
        got = kernels.run(artifact, *launch).arrays[-1]
        ulp = distance(got, run_on("interp", *launch).arrays[-1])
        assert ulp.max() <= (11 if case.op == "tgamma" else 4), case.op


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


def by_constants() -> Case:
    """Quotients and remainders by constants, of which most need no test for 0 and -1."""

    def build(b, value):
        divisors = [b.const(n, i32) for n in (7, -3, 1, -(2**31), 0, -1, 2**31 - 1)]
        return [op(value, n) for n in divisors for op in (b.div, b.rem)]

    return over("div", "by-constants", [i32], [special(i32, 40)], build)


def test_division_by_constants() -> None:
    case = by_constants()
    artifact = generate(case.module, METAL)
    assert not differs(machine.Library([artifact]), case, artifact)


def test_report_of_a_raise() -> None:
    """The thread and block that raised stand in the report block."""
    case = next(case for case in CASES if case.op == "raise")
    artifact = generate(case.module, METAL)
    launch = (case.module, case.grid, case.block, case.arrays)
    report = machine.Library([artifact]).run(artifact, *launch).report.view("u4")
    assert report[:8].tolist() == [1, 1, 37, 0, 0, 0, 0, 0]


def test_printed_records() -> None:
    """Each of the two threads that print fills a record with its site and arguments."""
    case = next(case for case in CASES if case.op == "print")
    artifact = generate(case.module, METAL)
    launch = (case.module, case.grid, case.block, case.arrays)
    report = machine.Library([artifact]).run(artifact, *launch).report.view("u4")
    assert report[8] == 24
    assert report[16:22].tolist() == [1, 0, 3, 0, 0x3F000000, 0]
