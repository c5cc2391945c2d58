"""Asynchronous copies: cp.async, from compute capability 8.0 on."""

from __future__ import annotations

from gridlane.codegen.llvm.gpu.emission import Emission
from gridlane.codegen.llvm.gpu.nvptx.overlay import emits
from gridlane.codegen.llvm.gpu.trace import traced
from gridlane.ir.op import Op
from gridlane.ir.ops import copies

_STEM = "llvm.nvvm.cp.async"


@emits(copies.AsyncCopy)
def copy(state: Emission, op: copies.AsyncCopy) -> None:
    """Emit cp.async; 16 bytes bypass the first cache, which is kept for data that is reused."""
    cache = "cg" if op.bytes == 16 else "ca"
    arguments = [
        ("ptr addrspace(3)", state.name(op.target)),
        ("ptr addrspace(1)", state.name(op.source)),
    ]
    with traced(state, op, op.source):
        state.body.call("void", f"{_STEM}.{cache}.shared.global.{op.bytes}", arguments)


@emits(copies.AsyncCommit)
def commit(state: Emission, op: Op) -> None:
    """Emit cp.async.commit_group."""
    state.body.call("void", f"{_STEM}.commit.group", [])


@emits(copies.AsyncWait)
def wait(state: Emission, op: copies.AsyncWait) -> None:
    """Emit cp.async.wait_group."""
    state.body.call("void", f"{_STEM}.wait.group", [("i32", str(op.pending))])
