"""What the first calls of a C program take: modules, no seconds."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
from gridlane.abi.library import entry
entry.begin(1, 0, entry.own_mark())
for name in ("cudaMalloc", "cudaMemcpy", "cudaLaunchKernel", "cudaStreamCreate", "cudaFree"):
    entry.resolve(f"runtime:{name}")
print(*sys.modules)
"""


def test_first_calls_are_within_their_budget() -> None:
    loaded = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    ).stdout.split()
    ours = [name for name in loaded if name.split(".")[0] == "gridlane"]
    assert "gridlane.abi.state.memory" in ours
    assert len(ours) <= 256, len(ours)
    unneeded = (
        "gridlane.abi.state.links",
        "gridlane.frontends.ptx.forms",
        "gridlane.abi.calls.graphs",
    )
    assert not [name for name in ours if name in unneeded]
