"""Where a thread stands, and barriers."""

from __future__ import annotations

from gridlane.codegen.llvm.nvptx.emission import Emission, emits
from gridlane.codegen.llvm.nvptx.report import special
from gridlane.ir.op import Op
from gridlane.ir.ops import grid
from gridlane.ir.ops.grid import Reduction

_REGISTERS: dict[type[Op], str] = {
    grid.ThreadIdx: "tid",
    grid.BlockIdx: "ctaid",
    grid.BlockDim: "ntid",
    grid.GridDim: "nctaid",
}


@emits(*_REGISTERS)
def index(state: Emission, op: grid.GridQuery) -> None:
    """A special register."""
    name = f"{_REGISTERS[type(op)]}.{'xyz'[op.axis.value]}"
    state.set(op.results[0], special(state, name))


@emits(grid.LaneId)
def lane_id(state: Emission, op: Op) -> None:
    """The lane's register: warps are filled x fastest."""
    state.set(op.results[0], special(state, "laneid"))


@emits(grid.DynamicSharedSize)
def dynamic_shared_size(state: Emission, op: Op) -> None:
    """A special register that LLVM has no intrinsic for."""
    name = state.body.op('call i32 asm "mov.u32 $0, %dynamic_smem_size;", "=r"()')
    state.set(op.results[0], name)


@emits(grid.Barrier)
def barrier(state: Emission, op: Op) -> None:
    """bar.sync 0."""
    state.body.call("void", "llvm.nvvm.barrier.cta.sync.aligned.all", [("i32", "0")])


@emits(grid.BarrierReduce)
def barrier_reduce(state: Emission, op: grid.BarrierReduce) -> None:
    """bar.red; all and any give a predicate."""
    stem = {Reduction.COUNT: "popc", Reduction.ALL: "and", Reduction.ANY: "or"}[op.kind]
    type_ = "i32" if op.kind is Reduction.COUNT else "i1"
    arguments = [("i32", "0"), ("i1", state.name(op.predicate))]
    made = state.body.call(type_, f"llvm.nvvm.barrier.cta.red.{stem}.aligned.all", arguments)
    if type_ == "i1":
        made = state.body.op(f"zext i1 {made} to i32")
    state.set(op.results[0], made)


@emits(grid.SyncWarp)
def sync_warp(state: Emission, op: grid.SyncWarp) -> None:
    """bar.warp.sync."""
    state.body.call("void", "llvm.nvvm.bar.warp.sync", [("i32", state.name(op.mask))])
