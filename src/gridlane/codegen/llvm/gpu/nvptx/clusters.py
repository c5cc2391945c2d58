"""Clusters of blocks: their numbers, their barrier, the shared memory of others, its mbarriers and
copies to it; from compute capability 9.0 on."""

from __future__ import annotations

from gridlane.codegen.llvm.gpu.emission import Emission
from gridlane.codegen.llvm.gpu.nvptx.mbarriers import place_in_tensor
from gridlane.codegen.llvm.gpu.nvptx.overlay import emits, require, special
from gridlane.codegen.llvm.gpu.nvptx.warpgroups import assembly, shared_address
from gridlane.ir.op import Op
from gridlane.ir.ops import clusters
from gridlane.ir.values import Value

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


@emits(clusters.ClusterArrive)
def arrive(state: Emission, op: clusters.ClusterArrive) -> None:
    """Emit barrier.cluster.arrive."""
    require(state, 90, op, _WHAT)
    state.version = max(state.version, 80)  # the first with a relaxed arrival
    relaxed = ".relaxed" * op.relaxed
    state.body.call("void", f"llvm.nvvm.barrier.cluster.arrive{relaxed}", [])


@emits(clusters.ClusterWait)
def wait(state: Emission, op: Op) -> None:
    """Emit barrier.cluster.wait."""
    require(state, 90, op, _WHAT)
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


@emits(clusters.MbarrierArrivePeer)
def arrive_peer(state: Emission, op: clusters.MbarrierArrivePeer) -> None:
    """Emit mapa of the mbarrier, and mbarrier.arrive there. A release of the cluster would be a
    fence of all memory for each arrival."""
    _at_peer(state, op, "mbarrier.arrive.shared::cluster.b64 _, [there], $2;", op.count)


@emits(clusters.MbarrierExpectPeer)
def expect_peer(state: Emission, op: clusters.MbarrierExpectPeer) -> None:
    """Emit mapa of the mbarrier, and mbarrier.expect_tx there."""
    text = "mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [there], $2;"
    _at_peer(state, op, text, op.bytes)


@emits(clusters.MbarrierCompletePeer)
def complete_peer(state: Emission, op: clusters.MbarrierCompletePeer) -> None:
    """Emit mapa of the mbarrier, and mbarrier.complete_tx there."""
    text = "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [there], $2;"
    _at_peer(state, op, text, op.bytes)


_OfPeer = clusters.MbarrierArrivePeer | clusters.MbarrierExpectPeer | clusters.MbarrierCompletePeer


def _at_peer(state: Emission, op: _OfPeer, text: str, number: Value) -> None:
    require(state, 90, op, _WHAT)
    state.version = max(state.version, 80)  # the first with bytes that others expect
    arguments = [("i32", shared_address(state, op.pointer))]
    arguments += [("i32", state.name(value)) for value in (op.rank, number)]
    text = f"{{ .reg .b32 there; mapa.shared::cluster.u32 there, $0, $1; {text} }}"
    assembly(state, text, (), arguments)


@emits(clusters.TensorMulticast)
def multicast(state: Emission, op: clusters.TensorMulticast) -> None:
    """Emit cp.async.bulk.tensor to shared memory of several blocks."""
    operand, arguments = place_in_tensor(state, op, 3)
    ends = [("i32", shared_address(state, each)) for each in (op.box, op.bar)]
    ends.append(("i32", state.name(op.blocks)))
    text = (
        "{ .reg .b16 blocks; cvt.u16.u32 blocks, $2; "
        f"cp.async.bulk.tensor.{len(op.coordinates)}d.shared::cluster.global.tile"
        f".mbarrier::complete_tx::bytes.multicast::cluster [$0], {operand}, [$1], blocks; }}"
    )
    assembly(state, text, (), [*ends, *arguments])
