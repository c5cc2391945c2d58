"""Which kernels pay for threads that end before others come to a barrier of the grid."""

from __future__ import annotations

import linecache
from types import FunctionType
from typing import Any

import pytest

from gridlane import compiler, cuda
from gridlane.analysis.meeting import Meeting, meeting_of
from gridlane.core.options import KernelOptions
from gridlane.cuda import int32
from gridlane.passes.optimise.promote import promote_variables
from gridlane.passes.structure.grid_parts import split_at_grid_syncs
from gridlane.passes.structure.inline import inline_calls

ALL = (
    "if x[0]: return\ngrid.sync()",
    "if n > 3: return\ngrid.sync()",
    "grid.sync()\nif i > n: return",
    "for k in range(n):\n if i > k: x[i] = k\n grid.sync()\n if x[n]: break",
    "if table[n]: grid.sync()",
    "while x[i]:\n x[i] -= 1\ngrid.sync()",
    "met(grid, n)\ngrid.sync()",
)
UNENDED = (
    "if i > n: return\ngrid.sync()",
    "for k in range(n):\n grid.sync()\n if x[i] == k: return",
    "for k in range(n):\n if x[i] == k: return\nfor k in range(n):\n grid.sync()",
    "if n:\n if x[cuda.blockIdx.x]: return\ngrid.sync()",
)
SOME = (
    "if i > n: grid.sync()",
    "for k in range(n):\n if x[i]: continue\n grid.sync()",
    "for k in range(n):\n grid.sync()\n if x[i]: break",
    "while x[i]: grid.sync()",
    "met(grid, i)",
    "if cuda.syncthreads_count(n): grid.sync()",
    "if cuda.atomic.add(x, 0, 1): grid.sync()",
    "if shared[0]: grid.sync()",
)


def kernel_of(body: str) -> FunctionType:
    lines = (
        "def met(grid, n):",
        " if n: return",
        " grid.sync()",
        "def kernel(x, n):",
        " i, grid = cuda.grid(1), cuda.cg.this_grid()",
        " shared = cuda.shared.array(4, cuda.int32)",
        " shared[0] = x[i]",
        *(f" {line}" for line in body.splitlines()),
    )
    text, name = "\n".join(lines), f"<meeting {body}>"
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    made: dict[str, Any] = {"cuda": cuda, "table": (0, 1, 1)}
    exec(compile(text, name, "exec"), made)
    made["met"] = cuda.jit(device=True)(made["met"])
    return made["kernel"]


@pytest.mark.parametrize(
    ("body", "meeting"),
    [
        *((body, Meeting.ALL) for body in ALL),
        *((body, Meeting.UNENDED) for body in UNENDED),
        *((body, Meeting.SOME) for body in SOME),
    ],
)
@pytest.mark.parametrize("debug", [False, True])
def test_who_comes_to_a_barrier(body: str, meeting: Meeting, debug: bool) -> None:
    """Threads that raise, as indices are checked, end the grid and count for no other."""
    options = KernelOptions(debug=debug)
    module = compiler.translate(kernel_of(body), (int32[::1], int32), options)
    inline_calls(module)
    promote_variables(module)
    assert meeting_of(module.kernel) is meeting
    plan = split_at_grid_syncs(module).plan
    assert plan.ends_apart is (meeting > Meeting.ALL)
