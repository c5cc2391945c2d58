"""Thread and block indices, barriers and fences."""

from __future__ import annotations

from gridlane.codegen.clike.emission import Emission, emits
from gridlane.core.dtypes import b1, i32, u32
from gridlane.ir.op import Op
from gridlane.ir.ops import grid
from gridlane.ir.ops.grid import Axis, Reduction

LAUNCH = (grid.ThreadIdx, grid.BlockIdx, grid.BlockDim, grid.GridDim)


@emits(*LAUNCH, grid.LaneId, grid.DynamicSharedSize)
def query(state: Emission, op: Op) -> None:
    """Emit a grid query."""
    state.give(op.results[0], state.dialect.query(state, op))


def asked(state: Emission, cls: type[grid.GridQuery]) -> list[str]:
    """A grid query along x, y, z."""
    return [state.dialect.query(state, cls(axis)) for axis in Axis]  # type: ignore[call-arg]  # every query has an axis


def thread_number(state: Emission) -> str:
    """The number of the thread in its block, x fastest, as i32."""
    (tx, ty, tz), (nx, ny, _) = asked(state, grid.ThreadIdx), asked(state, grid.BlockDim)
    return state.let(i32, f"({tz} * {ny} + {ty}) * {nx} + {tx}")


def thread_count(state: Emission) -> str:
    """The number of threads in a block, as i32."""
    return state.let(i32, " * ".join(asked(state, grid.BlockDim)))


@emits(grid.Barrier)
def barrier(state: Emission, op: Op) -> None:
    """Wait for the block."""
    state.dialect.barrier(state)


@emits(grid.BarrierReduce)
def barrier_reduce(state: Emission, op: grid.BarrierReduce) -> None:
    """Count the true predicates in a shared word, between barriers."""
    place, dialect = state.dialect.shared_word(state), state.dialect
    first = state.let(b1, f"{thread_number(state)} == 0")
    dialect.barrier(state)  # every thread has read the last result
    with state.block_of(f"if ({first}) {{"):
        dialect.store(state, place, u32, "0u")
    dialect.barrier(state)
    with state.block_of(f"if ({state.name(op.predicate)}) {{"):
        state.let(u32, dialect.atomic(state, place, u32, "add", "1u"))
    dialect.barrier(state)
    count = state.let(i32, dialect.convert(i32, dialect.agreed(state, place, first)))
    if op.kind is Reduction.COUNT:
        state.set(op.results[0], count)
        return
    wanted = f"{count} == {thread_count(state)}" if op.kind is Reduction.ALL else f"{count} != 0"
    state.give(op.results[0], dialect.choose(f"({wanted})", "1", "0"))


@emits(grid.Fence)
def fence(state: Emission, op: grid.Fence) -> None:
    """Order memory accesses."""
    state.dialect.fence(state, op)


@emits(grid.SyncWarp)
def sync_warp(state: Emission, op: grid.SyncWarp) -> None:
    """Wait for the warp; the hardware takes no mask."""
    state.dialect.sync_warp(state)
