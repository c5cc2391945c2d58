"""Exchange between the lanes of a warp, where a subgroup is one: 32 consecutive threads.

Elsewhere ``passes.warps_by_blocks`` has replaced these ops. A ballot returns the convergent lanes.
A shuffle from another lane is undefined, so its result is used for lanes of the ballot only.
"""

from __future__ import annotations

from collections.abc import Callable

from gridlane.codegen.spirv import scalars
from gridlane.codegen.spirv.code import unsigned
from gridlane.codegen.spirv.emission import Emission, emits
from gridlane.codegen.spirv.gridops import WARP, scope_id, semantics_id, thread_number
from gridlane.codegen.spirv.opcodes import Capability, Glsl, Opcode, Scope
from gridlane.core.dtypes import DType, b1, u8, u32, u64
from gridlane.ir.op import Op
from gridlane.ir.ops import grid, warp
from gridlane.ir.ops.grid import MemoryOrder, MemoryScope
from gridlane.ir.ops.warp import ShuffleMode, VoteMode, WarpReduction
from gridlane.ir.values import Value


def _scalar(value: Value) -> DType:
    assert isinstance(value.type, DType)
    return value.type


def _ballot(state: Emission, op: Op, flag: int) -> int:
    """The u32 of the convergent lanes whose predicate is true."""
    state.require("subgroup32", op, op.name)
    code = state.code
    code.capabilities |= {Capability.GroupNonUniform, Capability.GroupNonUniformBallot}
    scope = code.const(Scope.Subgroup, u32)
    type_ = code.type(Opcode.TypeVector, code.scalar(u32), 4)
    ballot = code.result(Opcode.GroupNonUniformBallot, type_, scope, flag)
    return code.op(Opcode.CompositeExtract, u32, ballot, 0)


def _members(state: Emission, op: Op, mask: Value) -> int:
    """The lanes that take part."""
    here = _ballot(state, op, state.code.const(True, b1))
    return state.code.op(Opcode.BitwiseAnd, u32, here, state.name(mask))


def _from_lane(state: Emission, op: Op, value: int, dtype: DType, lane: int) -> int:
    """A lane's value: its bits in words of 32."""
    state.require("subgroup32", op, op.name)
    code = state.code
    code.capabilities |= {Capability.GroupNonUniform, Capability.GroupNonUniformShuffle}
    scope = code.const(Scope.Subgroup, u32)

    def word(bits: int) -> int:
        return code.op(Opcode.GroupNonUniformShuffle, u32, scope, bits, lane)

    raw, own = unsigned(8 * dtype.size), code.bits(value, dtype)
    if raw is not u64:
        received = code.resized(word(code.resized(own, raw, u32)), u32, raw)
        return code.from_bits(received, dtype)
    low = word(code.resized(own, u64, u32))
    high = word(code.resized(code.shifted_down(u64, own, 32), u64, u32))
    wide = [code.resized(half, u32, u64) for half in (low, high)]
    joined = code.op(Opcode.BitwiseOr, u64, wide[0], code.shifted_up(u64, wide[1], 32))
    return code.from_bits(joined, dtype)


@emits(warp.ActiveMask)
def active_mask(state: Emission, op: Op) -> None:
    """Emit a ballot of all."""
    state.set(op.results[0], _ballot(state, op, state.code.const(True, b1)))


@emits(warp.Vote)
def vote(state: Emission, op: warp.Vote) -> None:
    """Emit a vote by two ballots."""
    code = state.code
    members = _members(state, op, op.mask)
    said = _ballot(state, op, state.name(op.predicate))
    true = code.op(Opcode.BitwiseAnd, u32, said, members)
    none = code.compare(Opcode.IEqual, true, code.const(0, u32))
    every = code.compare(Opcode.IEqual, true, members)
    verdict = {
        VoteMode.BALLOT: lambda: true,
        VoteMode.ANY: lambda: code.negated(none),
        VoteMode.ALL: lambda: every,
        VoteMode.EQ: lambda: code.either(every, none),
    }[op.mode]()
    state.set(op.results[0], verdict)


@emits(warp.Shuffle)
def shuffle(state: Emission, op: warp.Shuffle) -> None:
    """Emit a shuffle from the lane of the mode, or the own one when that is out of range."""
    code, dtype = state.code, _scalar(op.value)
    own = code.masked(u32, thread_number(state), WARP - 1)
    source, inside = _source(state, op, own)
    lane = code.select(u32, inside, source, own)
    received = _from_lane(state, op, state.name(op.value), dtype, lane)
    # What an inactive lane gives is undefined in SPIR-V, and zero in the IR.
    here = _ballot(state, op, code.const(True, b1))
    bit = code.masked(u32, code.op(Opcode.ShiftRightLogical, u32, here, lane), 1)
    is_here = code.compare(Opcode.INotEqual, bit, code.const(0, u32))
    state.set(op.results[0], code.select(dtype, is_here, received, code.const(0, dtype)))
    state.set(op.results[1], inside)


def _source(state: Emission, op: warp.Shuffle, own: int) -> tuple[int, int]:
    """(the lane, whether it is in range)."""
    code, width = state.code, state.name(op.width)
    start = code.op(Opcode.BitwiseAnd, u32, own, code.op(Opcode.SNegate, u32, width))
    end = code.add(u32, start, width)
    moved = code.masked(u32, state.name(op.lane), WARP - 1)
    if op.mode is ShuffleMode.IDX:
        within = code.op(Opcode.BitwiseAnd, u32, moved, code.plus(u32, width, -1))
        return code.add(u32, start, within), code.const(True, b1)
    if op.mode is ShuffleMode.UP:
        source = code.op(Opcode.ISub, u32, own, moved)
        return source, code.compare(Opcode.SGreaterThanEqual, source, start)
    opcode = Opcode.IAdd if op.mode is ShuffleMode.DOWN else Opcode.BitwiseXor
    source = code.op(opcode, u32, own, moved)
    return source, code.compare(Opcode.SLessThan, source, end)


def _each_lane(state: Emission, start: int, dtype: DType, step: Callable[[int, int], int]) -> int:
    """Fold ``step(total, lane)`` over the lanes, one after the other."""
    code = state.code
    total, lane = code.local(dtype), code.local(u32)
    code.set(total, start)
    code.set(lane, code.const(0, u32))
    with code.again() as labels:
        now = code.get(u32, lane)
        last = code.const(WARP, u32)
        code.stop_if(code.compare(Opcode.IEqual, now, last), labels.merge)
        code.set(total, step(code.get(dtype, total), now))
        code.set(lane, code.plus(u32, now, 1))
    return code.get(dtype, total)


def _equal_lanes(state: Emission, op: Op, value: Value, wanted: int) -> int:
    """The u32 of the lanes whose value has these bits."""
    code, dtype = state.code, _scalar(value)
    raw = u8 if dtype.is_bool else unsigned(dtype.bits)
    own, bits = (code.bits(x, dtype) for x in (state.name(value), wanted))

    def look(lanes: int, lane: int) -> int:
        other = _from_lane(state, op, own, raw, lane)
        same = code.compare(Opcode.IEqual, other, bits)
        one = code.select(u32, same, code.const(1, u32), code.const(0, u32))
        bit = code.op(Opcode.ShiftLeftLogical, u32, one, lane)
        return code.op(Opcode.BitwiseOr, u32, lanes, bit)

    return _each_lane(state, code.const(0, u32), u32, look)


@emits(warp.MatchAny)
def match_any(state: Emission, op: warp.MatchAny) -> None:
    """Match by comparing with every lane."""
    members = _members(state, op, op.mask)
    same = _equal_lanes(state, op, op.value, state.name(op.value))
    state.set(op.results[0], state.code.op(Opcode.BitwiseAnd, u32, members, same))


@emits(warp.MatchAll)
def match_all(state: Emission, op: warp.MatchAll) -> None:
    """Match all: all lanes are equal if all equal the first participating one."""
    code, zero = state.code, state.code.const(0, u32)
    members = _members(state, op, op.mask)
    first = code.masked(u32, code.ext(Glsl.FindILsb, u32, members), WARP - 1)
    wanted = _from_lane(state, op, state.name(op.value), _scalar(op.value), first)
    same = _equal_lanes(state, op, op.value, wanted)
    others = code.op(Opcode.BitwiseAnd, u32, members, code.op(Opcode.Not, u32, same))
    equal = code.compare(Opcode.IEqual, others, zero)
    state.set(op.results[0], code.select(u32, equal, members, zero))
    state.set(op.results[1], equal)


@emits(warp.WarpReduce)
def warp_reduce(state: Emission, op: warp.WarpReduce) -> None:
    """Reduce over the participating lanes, one after the other."""
    code, dtype = state.code, _scalar(op.value)
    members = _members(state, op, op.mask)
    zero = code.const(0, u32)

    def combine(total: int, lane: int) -> int:
        down = code.op(Opcode.ShiftRightLogical, u32, members, lane)
        takes_part = code.compare(Opcode.INotEqual, code.masked(u32, down, 1), zero)
        other = _from_lane(state, op, state.name(op.value), dtype, lane)
        return code.select(dtype, takes_part, _combined(state, op.kind, dtype, total, other), total)

    neutral = code.const(_NEUTRAL[op.kind](dtype), dtype)
    reduced = _each_lane(state, neutral, dtype, combine)
    nobody = code.compare(Opcode.IEqual, members, zero)
    state.set(op.results[0], code.select(dtype, nobody, code.const(0, dtype), reduced))


def _combined(state: Emission, kind: WarpReduction, dtype: DType, a: int, b: int) -> int:
    if kind in (WarpReduction.MIN, WarpReduction.MAX):
        return scalars.minmax(state.code, dtype, kind is WarpReduction.MIN, a, b)
    return state.code.op(_OPCODES[kind], dtype, a, b)


_OPCODES = {
    WarpReduction.ADD: Opcode.IAdd,
    WarpReduction.AND: Opcode.BitwiseAnd,
    WarpReduction.OR: Opcode.BitwiseOr,
    WarpReduction.XOR: Opcode.BitwiseXor,
}
_NEUTRAL: dict[WarpReduction, Callable[[DType], int]] = {
    WarpReduction.ADD: lambda dtype: 0,
    WarpReduction.MIN: lambda dtype: dtype.max,
    WarpReduction.MAX: lambda dtype: dtype.min,
    WarpReduction.AND: lambda dtype: -1,
    WarpReduction.OR: lambda dtype: 0,
    WarpReduction.XOR: lambda dtype: 0,
}


@emits(grid.SyncWarp)
def sync_warp(state: Emission, op: Op) -> None:
    """Emit a barrier of the subgroup, which orders shared and global memory."""
    state.require("subgroup32", op, op.name)
    code = state.code
    memory = scope_id(state, MemoryScope.WARP), semantics_id(state, MemoryOrder.ACQ_REL)
    code.do(Opcode.ControlBarrier, code.const(Scope.Subgroup, u32), *memory)
