"""What the compiler makes of kernels, through the driver: schedules, examples."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests.devices import assert_same, run_on
from tests.effort import NIGHTLY
from tests.examples.test_examples import ARGUMENTS, EXAMPLES, ROOT
from tests.on_metal import EMULATED

from gridlane.conformance.suite import cases, lack

CASES = [case for case in cases() if not lack(case, "metal")]
# Kernels whose threads meet: their results must not depend on who comes first.
MEETING = ("barrier", "barrier_reduce", "shuffle", "vote", "match", "sync_warp", "static_shared")
SEEDS = 5


def compared(device, case):
    """Run a case on the device and on the interpreter."""
    launch = case.module, case.grid, case.block, case.arrays, (), case.shared
    wanted, got = run_on("interp", *launch), run_on(device, *launch)
    assert got.raised == wanted.raised
    assert_same(got.arrays, wanted.arrays, case.labels)


@pytest.mark.parametrize("case", [case for case in CASES if case.op in MEETING][::4], ids=str)
def test_in_any_order(device, gpu, case):
    for seed in range(SEEDS):
        gpu._random.seed(seed)
        compared(device, case)


def test_some_meet():
    assert len({case.op for case in CASES if case.op in MEETING}) > 3


# --- examples, as users run them ---

# g++ takes a second or two for each; test_conformance has all ops.
SOME = ["matmul", "montecarlo_pi", "raytracer", "reduction", "warp_scan"]


@pytest.mark.parametrize("name", sorted(ARGUMENTS) if NIGHTLY else SOME)
def test_example(name):
    done = subprocess.run(
        [
            *(sys.executable, "-m", "gridlane", "run", str(EXAMPLES / f"{name}.py")),
            *ARGUMENTS[name]["cpu"].split(),
        ],
        cwd=ROOT,
        env={**os.environ, **EMULATED},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(f"{name}: ")
