"""Thread and block indices, barriers of the block, and fences."""

from __future__ import annotations

from gridlane.codegen.spirv.emission import Emission, emits
from gridlane.codegen.spirv.opcodes import (
    BuiltIn,
    Decoration,
    Opcode,
    Scope,
    Semantics,
    Storage,
)
from gridlane.core.dtypes import u32, u64
from gridlane.ir.op import Op
from gridlane.ir.ops import grid
from gridlane.ir.ops.grid import MemoryOrder, MemoryScope, Reduction

PUSH_CONSTANTS = {"params": 0, "base": 8, "grid": 20, "report": 32, "zero": 40}
"""Byte offsets: the parameter block's address (u64), the first block of the dispatch and the blocks
of the grid along x, y, z (u32 each), the report block's address (u64) and two words that are 0."""
PUSH_CONSTANT_BYTES = 48
_MEMBERS = (u64, u32, u32, u32, u32, u32, u32, u64, u32, u32)
_OFFSETS = (0, 8, 12, 16, 20, 24, 28, 32, 40, 44)

WARP = 32


# ---- the launch's values


def push_constant(state: Emission, name: str, axis: int = 0) -> int:
    """Load a push constant."""
    member = _OFFSETS.index(PUSH_CONSTANTS[name] + 4 * axis)
    key = f"push {member}"
    if key not in state.inputs:
        state.inputs[key] = _push_constant(state, member)
    return state.inputs[key]


def _push_constant(state: Emission, member: int) -> int:
    code = state.code
    if "push" not in state.inputs:
        state.inputs["push"] = _push_block(state)
    dtype = _MEMBERS[member]
    type_ = code.pointer_type(Storage.PushConstant, code.scalar(dtype))
    index = code.const(member, u32)
    with code.at_entry():
        pointer = code.result(Opcode.AccessChain, type_, state.inputs["push"], index)
        return code.op(Opcode.Load, dtype, pointer)


def _push_block(state: Emission) -> int:
    """The variable of the push constants; no other struct shares its type."""
    code = state.code
    members = [code.scalar(dtype) for dtype in _MEMBERS]
    block = code.fresh()
    code.globals.append((Opcode.TypeStruct, block, *members))
    code.decorate(block, Decoration.Block)
    for member, offset in enumerate(_OFFSETS):
        decoration = (Opcode.MemberDecorate, block, member, Decoration.Offset, offset)
        code.decorations.append(decoration)
    return code.global_variable(Storage.PushConstant, block)


def _input(state: Emission, builtin: BuiltIn, type_: int) -> int:
    """Load an input variable."""
    if builtin.name not in state.inputs:
        variable = state.code.global_variable(Storage.Input, type_)
        state.code.decorate(variable, Decoration.BuiltIn, builtin)
        with state.code.at_entry():
            state.inputs[builtin.name] = state.code.result(Opcode.Load, type_, variable)
    return state.inputs[builtin.name]


def _component(state: Emission, builtin: BuiltIn, axis: int) -> int:
    """A component of an input with three."""
    key = f"{builtin.name} {axis}"
    if key not in state.inputs:
        code = state.code
        whole = _input(state, builtin, code.type(Opcode.TypeVector, code.scalar(u32), 3))
        with code.at_entry():
            component = code.op(Opcode.CompositeExtract, u32, whole, axis)
        state.inputs[key] = component
    return state.inputs[key]


def thread_index(state: Emission, axis: int) -> int:
    """The thread's index in its block."""
    return _component(state, BuiltIn.LocalInvocationId, axis)


def block_index(state: Emission, axis: int) -> int:
    """The block's index in the grid, which is offset where a dispatch is a part of the grid."""
    key = f"block {axis}"
    if key not in state.inputs:
        own = _component(state, BuiltIn.WorkgroupId, axis)
        base = push_constant(state, "base", axis)
        with state.code.at_entry():
            state.inputs[key] = state.code.add(u32, own, base)
    return state.inputs[key]


def thread_number(state: Emission) -> int:
    """The number of the thread in its block, x fastest."""
    return _input(state, BuiltIn.LocalInvocationIndex, state.code.scalar(u32))


def unknown_zero(state: Emission, bits: int, first: int = 0) -> int:
    """An unsigned integer that is 0, of which no compiler knows any bit. For the compiler the zeros
    of ``first`` 0 and ``first`` 1 are different values."""
    code, low = state.code, push_constant(state, "zero", first)
    if bits < 64:
        return code.unsigned_resized(low, 32, bits)
    # It is loaded at its use: lavapipe miscompiles a u64 from the entry.
    high = code.unsigned_resized(push_constant(state, "zero", 1 - first), 32, 64)
    upper = code.shifted_up(u64, high, 32)
    return code.op(Opcode.BitwiseOr, u64, upper, code.unsigned_resized(low, 32, 64))


def block_size(state: Emission, axis: int) -> int:
    """Threads of a block along an axis, which the pipeline sets."""
    return state.code.spec_constant(state.code.scalar(u32), axis, 1)


@emits(grid.ThreadIdx, grid.BlockIdx, grid.BlockDim, grid.GridDim)
def index(state: Emission, op: grid.GridQuery) -> None:
    """Emit a grid query."""
    axis = op.axis.value
    if isinstance(op, grid.ThreadIdx):
        query = thread_index(state, axis)
    elif isinstance(op, grid.BlockIdx):
        query = block_index(state, axis)
    elif isinstance(op, grid.BlockDim):
        query = block_size(state, axis)
    else:
        query = push_constant(state, "grid", axis)
    state.set(op.results[0], query)


@emits(grid.LaneId)
def lane_id(state: Emission, op: Op) -> None:
    """Emit the lane; warps are filled x fastest."""
    state.set(op.results[0], state.code.masked(u32, thread_number(state), WARP - 1))


# ---- memory order

_MEMORY = Semantics.UniformMemory | Semantics.WorkgroupMemory
_ACQUIRE = Semantics.MakeVisible | _MEMORY
_RELEASE = Semantics.MakeAvailable | _MEMORY
_BOTH = Semantics.AcquireRelease | _ACQUIRE | _RELEASE

_VISIBLE = Semantics.MakeAvailable | Semantics.MakeVisible
_OF_BLOCK = Semantics.AcquireRelease | Semantics.WorkgroupMemory | _VISIBLE

_SEMANTICS = {
    MemoryOrder.RELAXED: 0,
    MemoryOrder.ACQUIRE: Semantics.Acquire | _ACQUIRE,
    MemoryOrder.RELEASE: Semantics.Release | _RELEASE,
    MemoryOrder.ACQ_REL: _BOTH,
    # The Vulkan memory model has no stronger order.
    MemoryOrder.SEQ_CST: _BOTH,
}

_SCOPES = {
    # A warp may be several subgroups.
    MemoryScope.WARP: Scope.Workgroup,
    MemoryScope.BLOCK: Scope.Workgroup,
    MemoryScope.DEVICE: Scope.Device,
    # The host reads memory after the work is done, whatever a thread's fences are.
    MemoryScope.SYSTEM: Scope.Device,
}


def scope_id(state: Emission, scope: MemoryScope) -> int:
    """The operand for a scope."""
    return state.code.const(_SCOPES[scope], u32)


def semantics_id(state: Emission, order: MemoryOrder) -> int:
    """The operand for memory semantics."""
    return state.code.const(int(_SEMANTICS[order]), u32)


@emits(grid.Fence)
def fence(state: Emission, op: grid.Fence) -> None:
    """Emit a memory barrier, which does not wait for threads; a relaxed one orders nothing."""
    if op.order is not MemoryOrder.RELAXED:
        memory_barrier(state, op.scope, op.order)


def memory_barrier(state: Emission, scope: MemoryScope, order: MemoryOrder) -> None:
    """Emit a fence. Where fences wait (``fences_wait``), one of subgroup scope keeps the device's
    compiler from moving accesses, and an atomic that adds 0 is the processor's fence."""
    code, semantics = state.code, semantics_id(state, order)
    if not state.has("fences_wait"):
        code.do(Opcode.MemoryBarrier, scope_id(state, scope), semantics)
        return
    if "fence" not in state.inputs:
        state.inputs["fence"] = code.global_variable(Storage.Workgroup, code.scalar(u32))
    relaxed = scope_id(state, MemoryScope.BLOCK), semantics_id(state, MemoryOrder.RELAXED)
    code.do(Opcode.MemoryBarrier, code.const(Scope.Subgroup, u32), semantics)
    code.op(Opcode.AtomicIAdd, u32, state.inputs["fence"], *relaxed, code.const(0, u32))
    code.do(Opcode.MemoryBarrier, code.const(Scope.Subgroup, u32), semantics)


# ---- barriers


@emits(grid.Barrier)
def barrier(state: Emission, op: grid.Barrier) -> None:
    """Wait for the block; shared memory is in order afterwards, and global memory if need be."""
    if not op.shared or state.has("fences_wait"):
        block_barrier(state)
        return
    scope = scope_id(state, MemoryScope.BLOCK)
    state.code.do(Opcode.ControlBarrier, scope, scope, state.code.const(int(_OF_BLOCK), u32))


def block_barrier(state: Emission) -> None:
    """A barrier of the workgroup."""
    scope = scope_id(state, MemoryScope.BLOCK)
    semantics = semantics_id(state, MemoryOrder.ACQ_REL)
    state.code.do(Opcode.ControlBarrier, scope, scope, semantics)


@emits(grid.BarrierReduce)
def barrier_reduce(state: Emission, op: grid.BarrierReduce) -> None:
    """Count threads in a word of shared memory. All of them clear it, as any may have ended."""
    code = state.code
    if "counter" not in state.inputs:
        state.inputs["counter"] = code.global_variable(Storage.Workgroup, code.scalar(u32))
    counter = state.inputs["counter"]
    zero = code.const(0, u32)
    relaxed = code.const(Scope.Workgroup, u32), zero
    predicate = state.name(op.predicate)
    if op.kind is Reduction.ALL:
        predicate = code.negated(predicate)
    block_barrier(state)
    code.do(Opcode.AtomicStore, counter, *relaxed, zero)
    block_barrier(state)
    with code.when(predicate):
        code.op(Opcode.AtomicIAdd, u32, counter, *relaxed, code.const(1, u32))
    block_barrier(state)
    total = code.op(Opcode.AtomicLoad, u32, counter, *relaxed)
    if op.kind is not Reduction.COUNT:
        wanted = Opcode.IEqual if op.kind is Reduction.ALL else Opcode.INotEqual
        total = code.select(u32, code.compare(wanted, total, zero), code.const(1, u32), zero)
    state.set(op.results[0], total)
