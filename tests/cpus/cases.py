"""The cases of ops, with the interpreter's answers, for processors that are asked for by name."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from gridlane.codegen.llvm.machine import machine_for
from gridlane.compiler import generate
from gridlane.conformance.cases import Case
from gridlane.conformance.module_runner import Outcome, assert_same, run_artifact, run_on
from gridlane.conformance.suite import cases, lack
from gridlane.core.options import KernelOptions, Target
from gridlane.launch.devices import get_device
from gridlane.runtime.host_code import missing

QUICK = KernelOptions(opt=False)
"""Without LLVM's passes, which take half of the time and are the same for all processors."""


@cache
def by_op() -> dict[str, list[Case]]:
    """The cases of the CPU target."""
    found: dict[str, list[Case]] = {}
    for case in cases():
        if lack(case, "cpu") is None:
            found.setdefault(case.op, []).append(case)
    return found


def expected(case: Case) -> Outcome:
    """The interpreter's answer."""
    return run_on("interp", case.module, case.grid, case.block, case.arrays, (), case.shared)


def require(processor: str) -> None:
    """Skip a test on a host that cannot run the code of a processor, ``NAME[,+feature...]``."""
    lacks = missing(machine_for(target_of(processor)).needs)
    if lacks:
        pytest.skip(f"this processor is no {processor}: it lacks {', '.join(lacks)}")


def target_of(processor: str) -> Target:
    """The target of a processor, ``NAME[,+feature...]``."""
    name, _, changes = processor.partition(",")
    return Target("cpu", processor=name, attributes=changes)


def run(case: Case, processor: str, options: KernelOptions) -> Outcome:
    """A case as compiled for a processor, on this one."""
    target = replace(target_of(processor), block=case.block)
    artifact = generate(case.module, target, options)
    copies = [np.array(array) for array in case.arrays]
    launch = (case.grid, case.block, copies, (), case.shared)
    return run_artifact(get_device("cpu"), artifact, *launch)


def assert_right(case: Case, got: Outcome, wanted: Outcome, processor: str) -> None:
    """The bits of the interpreter."""
    assert got.raised == wanted.raised, f"{case} for {processor}"
    assert_same(got.arrays, wanted.arrays, [f"{case} for {processor}, {x}" for x in case.labels])
