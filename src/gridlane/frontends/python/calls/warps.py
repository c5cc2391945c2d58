"""Exchange between the lanes of a warp."""

from __future__ import annotations

from gridlane.core.dtypes import DType, b1, i32, u32
from gridlane.core.errors import ConstantError, TypingError
from gridlane.frontends.python import stubs
from gridlane.frontends.python.calls.casts import constant_integer
from gridlane.frontends.python.calls.grid import mask_of
from gridlane.frontends.python.calls.registry import handles, register
from gridlane.frontends.python.conversion import integer, scalar, truth
from gridlane.frontends.python.operands import Operand, Scalar, TupleOperand
from gridlane.frontends.python.translator import Translator
from gridlane.ir.ops import arith, grid, warp
from gridlane.ir.values import Value

_SHUFFLES = {
    stubs.shfl_sync: warp.ShuffleMode.IDX,
    stubs.shfl_up_sync: warp.ShuffleMode.UP,
    stubs.shfl_down_sync: warp.ShuffleMode.DOWN,
    stubs.shfl_xor_sync: warp.ShuffleMode.XOR,
}
_SHUFFLE_NUMBERS = tuple(_SHUFFLES.values())
_VOTES = {
    stubs.all_sync: warp.VoteMode.ALL,
    stubs.any_sync: warp.VoteMode.ANY,
    stubs.eq_sync: warp.VoteMode.EQ,
    stubs.ballot_sync: warp.VoteMode.BALLOT,
}
_VOTE_NUMBERS = tuple(_VOTES.values())


def _shuffled(
    t: Translator, mode: warp.ShuffleMode, mask: Operand, value: Operand, lane: Operand
) -> tuple[Scalar, Value]:
    number = scalar(t, value, "a number to exchange")
    where = t.b.cast(integer(t, lane, "a lane").value, i32)
    width = t.b.const(32, i32)
    if number.dtype is b1:
        number = Scalar(t.b.cast(number.value, i32))
    op = t.b.emit(warp.Shuffle(mode, mask_of(t, mask), number.value, where, width))
    return Scalar(op.results[0], number.lo, number.hi), op.results[1]


def _register() -> None:
    for stub, mode in _SHUFFLES.items():

        def shuffle(
            t: Translator,
            mask: Operand,
            value: Operand,
            lane: Operand,
            mode: warp.ShuffleMode = mode,
        ) -> Operand:
            return _shuffled(t, mode, mask, value, lane)[0]

        register((stub,), stub.name, shuffle, stub.params)
    for stub, vote in _VOTES.items():

        def emit(
            t: Translator, mask: Operand, predicate: Operand, vote: warp.VoteMode = vote
        ) -> Operand:
            return _vote(t, vote, mask, predicate)

        register((stub,), stub.name, emit, stub.params)


def _vote(t: Translator, mode: warp.VoteMode, mask: Operand, predicate: Operand) -> Scalar:
    if not isinstance(predicate, Scalar) or predicate.dtype.is_float:
        raise t.fail(
            TypingError, f"Predicate must be an integer or boolean, not {predicate.type_name}"
        )
    return Scalar(t.b.value(warp.Vote(mode, mask_of(t, mask), truth(t, predicate))))


_register()


@handles(stubs.vote_sync_intrinsic)
def _vote_intrinsic(t: Translator, mask: Operand, mode: Operand, predicate: Operand) -> Operand:
    """(u32 ballot, b1 vote); the mode sets one of them."""
    number = constant_integer(t, mode, "the mode of a vote")
    if not 0 <= number < len(_VOTE_NUMBERS):
        raise t.fail(ConstantError, f"the mode of a vote is 0 to 3, not {number}")
    ballot_or_vote = _vote(t, _VOTE_NUMBERS[number], mask, predicate)
    if ballot_or_vote.dtype is b1:
        return TupleOperand((t.number(0, i32), ballot_or_vote))
    return TupleOperand((Scalar(t.b.cast(ballot_or_vote.value, i32)), t.number(False, b1)))


@handles(stubs.shfl_sync_intrinsic)
def _shuffle_intrinsic(
    t: Translator,
    mask: Operand,
    mode: Operand,
    value: Operand,
    mode_offset: Operand,
    clamp: Operand,
) -> Operand:
    number = constant_integer(t, mode, "the mode of a shuffle")
    if not 0 <= number < len(_SHUFFLE_NUMBERS):
        raise t.fail(ConstantError, f"the mode of a shuffle is 0 to 3, not {number}")
    moved, valid = _shuffled(t, _SHUFFLE_NUMBERS[number], mask, value, mode_offset)
    return TupleOperand((moved, Scalar(valid)))


def _match_operand(t: Translator, value: Operand) -> Value:
    """A number of 32 or 64 bits; narrower ones are widened."""
    number = scalar(t, value, "a number to match")
    dtype: DType = number.dtype
    if dtype.bits >= 32:
        return number.value
    if dtype.is_float:
        raise t.fail(TypingError, f"matching takes numbers of 32 or 64 bits, not {dtype}")
    return t.b.cast(number.value, i32)


@handles(stubs.match_any_sync)
def _match_any(t: Translator, mask: Operand, value: Operand) -> Operand:
    return Scalar(t.b.value(warp.MatchAny(mask_of(t, mask), _match_operand(t, value))))


@handles(stubs.match_all_sync)
def _match_all(t: Translator, mask: Operand, value: Operand) -> Operand:
    op = t.b.emit(warp.MatchAll(mask_of(t, mask), _match_operand(t, value)))
    return TupleOperand((Scalar(op.results[0]), Scalar(op.results[1])))


@handles(stubs.activemask)
def _activemask(t: Translator) -> Operand:
    return Scalar(t.b.value(warp.ActiveMask()))


@handles(stubs.lanemask_lt)
def _lanemask_lt(t: Translator) -> Operand:
    """(1 << lane) - 1."""
    b = t.b
    lane = b.value(grid.LaneId())
    bit = b.value(arith.Shl(b.const(1, u32), lane))
    return Scalar(b.sub(bit, b.const(1, u32)))
