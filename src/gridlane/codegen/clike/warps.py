"""Exchange between the lanes of a warp, expanded into one op: reading another lane's word.

Divergent lanes do not participate, whatever the mask is, as in the IR; a read from such a lane
returns zero.
"""

from __future__ import annotations

from collections.abc import Callable

from gridlane.codegen.clike.casts import converted
from gridlane.codegen.clike.emission import Emission, emits
from gridlane.codegen.clike.floats import bits_of, from_bits
from gridlane.codegen.clike.scalars import combined
from gridlane.core.dtypes import DType, b1, i32, u32, u64
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, warp
from gridlane.ir.ops.grid import LaneId
from gridlane.ir.ops.warp import ShuffleMode, VoteMode, WarpReduction
from gridlane.ir.types import VectorType
from gridlane.ir.values import Value

WARP = 32


def _scalar(value: Value) -> DType:
    assert isinstance(value.type, DType)
    return value.type


def in_words(state: Emission, text: str, dtype: DType) -> list[str]:
    """The bits of a scalar as one or two u32, the lower first."""
    if dtype is b1:
        return [state.let(u32, state.dialect.choose(text, "1u", "0u"))]
    if state.is_edge(dtype):
        held = state.dialect.edges[dtype]
        if isinstance(held, VectorType):
            return [f"{text}.p{n}" for n in range(held.count)]
        assert isinstance(held, DType)
        return in_words(state, text, held)
    raw = bits_of(state, dtype, text)
    if dtype.size == 8:
        raw = state.let(u64, raw)
        return [state.let(u32, state.dialect.convert(u32, t)) for t in (raw, f"({raw} >> 32u)")]
    return [state.let(u32, converted(state, raw, dtype.unsigned, u32))]


def of_words(state: Emission, words: list[str], dtype: DType) -> str:
    """The scalar with the given words."""
    if dtype is b1:
        return f"{words[0]} != 0u"
    if dtype.size == 8:
        low, high = (state.dialect.convert(u64, word) for word in words)
        raw = state.let(u64, f"{low} | ({high} << 32u)")
        return from_bits(state, dtype, raw)
    return from_bits(state, dtype, converted(state, words[0], u32, dtype.unsigned))


def members(state: Emission, mask: Value) -> str:
    """The u32 of the lanes that take part."""
    return state.let(u32, f"{state.name(mask)} & {state.dialect.together(state)}")


def lane(state: Emission) -> str:
    """The thread's own lane as i32."""
    return state.let(i32, state.dialect.query(state, LaneId()))


def for_each_lane(state: Emission, body: Callable[[str], None]) -> None:
    """Emit a loop over the numbers of the lanes, as u32."""
    number = state.variable(state.dialect.types[u32], "0u")
    with state.block_of(state.dialect.loop):
        with state.block_of(f"if ({number} >= {WARP}u) {{"):
            state.line("break;")
        body(number)
        state.line(f"{number} = {number} + 1u;")


@emits(warp.Shuffle)
def shuffle(state: Emission, op: warp.Shuffle) -> None:
    """Emit the value of another lane, or the own one when that is out of range."""
    dtype = _scalar(op.value)
    width, distance = state.name(op.width), state.let(i32, f"{state.name(op.lane)} & 31")
    own = lane(state)
    start = state.let(i32, f"{own} & (0 - {width})")
    source = state.let(i32, _SOURCES[op.mode].format(own=own, start=start, d=distance, w=width))
    low = "0" if op.mode is ShuffleMode.XOR else start
    inside = state.let(b1, f"{source} >= {low} && {source} < {start} + {width}")
    chosen = state.let(i32, state.dialect.choose(inside, source, own))
    number = state.let(u32, state.dialect.convert(u32, chosen))
    words = in_words(state, state.name(op.value), dtype)
    # What an inactive lane gives is undefined in the language, and zero in the IR.
    is_here = state.let(b1, f"(({state.dialect.together(state)} >> {number}) & 1u) != 0u")
    peers = [state.let(u32, state.dialect.peer(state, word, number)) for word in words]
    received = [state.let(u32, state.dialect.choose(is_here, word, "0u")) for word in peers]
    state.give(op.results[0], of_words(state, received, dtype))
    state.set(op.results[1], inside)


_SOURCES: dict[ShuffleMode, str] = {
    ShuffleMode.IDX: "{start} + ({d} & ({w} - 1))",
    ShuffleMode.UP: "{own} - {d}",
    ShuffleMode.DOWN: "{own} + {d}",
    ShuffleMode.XOR: "{own} ^ {d}",
}


@emits(warp.Vote)
def vote(state: Emission, op: warp.Vote) -> None:
    """Emit a ballot and its comparison with the lanes that take part."""
    part = members(state, op.mask)
    true = state.let(u32, f"{state.dialect.ballot(state, state.name(op.predicate))} & {part}")
    state.give(op.results[0], _VOTES[op.mode].format(true=true, part=part))


_VOTES: dict[VoteMode, str] = {
    VoteMode.ALL: "{true} == {part}",
    VoteMode.ANY: "{true} != 0u",
    VoteMode.EQ: "{true} == {part} || {true} == 0u",
    VoteMode.BALLOT: "{true}",
}


def _gathered(state: Emission, bit: Callable[[str], str]) -> str:
    """The u32 that gathers one bit, a u32 0 or 1, from each lane."""
    bits = state.variable(state.dialect.types[u32], "0u")

    def body(number: str) -> None:
        state.line(f"{bits} = {bits} | (({bit(number)}) << {number});")

    for_each_lane(state, body)
    return bits


def _equals(state: Emission, value: Value, to: str = "") -> str:
    """The u32 of the lanes whose value has the same bits as that of lane ``to``, or the own."""
    own = in_words(state, state.name(value), _scalar(value))
    words = own
    if to:
        words = [state.let(u32, state.dialect.peer(state, word, to)) for word in own]

    def same(number: str) -> str:
        received = [state.let(u32, state.dialect.peer(state, word, number)) for word in own]
        test = " && ".join(f"{a} == {b}" for a, b in zip(received, words, strict=True))
        return state.dialect.choose(f"({test})", "1u", "0u")

    return _gathered(state, same)


@emits(warp.MatchAny)
def match_any(state: Emission, op: warp.MatchAny) -> None:
    """Emit the u32 of the lanes that hold the same value."""
    part = members(state, op.mask)
    state.give(op.results[0], f"{part} & {_equals(state, op.value)}")


@emits(warp.MatchAll)
def match_all(state: Emission, op: warp.MatchAll) -> None:
    """Emit whether all lanes hold the first lane's value. It is true if no lane participates."""
    part = members(state, op.mask)
    trailing = combined(state, arith.Clz, u32, [f"({part} & (~{part} + 1u))"])
    first = state.let(u32, f"(31u - {trailing}) & 31u")
    same = state.let(b1, f"({part} & ~{_equals(state, op.value, first)}) == 0u")
    state.give(op.results[0], state.dialect.choose(same, part, "0u"))
    state.set(op.results[1], same)


@emits(warp.ActiveMask)
def active_mask(state: Emission, op: warp.ActiveMask) -> None:
    """Emit the u32 of the convergent lanes."""
    state.give(op.results[0], state.dialect.together(state))


@emits(warp.WarpReduce)
def warp_reduce(state: Emission, op: warp.WarpReduce) -> None:
    """Reduce over the participating lanes, one after the other."""
    dtype, part = _scalar(op.value), members(state, op.mask)
    words = in_words(state, state.name(op.value), dtype)
    total = state.variable(state.dialect.types[dtype], state.zero(dtype))
    empty = state.variable(state.dialect.types[b1], "true")

    def body(number: str) -> None:
        received = [state.let(u32, state.dialect.peer(state, word, number)) for word in words]
        item = state.let(dtype, of_words(state, received, dtype))
        with state.block_of(f"if ((({part} >> {number}) & 1u) != 0u) {{"):
            both = state.let(dtype, combined(state, _REDUCTIONS[op.kind], dtype, [total, item]))
            state.line(f"{total} = {state.dialect.choose(empty, item, both)};")
            state.line(f"{empty} = false;")

    for_each_lane(state, body)
    state.give(op.results[0], total)


_REDUCTIONS: dict[WarpReduction, type[Op]] = {
    WarpReduction.ADD: arith.Add,
    WarpReduction.MIN: arith.Min,
    WarpReduction.MAX: arith.Max,
    WarpReduction.AND: arith.And,
    WarpReduction.OR: arith.Or,
    WarpReduction.XOR: arith.Xor,
}
