"""Exchange between the lanes of a warp.

The hardware waits for every lane in the mask, as CUDA requires of programs: a mask with a lane that
never arrives is an error of the program, where the IR would take the lane as missing.
"""

from __future__ import annotations

from collections.abc import Callable

from gridlane.codegen.llvm.atomics import as_bits, from_bits
from gridlane.codegen.llvm.gpu.emission import Emission
from gridlane.codegen.llvm.gpu.nvptx.overlay import capability_of, emits
from gridlane.codegen.llvm.text import Body, scalar_name
from gridlane.core.dtypes import DType
from gridlane.ir.op import Op
from gridlane.ir.ops import warp
from gridlane.ir.ops.warp import ShuffleMode, VoteMode, WarpReduction

_PAIR = "{i32, i1}"


def _scalar(type_: object) -> DType:
    assert isinstance(type_, DType)
    return type_


def widened(body: Body, value: str, type_: DType, bits: int) -> str:
    """The bits of a scalar in 32 or 64."""
    if type_.is_bool:
        return body.op(f"zext i1 {value} to i{bits}")
    raw = as_bits(body, value, type_)
    return raw if type_.bits == bits else body.op(f"zext i{type_.bits} {raw} to i{bits}")


def narrowed(body: Body, value: str, type_: DType, bits: int) -> str:
    """The scalar with the given 32 or 64 bits."""
    if type_.is_bool:
        return body.op(f"icmp ne i{bits} {value}, 0")
    if type_.bits != bits:
        value = body.op(f"trunc i{bits} {value} to i{type_.bits}")
    return from_bits(body, value, type_)


def _size(type_: DType) -> int:
    return 64 if type_.size == 8 else 32


@emits(warp.Shuffle)
def shuffle(state: Emission, op: warp.Shuffle) -> None:
    """Emit shfl.sync; two for 64 bits."""
    body, type_ = state.body, _scalar(op.value.type)
    size = _size(type_)
    bits = widened(body, state.name(op.value), type_, size)
    clamp = _clamp(state, op)
    if size == 32:
        received, inside = _shuffled(state, op, bits, clamp)
    else:
        low, inside = _shuffled(state, op, body.op(f"trunc i64 {bits} to i32"), clamp)
        upper = body.op(f"lshr i64 {bits}, 32")
        high, _ = _shuffled(state, op, body.op(f"trunc i64 {upper} to i32"), clamp)
        received = _joined(body, low, high)
    state.set(op.results[0], narrowed(body, received, type_, size))
    state.set(op.results[1], inside)


def _joined(body: Body, low: str, high: str) -> str:
    """Two halves as an i64."""
    wide = [body.op(f"zext i32 {half} to i64") for half in (low, high)]
    return body.op(f"or i64 {wide[0]}, {body.op(f'shl i64 {wide[1]}, 32')}")


def _clamp(state: Emission, op: warp.Shuffle) -> str:
    """The c operand of shfl: the segment mask in bits 8 to 12, the bound in bits 0 to 4."""
    bound = "0" if op.mode is ShuffleMode.UP else "31"
    segment = state.body.op(f"sub i32 32, {state.name(op.width)}")
    shifted = state.body.op(f"shl i32 {segment}, 8")
    return state.body.op(f"or i32 {shifted}, {bound}")


def _shuffled(state: Emission, op: warp.Shuffle, bits: str, clamp: str) -> tuple[str, str]:
    """(the other lane's 32 bits, whether it was in range)."""
    mode = {ShuffleMode.XOR: "bfly"}.get(op.mode, op.mode.value)
    arguments = [("i32", x) for x in (state.name(op.mask), bits, state.name(op.lane), clamp)]
    pair = state.body.call(_PAIR, f"llvm.nvvm.shfl.sync.{mode}.i32p", arguments)
    return (
        state.body.op(f"extractvalue {_PAIR} {pair}, 0"),
        state.body.op(f"extractvalue {_PAIR} {pair}, 1"),
    )


@emits(warp.Vote)
def vote(state: Emission, op: warp.Vote) -> None:
    """Emit vote.sync."""
    stem = {VoteMode.EQ: "uni"}.get(op.mode, op.mode.value)
    type_ = "i32" if op.mode is VoteMode.BALLOT else "i1"
    arguments = [("i32", state.name(op.mask)), ("i1", state.name(op.predicate))]
    state.set(op.results[0], state.body.call(type_, f"llvm.nvvm.vote.{stem}.sync", arguments))


@emits(warp.MatchAny)
def match_any(state: Emission, op: warp.MatchAny) -> None:
    """Emit match.any.sync, on the bits."""
    type_ = _scalar(op.value.type)
    size = _size(type_)
    bits = widened(state.body, state.name(op.value), type_, size)
    arguments = [("i32", state.name(op.mask)), (f"i{size}", bits)]
    matching = state.body.call("i32", f"llvm.nvvm.match.any.sync.i{size}", arguments)
    state.set(op.results[0], matching)


@emits(warp.MatchAll)
def match_all(state: Emission, op: warp.MatchAll) -> None:
    """Emit match.all.sync, on the bits."""
    type_ = _scalar(op.value.type)
    size = _size(type_)
    bits = widened(state.body, state.name(op.value), type_, size)
    arguments = [("i32", state.name(op.mask)), (f"i{size}", bits)]
    pair = state.body.call(_PAIR, f"llvm.nvvm.match.all.sync.i{size}p", arguments)
    for number, result in enumerate(op.results):
        state.set(result, state.body.op(f"extractvalue {_PAIR} {pair}, {number}"))


@emits(warp.ActiveMask)
def active_mask(state: Emission, op: Op) -> None:
    """Emit activemask."""
    state.set(op.results[0], state.body.call("i32", "llvm.nvvm.activemask", []))


# ---- reductions

_COMBINE: dict[WarpReduction, Callable[[str], str]] = {
    WarpReduction.ADD: lambda sign: "add",
    WarpReduction.AND: lambda sign: "and",
    WarpReduction.OR: lambda sign: "or",
    WarpReduction.XOR: lambda sign: "xor",
    WarpReduction.MIN: lambda sign: f"{sign}min",
    WarpReduction.MAX: lambda sign: f"{sign}max",
}


@emits(warp.WarpReduce)
def warp_reduce(state: Emission, op: warp.WarpReduce) -> None:
    """Emit redux.sync of up to 32 bits from 8.0 on; else reduce lane by lane."""
    body, type_ = state.body, _scalar(op.value.type)
    name, sign = scalar_name(type_), "s" if type_.is_signed else "u"
    value = state.name(op.value)
    if type_.bits < 32:
        value = body.op(f"{sign.replace('u', 'z')}ext {name} {value} to i32")
    if type_.bits <= 32 and capability_of(state) >= 80:
        minmax = op.kind in (WarpReduction.MIN, WarpReduction.MAX)
        stem = ("u" if minmax and sign == "u" else "") + op.kind.value
        arguments = [("i32", value), ("i32", state.name(op.mask))]
        reduced = body.call("i32", f"llvm.nvvm.redux.sync.{stem}", arguments)
    else:
        reduced = _lane_by_lane(state, op, value, max(32, type_.bits), sign)
    if type_.bits < 32:
        reduced = body.op(f"trunc i32 {reduced} to {name}")
    state.set(op.results[0], reduced)


def _lane_by_lane(state: Emission, op: warp.WarpReduce, value: str, bits: int, sign: str) -> str:
    """Reduce with every lane of the mask reading each of them in turn, so they stay convergent. A
    mask may name lanes that a short block does not have."""
    body, type_ = state.body, f"i{bits}"
    named = [("i32", state.name(op.mask)), ("i1", "true")]
    mask = body.call("i32", "llvm.nvvm.vote.ballot.sync", named)
    total, left = body.alloca(type_), body.alloca("i32")
    first = _lowest(body, mask)
    body.do(f"store {type_} {_from_lane(state, mask, value, first, bits)}, ptr {total}")
    body.do(f"store i32 {_without_lowest(body, mask)}, ptr {left}")
    head, work, done = body.label("reduce"), body.label("lane"), body.label("reduced")
    body.branch(head)
    body.start(head)
    rest = body.op(f"load i32, ptr {left}")
    more = body.op(f"icmp ne i32 {rest}, 0")
    body.branch_if(more, work, done)
    body.start(work)
    other = _from_lane(state, mask, value, _lowest(body, rest), bits)
    before = body.op(f"load {type_}, ptr {total}")
    word = _COMBINE[op.kind](sign)
    if op.kind in (WarpReduction.MIN, WarpReduction.MAX):
        combined = body.intrinsic(word, type_, 0, [before, other])
    else:
        combined = body.op(f"{word} {type_} {before}, {other}")
    body.do(f"store {type_} {combined}, ptr {total}")
    body.do(f"store i32 {_without_lowest(body, rest)}, ptr {left}")
    body.branch(head)
    body.start(done)
    return body.op(f"load {type_}, ptr {total}")


def _lowest(body: Body, mask: str) -> str:
    return body.call("i32", "llvm.cttz.i32", [("i32", mask), ("i1", "false")])


def _without_lowest(body: Body, mask: str) -> str:
    return body.op(f"and i32 {mask}, {body.op(f'sub i32 {mask}, 1')}")


def _from_lane(state: Emission, mask: str, value: str, lane: str, bits: int) -> str:
    """The value of a lane."""
    body = state.body

    def half(word: str) -> str:
        arguments = [("i32", x) for x in (mask, word, lane, "31")]
        return body.call("i32", "llvm.nvvm.shfl.sync.idx.i32", arguments)

    if bits == 32:
        return half(value)
    upper = body.op(f"lshr i64 {value}, 32")
    return _joined(
        body,
        half(body.op(f"trunc i64 {value} to i32")),
        half(body.op(f"trunc i64 {upper} to i32")),
    )
