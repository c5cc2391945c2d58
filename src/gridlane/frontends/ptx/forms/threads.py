"""Barriers, fences and warps. PTX ISA 9.0, "Parallel Synchronization and Communication"."""

from __future__ import annotations

from gridlane.core.dtypes import b1, i32, u32
from gridlane.frontends.ptx.forms.memory import SCOPES
from gridlane.frontends.ptx.forms.table import Match, form
from gridlane.frontends.ptx.operands import Number, Operand
from gridlane.frontends.ptx.values import Values
from gridlane.ir.builder import constant
from gridlane.ir.ops import arith, warp
from gridlane.ir.ops.grid import (
    Barrier,
    BarrierArrive,
    BarrierPart,
    BarrierReduce,
    Fence,
    LaneId,
    MemoryOrder,
    MemoryScope,
    Reduction,
    SyncWarp,
)
from gridlane.ir.values import Value

Operands = tuple[Operand, ...]


def _number(t: Values, operand: Operand) -> Value:
    if isinstance(operand, Number) and not 0 <= operand.value < 16:
        t.fail(f"a block has barriers 0 to 15, not {operand.value}")
    return t.read(operand, u32)


def _part(t: Values, number: Operand, count: Operand) -> tuple[Value, Value]:
    """The number of a barrier, and of its threads."""
    if isinstance(count, Number) and (count.value <= 0 or int(count.value) % 32):
        t.fail(f"the number of threads is a multiple of 32, not {count.value}")
    return _number(t, number), t.read(count, u32)


def _is_aligned(m: Match) -> bool:
    return m.form.root == "bar" or m.has("aligned")


@form("bar [.cta] .sync", "a, b?")
@form("barrier [.cta] .sync [.aligned]", "a, b?")
def barrier(t: Values, m: Match, o: Operands) -> None:
    """Wait for the block, or for some threads of it."""
    if len(o) == 2:
        false = t.b.const(False, b1)
        t.b.emit(BarrierPart(Reduction.COUNT, *_part(t, *o), false, _is_aligned(m)))
        return
    _number(t, o[0])  # all threads of the block wait at it, whatever it is
    t.b.emit(Barrier())


@form("bar [.cta] .arrive", "a, b")
@form("barrier [.cta] .arrive [.aligned]", "a, b")
def arrive(t: Values, m: Match, o: Operands) -> None:
    """Let threads that wait at a barrier go on, without waiting."""
    t.b.emit(BarrierArrive(*_part(t, *o), _is_aligned(m)))


def _reduced(t: Values, m: Match, kind: Reduction, o: Operands) -> Value:
    """The reduction of a predicate at a barrier."""
    predicate = t.read(o[-1], b1)
    if len(o) == 4:
        return t.emit(BarrierPart(kind, *_part(t, o[1], o[2]), predicate, _is_aligned(m)))
    _number(t, o[1])
    return t.emit(BarrierReduce(kind, predicate))


@form("bar [.cta] .red .popc .u32", "d, a, p")
@form("bar [.cta] .red .popc .u32", "d, a, b, p")
@form("barrier [.cta] .red .popc [.aligned] .u32", "d, a, p")
@form("barrier [.cta] .red .popc [.aligned] .u32", "d, a, b, p")
def barrier_count(t: Values, m: Match, o: Operands) -> None:
    """Wait, and count."""
    t.write(o[0], t.b.cast(_reduced(t, m, Reduction.COUNT, o), u32))


@form("bar [.cta] .red .and|or .pred", "d, a, p")
@form("bar [.cta] .red .and|or .pred", "d, a, b, p")
@form("barrier [.cta] .red .and|or [.aligned] .pred", "d, a, p")
@form("barrier [.cta] .red .and|or [.aligned] .pred", "d, a, b, p")
def barrier_vote(t: Values, m: Match, o: Operands) -> None:
    """Wait, and ask whether all or any hold."""
    made = _reduced(t, m, Reduction.ALL if m.has("and") else Reduction.ANY, o)
    t.write(o[0], t.b.binary(arith.Ne, made, t.b.const(0, i32)))


@form("bar .warp .sync", "a")
def warp_barrier(t: Values, m: Match, o: Operands) -> None:
    """Wait for lanes of the warp."""
    t.b.emit(SyncWarp(t.read(o[0], u32)))


@form("membar .cta|gl|sys")
@form("fence [.sc|acq_rel|acquire|release] .cta|cluster|gpu|sys")
def fence(t: Values, m: Match, o: Operands) -> None:
    """Order memory."""
    scope = MemoryScope.DEVICE if m.has("gl") else SCOPES[m.one_of(*SCOPES)]
    orders = {"acq_rel": MemoryOrder.ACQ_REL, "acquire": MemoryOrder.ACQUIRE}
    orders["release"] = MemoryOrder.RELEASE
    order = orders.get(m.one_of(*orders), MemoryOrder.SEQ_CST)
    t.b.emit(Fence(scope, order))


_SHUFFLES = {
    "idx": warp.ShuffleMode.IDX,
    "up": warp.ShuffleMode.UP,
    "down": warp.ShuffleMode.DOWN,
    "bfly": warp.ShuffleMode.XOR,
}


@form("shfl .sync .up|down|bfly|idx .b32", "d, a, b, c, mask")
def shfl(t: Values, m: Match, o: Operands) -> None:
    """A value of another lane."""
    mode, control = _SHUFFLES[m.modifiers[1]], t.read(o[3], u32)
    width = _segment(m, constant(control))
    lane = t.read(o[2], u32)
    inside: Value | None = None
    if not width:
        lane, inside = _lane_by_control(t, mode, lane, control)
        mode, width = warp.ShuffleMode.IDX, 32
    at = t.b.cast(lane, i32)
    op = warp.Shuffle(mode, t.read(o[4], u32), t.read(o[1], m.type), at, t.b.const(width, i32))
    value, within = t.b.emit(op).results
    first, second = t.both(o[0])
    t.write(first, value)
    t.write(second, within if inside is None else inside)


def _segment(m: Match, control: int | float | None) -> int:
    """The lanes of a segment, where a clamp and mask are those of CUDA C++'s shuffles; else 0."""
    if control is None:
        return 0
    packed = int(control)
    width = 32 - (packed >> 8 & 31)
    is_whole = packed & 31 == (0 if m.has("up") else 31) and not width & width - 1
    return width if is_whole else 0


def _lane_by_control(
    t: Values, mode: warp.ShuffleMode, count: Value, control: Value
) -> tuple[Value, Value]:
    """The lane that is read, and whether it is within the bounds, by any clamp (bits 0 to 4) and
    segment mask (bits 8 to 12)."""
    b = t.b
    low = b.const(31, u32)
    own, count = b.cast(t.emit(LaneId()), u32), b.and_(count, low)
    clamp = b.and_(control, low)
    mask = b.and_(b.binary(arith.Shr, control, b.const(8, u32)), low)
    start = b.and_(own, mask)
    most = b.or_(start, b.and_(clamp, b.not_(mask)))
    made = {
        warp.ShuffleMode.UP: lambda: b.sub(own, count),
        warp.ShuffleMode.DOWN: lambda: b.add(own, count),
        warp.ShuffleMode.XOR: lambda: b.binary(arith.Xor, own, count),
        warp.ShuffleMode.IDX: lambda: b.or_(start, b.and_(count, b.not_(mask))),
    }[mode]()
    # Lanes are signed here: one below 0 is below every bound.
    order = arith.Ge if mode is warp.ShuffleMode.UP else arith.Le
    inside = b.binary(order, b.cast(made, i32), b.cast(most, i32))
    return b.select(inside, made, own), inside


@form("vote .sync .all|any|uni .pred", "d, a, mask")
@form("vote .sync .ballot .b32", "d, a, mask")
def vote(t: Values, m: Match, o: Operands) -> None:
    """A vote of lanes."""
    modes = {"all": "all", "any": "any", "uni": "eq", "ballot": "ballot"}
    mode = warp.VoteMode(modes[m.modifiers[1]])
    t.write(o[0], t.emit(warp.Vote(mode, t.read(o[2], u32), t.read(o[1], b1))))


@form("activemask .b32", "d")
def activemask(t: Values, m: Match, o: Operands) -> None:
    """The lanes that run."""
    t.write(o[0], t.emit(warp.ActiveMask()))


@form("match .any .sync .b32|b64", "d, a, mask")
def match_any(t: Values, m: Match, o: Operands) -> None:
    """The lanes with the same value."""
    t.write(o[0], t.emit(warp.MatchAny(t.read(o[2], u32), t.read(o[1], m.type))))


@form("match .all .sync .b32|b64", "d, a, mask")
def match_all(t: Values, m: Match, o: Operands) -> None:
    """The lanes, if all have the same value."""
    first, second = t.both(o[0])
    lanes, same = t.b.emit(warp.MatchAll(t.read(o[2], u32), t.read(o[1], m.type))).results
    t.write(first, lanes)
    t.write(second, same)


@form("redux .sync .add|min|max .u32|s32", "d, a, mask")
@form("redux .sync .and|or|xor .b32", "d, a, mask")
def redux(t: Values, m: Match, o: Operands) -> None:
    """A reduction over lanes."""
    kind = warp.WarpReduction(m.modifiers[1])
    t.write(o[0], t.emit(warp.WarpReduce(kind, t.read(o[2], u32), t.read(o[1], m.type))))


@form("nanosleep .u32", "a")
def nanosleep(t: Values, m: Match, o: Operands) -> None:
    """A pause, which may be short: no result depends on it."""


@form("pmevent [.mask]", "a")
def pmevent(t: Values, m: Match, o: Operands) -> None:
    """A counter of a profiler, which nothing reads here."""
