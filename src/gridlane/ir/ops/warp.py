"""Exchange between the 32 lanes of a warp.

``mask`` (u32) names the participating lanes. A lane that is not active at the op does not
participate, whatever the mask is; cases that CUDA leaves undefined are defined here as written.
"""

from __future__ import annotations

from enum import Enum

from gridlane.core.dtypes import DType, b1, i32, u32
from gridlane.ir.op import Op, Scope, family, operation
from gridlane.ir.types import Type
from gridlane.ir.values import Value


class ShuffleMode(Enum):
    """Where a lane reads from, within its segment of ``width`` lanes. The low 5 bits of the lane,
    delta or mask count, as in PTX.

    IDX: lane ``lane`` mod width of the segment. UP: own lane - delta; out of range below the
    segment. DOWN: own lane + delta; out of range above it. XOR: own lane ^ mask; out of range when
    that is above the own segment's end (a lower segment is in range), as in PTX.
    """

    IDX = "idx"
    UP = "up"
    DOWN = "down"
    XOR = "xor"


@operation("shuffle")
class Shuffle(Op):
    """(value of the source lane, whether it was in range). Out of range the result is the own
    value. From an inactive source lane it is zero, as NVIDIA's GPUs do: CUDA leaves it undefined,
    and programs that reduce with a partial mask add it."""

    mode: ShuffleMode
    mask: Value
    value: Value
    lane: Value
    width: Value
    cross_lane = True
    produces = ("value", b1)

    def check(self, scope: Scope) -> None:
        self.require(self.mask.type is u32, "the mask is a u32")
        self.require(isinstance(self.value.type, DType), f"{self.value.type} is not a scalar")
        self.require(self.lane.type is i32 and self.width.type is i32, "lane and width are i32")


class VoteMode(Enum):
    """ALL: the predicate of every participating lane holds; ANY: one does; EQ: all are equal;
    BALLOT: the u32 with the bit of each participating lane whose predicate holds."""

    ALL = "all"
    ANY = "any"
    EQ = "eq"
    BALLOT = "ballot"


@operation("vote")
class Vote(Op):
    """A vote of the active lanes in ``mask``: b1, or u32 for a ballot."""

    mode: VoteMode
    mask: Value
    predicate: Value
    cross_lane = True

    def result_types(self) -> tuple[Type, ...]:
        return (u32 if self.mode is VoteMode.BALLOT else b1,)

    def check(self, scope: Scope) -> None:
        self.require(self.mask.type is u32, "the mask is a u32")
        self.require(self.predicate.type is b1, "the predicate is a b1")


@family
class Matching(Op):
    """A comparison of ``value`` between the active lanes in ``mask``."""

    mask: Value
    value: Value
    cross_lane = True

    def check(self, scope: Scope) -> None:
        self.require(self.mask.type is u32, "the mask is a u32")
        self.require(isinstance(self.value.type, DType), f"{self.value.type} is not a scalar")


@operation("match_any")
class MatchAny(Matching):
    """The u32 of the active lanes in ``mask`` whose value is bitwise equal to the lane's own."""

    produces = (u32,)


@operation("match_all")
class MatchAll(Matching):
    """(active lanes in ``mask``, True) when their values are bitwise equal, else (0, False)."""

    produces = (u32, b1)


@operation("active_mask")
class ActiveMask(Op):
    """The u32 of the lanes that run this op together."""

    cross_lane = True
    produces = (u32,)


class WarpReduction(Enum):
    """The operation of a warp reduction."""

    ADD = "add"
    MIN = "min"
    MAX = "max"
    AND = "and"
    OR = "or"
    XOR = "xor"


@operation("warp_reduce")
class WarpReduce(Op):
    """The reduction of an integer over the active lanes in ``mask``, returned to each of them."""

    kind: WarpReduction
    mask: Value
    value: Value
    cross_lane = True
    produces = ("value",)

    def check(self, scope: Scope) -> None:
        self.require(self.mask.type is u32, "the mask is a u32")
        integer = isinstance(self.value.type, DType) and self.value.type.is_integer
        self.require(integer, f"{self.value.type} is not an integer")
