"""Exchange of values by the lanes of a warp. PTX ISA 9.0, "Parallel Synchronization"."""

from __future__ import annotations

from gridlane.core.dtypes import b1, f32, i32, u32
from gridlane.frontends.ptx.forms.table import Match, form, rows
from gridlane.frontends.ptx.operands import Operand, Pair, Sink
from gridlane.frontends.ptx.values import Values
from gridlane.ir.builder import constant
from gridlane.ir.ops import arith, warp
from gridlane.ir.ops.grid import LaneId
from gridlane.ir.values import Value

Operands = tuple[Operand, ...]

_SHUFFLES = {
    "idx": warp.ShuffleMode.IDX,
    "up": warp.ShuffleMode.UP,
    "down": warp.ShuffleMode.DOWN,
    "bfly": warp.ShuffleMode.XOR,
}


@form("shfl .sync .up|down|bfly|idx .b32", "d, a, b, c, mask")
def shfl(t: Values, m: Match, o: Operands) -> None:
    """A value of another lane."""
    _shuffle(t, m, o, t.read(o[4], u32))


@form("shfl .up|down|bfly|idx .b32", "d, a, b, c")
def shfl_of_running(t: Values, m: Match, o: Operands) -> None:
    """A value of another lane that runs, in PTX for devices before 7.0."""
    _shuffle(t, m, o, t.emit(warp.ActiveMask()))


def _shuffle(t: Values, m: Match, o: Operands, members: Value) -> None:
    kind, packed = m.one_of(*_SHUFFLES), t.read(o[3], u32)
    value, first, second = t.read(o[1], m.type), *t.both(o[0])
    width = _segment(packed, kind)
    if width is not None:
        lane = t.b.cast(t.read(o[2], u32), i32)
        op = warp.Shuffle(_SHUFFLES[kind], members, value, lane, t.b.const(width, i32))
        shuffled, inside = t.b.emit(op).results
    else:
        lane, inside = _source_lane(t, kind, t.read(o[2], u32), packed)
        whole = t.b.const(32, i32)
        op = warp.Shuffle(warp.ShuffleMode.IDX, members, value, t.b.cast(lane, i32), whole)
        shuffled = t.b.emit(op).results[0]
    t.write(first, shuffled)
    if not isinstance(second, Sink):
        t.write(second, inside)


def _segment(packed: Value, kind: str) -> int | None:
    """The lanes of a segment, where the clamp and the mask are those of CUDA C++'s shuffles: whole
    segments of 1 to 32 lanes."""
    known = constant(packed)
    if known is None:
        return None
    bits = int(known)
    width = 32 - (bits >> 8 & 31)
    usual = not bits >> 13 and bits & 0xFF == (0 if kind == "up" else 31)
    return width if usual and not width & width - 1 else None


def _source_lane(t: Values, kind: str, by: Value, packed: Value) -> tuple[Value, Value]:
    """The source lane of a value, by any clamp and mask, and whether it is within them; otherwise
    the source is the own lane. As in the ISA's description of shfl.sync."""
    b, five = t.b, t.b.const(31, u32)
    own = b.cast(t.emit(LaneId()), u32)
    by, clamp = b.and_(by, five), b.and_(packed, five)
    segment = b.and_(b.binary(arith.Shr, packed, b.const(8, u32)), five)
    least = b.and_(own, segment)
    most = b.or_(least, b.and_(clamp, b.not_(segment)))
    if kind == "up":
        there = b.sub(b.cast(own, i32), b.cast(by, i32))
        inside = b.binary(arith.Ge, there, b.cast(most, i32))
        place = b.cast(there, u32)
    else:
        place = {
            "down": lambda: b.add(own, by),
            "bfly": lambda: b.binary(arith.Xor, own, by),
            "idx": lambda: b.or_(least, b.and_(by, b.not_(segment))),
        }[kind]()
        inside = b.binary(arith.Le, place, most)
    return b.select(inside, place, own), inside


@form("vote .sync .all|any|uni .pred", "d, a, mask")
@form("vote .sync .ballot .b32", "d, a, mask")
@form("vote .all|any|uni .pred", "d, a")
@form("vote .ballot .b32", "d, a")
def vote(t: Values, m: Match, o: Operands) -> None:
    """A vote of lanes; without .sync of those that run."""
    modes = {"all": "all", "any": "any", "uni": "eq", "ballot": "ballot"}
    mode = warp.VoteMode(modes[m.one_of(*modes)])
    members = t.read(o[2], u32) if len(o) == 3 else t.emit(warp.ActiveMask())
    t.write(o[0], t.emit(warp.Vote(mode, members, t.read(o[1], b1))))


@form("elect .sync", "d, mask")
def elect(t: Values, m: Match, o: Operands) -> None:
    """The lowest lane of a mask, and whether it is the own one."""
    b, members = t.b, t.read(o[1], u32)
    lowest = b.and_(members, b.sub(b.const(0, u32), members))
    leader = b.sub(b.const(31, u32), b.cast(b.unary(arith.Clz, lowest), u32))
    if not isinstance(o[0], Pair):
        t.fail("the result is a lane and a predicate, as in %r1|%p1")
    t.write(o[0].first, leader)
    t.write(o[0].second, b.eq(leader, b.cast(t.emit(LaneId()), u32)))


rows(("activemask .b32", "d", warp.ActiveMask))


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


_NAN = 0x7FFFFFFF


@form("redux .sync .min|max [.abs] [.NaN] .f32", "d, a, mask")
def redux_float(t: Values, m: Match, o: Operands) -> None:
    """The least or the greatest number of lanes, -0 below 0, as the order of integers. NaN is the
    first in the order with .NaN, and the last without."""
    b = t.b
    bits = b.bitcast(t.read(o[1], f32), u32)
    size = b.and_(bits, b.const(_NAN, u32))
    sign = b.const(1 << 31, u32)
    if m.has("abs"):
        bits = size
    is_negative = b.binary(arith.Ne, b.and_(bits, sign), b.const(0, u32))
    place = b.select(is_negative, b.not_(bits), b.or_(bits, sign))
    of_nan = b.const(0 if m.has("min") == m.has("NaN") else u32.max, u32)
    place = b.select(b.binary(arith.Gt, size, b.const(0x7F800000, u32)), of_nan, place)
    kind = warp.WarpReduction(m.modifiers[1])
    least_bits = t.emit(warp.WarpReduce(kind, t.read(o[2], u32), place))
    is_negative = b.eq(b.and_(least_bits, sign), b.const(0, u32))
    number_bits = b.select(is_negative, b.not_(least_bits), b.and_(least_bits, b.const(_NAN, u32)))
    number_bits = b.select(b.eq(least_bits, of_nan), b.const(_NAN, u32), number_bits)
    t.write(o[0], b.bitcast(number_bits, f32))


@form("redux .sync .add|min|max .u32|s32", "d, a, mask")
@form("redux .sync .and|or|xor .b32", "d, a, mask")
def redux(t: Values, m: Match, o: Operands) -> None:
    """A reduction over lanes."""
    kind = warp.WarpReduction(m.modifiers[1])
    t.write(o[0], t.emit(warp.WarpReduce(kind, t.read(o[2], u32), t.read(o[1], m.type))))
