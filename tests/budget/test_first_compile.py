"""What the first compilation of a process takes: modules, compiled functions and calls, no seconds.

A number may rise with what a compilation does; each module costs about half a millisecond of every
program's start, and each compiled function a tenth.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).with_name("first_compile.py")

BUDGETS = {
    "cuda": {"modules": 385, "compiled": 345, "calls": 2650},
    "cpu": {"modules": 432, "compiled": 379, "calls": 5200},
}

UNNEEDED = (
    *("gridlane.frontends.ptx", "gridlane.frontends.cuda_cpp", "gridlane.codegen.spirv"),
    *("gridlane.codegen.clike", "gridlane.ir.parser", "gridlane.ir.verifier", "gridlane.interp"),
    *("gridlane.passes.structure.grid_parts", "gridlane.passes.structure.structurize"),
    *("gridlane.passes.structure.recursion", "gridlane.frontends.python.calls.libdevice"),
    *("gridlane.actors", "gridlane.abi", "gridlane.cli", "gridlane.profiler", "difflib"),
)
"""What a kernel without barriers of the grid, recursion and foreign functions does without."""


@cache
def first_compile(target: str) -> dict[str, Any]:
    environment = os.environ | {"GRIDLANE_CACHE": "0"}
    done = subprocess.run(
        [sys.executable, str(PROGRAM), target],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("target", BUDGETS)
def test_a_first_compilation_is_within_its_budget(target: str) -> None:
    found, budget = first_compile(target), BUDGETS[target]
    ours = [name for name in found["modules"] if name.split(".")[0] == "gridlane"]
    assert len(ours) <= budget["modules"], ours
    assert found["compiled"] <= budget["compiled"]
    assert 0 < found["calls"] <= budget["calls"]


@pytest.mark.parametrize("target", BUDGETS)
def test_it_does_without_what_few_kernels_need(target: str) -> None:
    modules = first_compile(target)["modules"]
    found = [name for name in modules for other in UNNEEDED if f"{name}.".startswith(f"{other}.")]
    assert not found


def test_nvidia_gpus_need_no_processes() -> None:
    assert "subprocess" not in first_compile("cuda")["modules"]


def test_the_import_of_the_package_is_small() -> None:
    program = "import sys; from gridlane import cuda; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    ours = [name for name in loaded if name.split(".")[0] == "gridlane"]
    assert "gridlane.cuda" in ours
    assert len(ours) <= 14, ours
    assert "numpy" not in loaded
