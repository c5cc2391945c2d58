"""Clusters of blocks: their numbers, their barrier, the shared memory of others; from compute
capability 9.0 on."""

from __future__ import annotations

from gridlane.codegen.llvm.gpu.emission import Emission
from gridlane.codegen.llvm.gpu.nvptx.overlay import emits, require, special
from gridlane.ir.op import Op
from gridlane.ir.ops import clusters

_REGISTERS: dict[type[Op], str] = {
    clusters.ClusterRank: "cluster.ctarank",
    clusters.ClusterSize: "cluster.nctarank",
}
_WHAT = "a cluster of blocks"


@emits(clusters.ClusterRank, clusters.ClusterSize)
def query(state: Emission, op: clusters.ClusterQuery) -> None:
    """Emit the special register."""
    require(state, 90, op, _WHAT)
    state.set(op.results[0], special(state.body, _REGISTERS[type(op)]))


@emits(clusters.ClusterSync)
def sync(state: Emission, op: Op) -> None:
    """Emit the two halves of the barrier, in the form that threads of a warp may reach one by one,
    as some may have ended."""
    require(state, 90, op, _WHAT)
    state.body.call("void", "llvm.nvvm.barrier.cluster.arrive", [])
    state.body.call("void", "llvm.nvvm.barrier.cluster.wait", [])


@emits(clusters.PeerAddress)
def peer_address(state: Emission, op: clusters.PeerAddress) -> None:
    """Emit mapa of the generic address."""
    require(state, 90, op, _WHAT)
    body = state.body
    place = body.op(f"addrspacecast {state.typed(op.pointer)} to ptr")
    arguments = [("ptr", place), ("i32", state.name(op.rank))]
    there = body.call("ptr", "llvm.nvvm.mapa", arguments)
    state.set(op.results[0], body.op(f"ptrtoint ptr {there} to i64"))
