"""Warp ops. A kernel with warp ops runs in chunks of one warp, so a warp is a vector of 32."""

from __future__ import annotations

from gridlane.codegen.llvm.cpu.dispatch import emits
from gridlane.codegen.llvm.cpu.lanes import Emission, Uniform, Varying
from gridlane.codegen.llvm.text import mangle, scalar_name, vector_constant, widen
from gridlane.core.dtypes import DType
from gridlane.ir.builder import constant
from gridlane.ir.ops.grid import SyncWarp
from gridlane.ir.ops.warp import (
    ActiveMask,
    MatchAll,
    MatchAny,
    Shuffle,
    ShuffleMode,
    Vote,
    VoteMode,
    WarpReduce,
    WarpReduction,
)
from gridlane.ir.values import Value

_I32 = "<32 x i32>"
_LANES = vector_constant(range(32), "i32")


@emits(SyncWarp)
def sync_warp(state: Emission, op: SyncWarp) -> None:
    """Emit nothing: a warp's lanes run in lockstep, so each op is done by all before the next."""


@emits(ActiveMask)
def active_mask(state: Emission, op: ActiveMask) -> None:
    """Emit the bits of the running lanes."""
    state.set(op.results[0], Uniform(state.bits(state.mask)))


# ---- shuffles


@emits(Shuffle)
def shuffle(state: Emission, op: Shuffle) -> None:
    """Emit a permutation, a constant one if the lane and width are constants."""
    delta, width = constant(op.lane), constant(op.width)
    value = state.vector(op.value)
    name = scalar_name(op.value.type)
    vector = widen(name, 32)
    if state.mask is not None:  # inactive lanes give zero
        running = f"select <32 x i1> {state.mask}"
        value = state.body.op(f"{running}, {vector} {value}, {vector} zeroinitializer")
    if type(delta) is int and type(width) is int:
        pairs = [source_lane(op.mode, lane, delta, width) for lane in range(32)]
        picks = vector_constant([source for source, _ in pairs], "i32")
        moved = state.body.op(f"shufflevector {vector} {value}, {vector} poison, {_I32} {picks}")
        inside = vector_constant(["true" if ok else "false" for _, ok in pairs], "i1")
    else:
        source, inside = _source_lanes(state, op)
        moved = _permuted(state, value, name, source)
    state.set(op.results[0], Varying(moved))
    state.set(op.results[1], Varying(inside))


def source_lane(mode: ShuffleMode, lane: int, delta: int, width: int) -> tuple[int, bool]:
    """(lane to read, whether it is in range), as in PTX's shfl.sync."""
    delta &= 31
    start = lane & ~(width - 1) & 31
    end = start + width - 1
    source, inside = {
        ShuffleMode.IDX: (start + (delta & (width - 1)), True),
        ShuffleMode.UP: (lane - delta, lane - delta >= start),
        ShuffleMode.DOWN: (lane + delta, lane + delta <= end),
        ShuffleMode.XOR: (lane ^ delta, lane ^ delta <= end),
    }[mode]
    return (source, True) if inside else (lane, False)


def _source_lanes(state: Emission, op: Shuffle) -> tuple[str, str]:
    """``source_lane`` as vector code."""
    body = state.body
    delta = body.op(f"and {_I32} {state.vector(op.lane)}, splat (i32 31)")
    last = body.op(f"sub {_I32} {state.vector(op.width)}, splat (i32 1)")
    outside = body.op(f"xor {_I32} {last}, splat (i32 -1)")
    start = body.op(f"and {_I32} {_LANES}, {outside}")
    end = body.op(f"add {_I32} {start}, {last}")
    if op.mode is ShuffleMode.IDX:
        within = body.op(f"and {_I32} {delta}, {last}")
        return body.op(f"add {_I32} {start}, {within}"), "splat (i1 true)"
    word = {"up": "sub", "down": "add", "xor": "xor"}[op.mode.value]
    source = body.op(f"{word} {_I32} {_LANES}, {delta}")
    if op.mode is ShuffleMode.UP:
        inside = body.op(f"icmp sge {_I32} {source}, {start}")
    else:
        inside = body.op(f"icmp sle {_I32} {source}, {end}")
    kept = body.op(f"select <32 x i1> {inside}, {_I32} {source}, {_I32} {_LANES}")
    return kept, inside


def _permuted(state: Emission, value: str, name: str, source: str) -> str:
    """A vector with lanes read from lanes that are computed at run time, through memory."""
    body = state.body
    held = "i8" if name == "i1" else name
    vector = widen(held, 32)
    if name == "i1":
        value = body.op(f"zext <32 x i1> {value} to {vector}")
    memory = body.alloca(vector, align=64)
    body.do(f"store {vector} {value}, ptr {memory}, align 64")
    addresses = body.op(f"getelementptr {held}, ptr {memory}, {_I32} {source}")
    full = f"llvm.masked.gather.{mangle(held, 32)}.{mangle('ptr', 32)}"
    arguments = [
        ("<32 x ptr> align 1", addresses),
        ("<32 x i1>", "splat (i1 true)"),
        (vector, "poison"),
    ]
    moved = body.call(vector, full, arguments)
    return body.op(f"trunc {vector} {moved} to <32 x i1>") if name == "i1" else moved


# ---- votes and matches


def _taking_part(state: Emission, mask: Value) -> tuple[str, int]:
    """(bits of the running lanes in a mask, 0) if the bits are one scalar, else (vector, 32)."""
    active = state.bits(state.mask)
    rep = state.rep(mask)
    if isinstance(rep, Uniform):
        return state.body.op(f"and i32 {active}, {rep.name}"), 0
    spread = state.broadcast(active, "i32")
    return state.body.op(f"and {_I32} {spread}, {state.vector(mask)}"), 32


@emits(Vote)
def vote(state: Emission, op: Vote) -> None:
    """Emit a vote, as arithmetic on the bits of the predicate's mask."""
    body = state.body
    part, lanes = _taking_part(state, op.mask)
    type_ = widen("i32", lanes)
    bits = state.body.op(f"bitcast <32 x i1> {state.vector(op.predicate)} to i32")
    spread = state.broadcast(bits, "i32") if lanes else bits
    yes = body.op(f"and {type_} {spread}, {part}")
    zero = "zeroinitializer" if lanes else "0"
    if op.mode is VoteMode.BALLOT:
        result = yes
    elif op.mode is VoteMode.ANY:
        result = body.op(f"icmp ne {type_} {yes}, {zero}")
    else:
        result = body.op(f"icmp eq {type_} {yes}, {part}")
        if op.mode is VoteMode.EQ:
            none = body.op(f"icmp eq {type_} {yes}, {zero}")
            result = body.op(f"or {widen('i1', lanes)} {result}, {none}")
    state.set(op.results[0], Varying(result) if lanes else Uniform(result))


def _comparable(state: Emission, value: Value) -> tuple[str, str]:
    """A value's bits as an integer vector, and its LLVM type."""
    assert isinstance(value.type, DType)
    name = scalar_name(value.type)
    vector = state.vector(value)
    if name[0] == "i":
        return vector, widen(name, 32)
    bits = widen(f"i{value.type.bits}", 32)
    return state.body.op(f"bitcast {widen(name, 32)} {vector} to {bits}"), bits


@emits(MatchAny)
def match_any(state: Emission, op: MatchAny) -> None:
    """Emit one iteration for each distinct value among the running lanes."""
    body = state.body
    value, type_ = _comparable(state, op.value)
    name = type_[6:-1]
    result, left = body.alloca(_I32, align=64), body.alloca("i32")
    body.do(f"store {_I32} zeroinitializer, ptr {result}")
    body.do(f"store i32 {state.bits(state.mask)}, ptr {left}")
    head, done = body.label("match"), body.label("matched")
    body.branch(head)
    body.start(head)
    bits = body.op(f"load i32, ptr {left}")
    one = state.extract(value, name, state.first_lane(bits))
    same = body.op(f"icmp eq {type_} {value}, {state.broadcast(one, name)}")
    group = state.both(same, state.mask)
    members = state.bits(group)
    old = body.op(f"load {_I32}, ptr {result}")
    spread = state.broadcast(members, "i32")
    new = body.op(f"select <32 x i1> {group}, {_I32} {spread}, {_I32} {old}")
    body.do(f"store {_I32} {new}, ptr {result}")
    others = body.op(f"xor i32 {members}, -1")
    rest = body.op(f"and i32 {bits}, {others}")
    body.do(f"store i32 {rest}, ptr {left}")
    more = body.op(f"icmp ne i32 {rest}, 0")
    body.branch_if(more, head, done)
    body.start(done)
    lanes = body.op(f"load {_I32}, ptr {result}")
    named = body.op(f"and {_I32} {lanes}, {state.vector(op.mask)}")
    state.set(op.results[0], Varying(named))


@emits(MatchAll)
def match_all(state: Emission, op: MatchAll) -> None:
    """Compare every participating lane with the first of them."""
    body = state.body
    part, lanes = _taking_part(state, op.mask)
    value, type_ = _comparable(state, op.value)
    name = type_[6:-1]
    if lanes:
        # The masks differ: the first lane in each lane's mask is read from memory.
        zeros = body.call(_I32, "llvm.cttz.v32i32", [(_I32, part), ("i1", "false")])
        first = _permuted(state, value, name, body.op(f"and {_I32} {zeros}, splat (i32 31)"))
        return _match_all_varying(state, op, part, value, type_, first)
    lane = body.op(f"and i32 {state.first_lane(part)}, 31")
    first = state.broadcast(state.extract(value, name, lane), name)
    same = state.bits(body.op(f"icmp eq {type_} {value}, {first}"))
    both = body.op(f"and i32 {same}, {part}")
    ok = body.op(f"icmp eq i32 {both}, {part}")
    state.set(op.results[0], Uniform(body.op(f"select i1 {ok}, i32 {part}, i32 0")))
    state.set(op.results[1], Uniform(ok))


def _match_all_varying(
    state: Emission, op: MatchAll, part: str, value: str, type_: str, first: str
) -> None:
    """Whether all lanes in each lane's own mask hold the same value as the first of them."""
    body = state.body
    differ = body.alloca(_I32, align=64)
    body.do(f"store {_I32} zeroinitializer, ptr {differ}")
    name = type_[6:-1]
    for lane in range(32):
        one = state.broadcast(state.extract(value, name, lane), name)
        off = body.op(f"icmp ne {type_} {first}, {one}")
        bit = f"splat (i32 {1 << lane if lane < 31 else -(1 << 31)})"
        old = body.op(f"load {_I32}, ptr {differ}")
        more = body.op(f"or {_I32} {old}, {bit}")
        new = body.op(f"select <32 x i1> {off}, {_I32} {more}, {_I32} {old}")
        body.do(f"store {_I32} {new}, ptr {differ}")
    bits = body.op(f"load {_I32}, ptr {differ}")
    wrong = body.op(f"and {_I32} {bits}, {part}")
    ok = body.op(f"icmp eq {_I32} {wrong}, zeroinitializer")
    kept = body.op(f"select <32 x i1> {ok}, {_I32} {part}, {_I32} zeroinitializer")
    state.set(op.results[0], Varying(kept))
    state.set(op.results[1], Varying(ok))


# ---- reductions

_REDUCE = {
    WarpReduction.ADD: ("add", "add"),
    WarpReduction.MIN: ("smin", "umin"),
    WarpReduction.MAX: ("smax", "umax"),
    WarpReduction.AND: ("and", "and"),
    WarpReduction.OR: ("or", "or"),
    WarpReduction.XOR: ("xor", "xor"),
}


@emits(WarpReduce)
def warp_reduce(state: Emission, op: WarpReduce) -> None:
    """Emit a vector reduction over the participating lanes; one for each distinct mask."""
    body = state.body
    part, lanes = _taking_part(state, op.mask)
    if not lanes:
        chosen = body.op(f"bitcast i32 {part} to <32 x i1>")
        state.set(op.results[0], Uniform(_reduce(state, op, chosen)))
        return
    type_ = widen(scalar_name(op.value.type), 32)
    name = scalar_name(op.value.type)
    result, left = body.alloca(type_, align=64), body.alloca("i32")
    body.do(f"store {type_} zeroinitializer, ptr {result}")
    body.do(f"store i32 {state.bits(state.mask)}, ptr {left}")
    head, done = body.label("group"), body.label("reduced")
    body.branch(head)
    body.start(head)
    bits = body.op(f"load i32, ptr {left}")
    mask = state.extract(part, "i32", state.first_lane(bits))
    same = body.op(f"icmp eq {_I32} {part}, {state.broadcast(mask, 'i32')}")
    group = state.both(same, state.mask)
    assert group is not None
    chosen = body.op(f"bitcast i32 {mask} to <32 x i1>")
    total = state.broadcast(_reduce(state, op, chosen), name)
    old = body.op(f"load {type_}, ptr {result}")
    new = body.op(f"select <32 x i1> {group}, {type_} {total}, {type_} {old}")
    body.do(f"store {type_} {new}, ptr {result}")
    others = body.op(f"xor i32 {state.bits(group)}, -1")
    rest = body.op(f"and i32 {bits}, {others}")
    body.do(f"store i32 {rest}, ptr {left}")
    more = body.op(f"icmp ne i32 {rest}, 0")
    body.branch_if(more, head, done)
    body.start(done)
    state.set(op.results[0], Varying(body.op(f"load {type_}, ptr {result}")))


def _reduce(state: Emission, op: WarpReduce, chosen: str) -> str:
    """The reduction over the lanes of a mask."""
    type_ = op.value.type
    assert isinstance(type_, DType)
    name = scalar_name(type_)
    vector = widen(name, 32)
    identity = {
        WarpReduction.MIN: str(type_.max),
        WarpReduction.MAX: str(type_.min),
        WarpReduction.AND: "-1",
    }.get(op.kind, "0")
    value = state.body.op(
        f"select <32 x i1> {chosen}, {vector} {state.vector(op.value)}, "
        f"{vector} splat ({name} {identity})"
    )
    stem = _REDUCE[op.kind][0 if type_.is_signed else 1]
    return state.body.call(name, f"llvm.vector.reduce.{stem}.{mangle(name, 32)}", [(vector, value)])
