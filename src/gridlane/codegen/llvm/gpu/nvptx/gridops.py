"""A thread's lane, and barriers of warps, blocks and grids."""

from __future__ import annotations

from collections.abc import Callable

from gridlane.analysis.meeting import Meeting, meeting_of
from gridlane.codegen.llvm.gpu import atomics
from gridlane.codegen.llvm.gpu.emission import Emission
from gridlane.codegen.llvm.gpu.nvptx.overlay import emits, special
from gridlane.codegen.llvm.gpu.report import has_raised
from gridlane.ir.op import Op
from gridlane.ir.ops import grid
from gridlane.ir.ops.grid import Reduction


@emits(grid.LaneId)
def lane_id(state: Emission, op: Op) -> None:
    """Emit the lane's register: warps are filled x fastest."""
    state.set(op.results[0], special(state.body, "laneid"))


@emits(grid.DynamicSharedSize)
def dynamic_shared_size(state: Emission, op: Op) -> None:
    """Emit a special register that LLVM has no intrinsic for."""
    name = state.body.op('call i32 asm "mov.u32 $0, %dynamic_smem_size;", "=r"()')
    state.set(op.results[0], name)


@emits(grid.RunOthers)
def run_others(state: Emission, op: grid.RunOthers) -> None:
    """Emit no more than a sleep: warps run beside each other."""
    if op.nanoseconds:
        state.body.call("void", "llvm.nvvm.nanosleep", [("i32", str(op.nanoseconds))])
    state.set(op.results[0], "0")


_MEMBARS = {grid.MemoryScope.DEVICE: "gl", grid.MemoryScope.SYSTEM: "sys"}


@emits(grid.Fence)
def fence(state: Emission, op: grid.Fence) -> None:
    """Emit membar, the older and only name of a sequentially consistent fence that every
    capability has, as nvcc does; other orders have fence alone."""
    if op.order is grid.MemoryOrder.SEQ_CST:
        state.body.call("void", f"llvm.nvvm.membar.{_MEMBARS.get(op.scope, 'cta')}", [])
    else:
        atomics.fence(state, op)


_READINGS = {
    grid.Reading.CYCLES: "clock64",
    grid.Reading.NANOSECONDS: "globaltimer",
    grid.Reading.MULTIPROCESSOR: "smid",
    grid.Reading.MULTIPROCESSORS: "nsmid",
}


@emits(grid.Machine)
def machine(state: Emission, op: grid.Machine) -> None:
    """Emit the special register, which is read anew each time."""
    if op.kind not in _READINGS:
        raise state.refuse(op, "the reading is the host's")
    name, body = _READINGS[op.kind], state.body
    if name in ("clock64", "globaltimer"):
        register = body.op(f'call i64 asm sideeffect "mov.u64 $0, %{name};", "=l"()')
    else:
        register = body.op(f'call i32 asm sideeffect "mov.u32 $0, %{name};", "=r"()')
        register = body.op(f"zext i32 {register} to i64")
    state.set(op.results[0], register)


@emits(grid.Barrier)
def barrier(state: Emission, op: Op) -> None:
    """Emit bar.sync 0."""
    state.body.call("void", "llvm.nvvm.barrier.cta.sync.aligned.all", [("i32", "0")])


@emits(grid.BarrierReduce)
def barrier_reduce(state: Emission, op: grid.BarrierReduce) -> None:
    """Emit bar.red; all and any return a predicate."""
    stem = {Reduction.COUNT: "popc", Reduction.ALL: "and", Reduction.ANY: "or"}[op.kind]
    type_ = "i32" if op.kind is Reduction.COUNT else "i1"
    arguments = [("i32", "0"), ("i1", state.name(op.predicate))]
    reduction = state.body.call(type_, f"llvm.nvvm.barrier.cta.red.{stem}.aligned.all", arguments)
    if type_ == "i1":
        reduction = state.body.op(f"zext i1 {reduction} to i32")
    state.set(op.results[0], reduction)


@emits(grid.BarrierPart)
def barrier_part(state: Emission, op: grid.BarrierPart) -> None:
    """Emit barrier.sync or barrier.red with a number and a count."""
    if op.kind is Reduction.NONE:
        name = f"llvm.nvvm.barrier.cta.sync{_aligned(op)}.count"
        state.body.call("void", name, _part(state, op))
        state.set(op.results[0], "0")
        return
    stem = {Reduction.COUNT: "popc", Reduction.ALL: "and", Reduction.ANY: "or"}[op.kind]
    type_ = "i32" if op.kind is Reduction.COUNT else "i1"
    arguments = [*_part(state, op), ("i1", state.name(op.predicate))]
    reduction = state.body.call(
        type_, f"llvm.nvvm.barrier.cta.red.{stem}{_aligned(op)}.count", arguments
    )
    if type_ == "i1":
        reduction = state.body.op(f"zext i1 {reduction} to i32")
    state.set(op.results[0], reduction)


@emits(grid.BarrierArrive)
def barrier_arrive(state: Emission, op: grid.BarrierArrive) -> None:
    """Emit barrier.arrive."""
    name = f"llvm.nvvm.barrier.cta.arrive{_aligned(op)}.count"
    state.body.call("void", name, _part(state, op))


def _part(state: Emission, op: grid.BarrierPart | grid.BarrierArrive) -> list[tuple[str, str]]:
    return [("i32", state.name(op.number)), ("i32", state.name(op.count))]


def _aligned(op: grid.BarrierPart | grid.BarrierArrive) -> str:
    return ".aligned" if op.aligned else ""


# The last block to arrive flips the highest bit: block 0 adds 2**31 less the number of others,
# which add one each. So the word needs no reset, and the next barrier flips the bit back.
_ARRIVE = "atom.add.release.gpu.u32 $0, [$1], $2;"
_LOOK = "ld.acquire.gpu.u32 $0, [$1];"
_SWAP = "atom.cas.relaxed.gpu.b32 $0, [$1], $2, $3;"
_WORD_OFFSET = 4
"""The offset of a barrier's word in the workspace of a cooperative launch."""


@emits(grid.GridSync)
def grid_sync(state: Emission, op: Op) -> None:
    """Emit the barrier of cooperative groups: one thread of each block adds to a word and waits for
    its highest bit to flip, between two barriers of the block."""
    body = state.body
    state.cooperative = True
    meet = _meeting(state)
    meet(state, op)
    leads, done = body.label("leads"), body.label("met")
    body.branch_if(_all_zero(state, "tid"), leads, done)
    body.start(leads)
    word, share = _workspace(state), _share(state)
    before = _assembly(state, _ARRIVE, word, share)
    look, again = body.label("look"), body.label("again")
    body.branch(look)
    body.start(look)
    now = _assembly(state, _LOOK, word)
    flipped = body.op(f"icmp slt i32 {body.op(f'xor i32 {now}, {before}')}, 0")
    body.branch_if(flipped, done, again)
    body.start(again)
    if state.module.errors:
        _leave_if_raised(state, (word, now, share), look, done)
    else:
        body.branch(look)
    body.start(done)
    meet(state, op)
    if state.module.errors:
        _end_if_raised(state)


def _meeting(state: Emission) -> Callable[[Emission, Op], None]:
    """The barrier of a block: an aligned one, which takes a tenth less time, if whole warps reach
    it."""
    if state.unaligned is None:
        state.unaligned = meeting_of(state.module.kernel) is not Meeting.ALL
    return _unaligned if state.unaligned else barrier


def _unaligned(state: Emission, op: Op) -> None:
    """Emit barrier.sync 0: threads of the warp may be elsewhere, to end there."""
    state.body.call("void", "llvm.nvvm.barrier.cta.sync.all", [("i32", "0")])


def _assembly(state: Emission, text: str, word: str, *operands: str) -> str:
    """Emit an instruction on the barrier's word; its result."""
    arguments = ", ".join((f"i64 {word}", *(f"i32 {operand}" for operand in operands)))
    constraints = ",".join(("=r", "l", *("r" for _ in operands), "~{memory}"))
    return state.body.op(f'call i32 asm sideeffect "{text}", "{constraints}"({arguments})')


def _leave_if_raised(state: Emission, seen: tuple[str, str, str], look: str, done: str) -> None:
    """Jump to ``look``, or to ``done`` once a thread has raised and so will not arrive. Before that
    the block's share is subtracted from the word, unless the barrier has completed: the driver
    reuses the word for later launches."""
    body = state.body
    word, now, share = seen
    undo = body.label("undo")
    body.branch_if(has_raised(state), undo, look)
    body.start(undo)
    old = _assembly(state, _SWAP, word, now, body.op(f"sub i32 {now}, {share}"))
    body.branch_if(body.op(f"icmp eq i32 {old}, {now}"), done, look)


def _share(state: Emission) -> str:
    """The number that this block adds to the word."""
    body = state.body
    x, y, z = (special(state.body, f"nctaid.{axis}") for axis in "xyz")
    blocks = body.op(f"mul i32 {body.op(f'mul i32 {x}, {y}')}, {z}")
    rest = body.op(f"sub i32 {-(1 << 31) + 1}, {blocks}")
    return body.op(f"select i1 {_all_zero(state, 'ctaid')}, i32 {rest}, i32 1")


def _all_zero(state: Emission, register: str) -> str:
    """Whether an index is 0 along all axes."""
    body = state.body
    x, y, z = (special(state.body, f"{register}.{axis}") for axis in "xyz")
    joined = body.op(f"or i32 {body.op(f'or i32 {x}, {y}')}, {z}")
    return body.op(f"icmp eq i32 {joined}, 0")


def _workspace(state: Emission) -> str:
    """The address of the grid's barrier word: envreg1 has the high half of the workspace's."""
    body = state.body
    high, low = (special(state.body, f"envreg{n}") for n in (1, 2))
    upper = body.op(f"shl i64 {body.op(f'zext i32 {high} to i64')}, 32")
    whole = body.op(f"or i64 {upper}, {body.op(f'zext i32 {low} to i64')}")
    return body.op(f"add i64 {whole}, {_WORD_OFFSET}")


def _end_if_raised(state: Emission) -> None:
    body = state.body
    leave, stay = body.label("lost"), body.label("whole")
    body.branch_if(has_raised(state), leave, stay)
    body.start(leave)
    state.overlay.leave(body)
    body.do("unreachable")
    body.start(stay)


@emits(grid.SyncWarp)
def sync_warp(state: Emission, op: grid.SyncWarp) -> None:
    """Emit bar.warp.sync."""
    state.body.call("void", "llvm.nvvm.bar.warp.sync", [("i32", state.name(op.mask))])
