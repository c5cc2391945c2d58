"""What lanes of a warp exchange, through shared memory, for targets whose warps are not of 32.

A warp is 32 threads in a row. On such targets threads meet at barriers of the block only, so an
exchange is possible where all threads of the block come together, as ``uniformity`` proves; there
every lane that has a thread takes part. Elsewhere it is refused, with the line that sets threads
apart. The lane of a thread is computed of its indices.

Run ``inline_calls`` before. Each exchange is two or three barriers and some words of shared memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gridlane.core.dtypes import DType, b1, i32, u32
from gridlane.core.errors import TargetError
from gridlane.ir.builder import Builder
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, grid, memory, warp
from gridlane.ir.ops.control import Call
from gridlane.ir.values import Function, Module, Region, Value
from gridlane.passes.legalize_math.expression import Expression
from gridlane.passes.legalize_warps.exchange import SYMBOL, Exchange
from gridlane.passes.uniformity import Uniformity

MOST_THREADS = 1024


def legalize_warps(module: Module, most: int = MOST_THREADS) -> None:
    """Replace the warp ops and ``lane_id`` of a kernel for blocks of at most ``most`` threads.

    Raises:
        TargetError: a warp op where the threads of a block may not be together.
    """
    kernel = module.kernel
    ops = list(kernel.body.walk())
    if not any(type(op) in RULES for op in ops):
        return
    if any(isinstance(op, Call) for op in ops):
        raise ValueError("legalize_warps takes a kernel without calls: run inline_calls before")
    apart = Uniformity(kernel).apart
    for op in ops:
        if op.cross_lane and op in apart:
            raise TargetError(
                f"{op.name}: this device lets lanes of a warp exchange values only where all "
                "threads of the block come together; move it out of branches and loops that "
                "differ from thread to thread, and in front of a return of some",
                op.loc,
                (("some of the threads go another way here", apart[op]),),
            )
    _Replacement(module, kernel, most).run()


class _Replacement:
    """Rewrites the kernel."""

    def __init__(self, module: Module, kernel: Function, most: int) -> None:
        self.kernel = kernel
        self.builder = Builder(module, kernel)
        self.values: dict[Value, Value] = {}
        self.body, kernel.body = kernel.body, Region()
        self.builder.region = kernel.body
        self.exchange = Exchange(module, self.builder, most)
        self.writer = self.exchange.writer

    def run(self) -> None:
        self.region(self.body, self.kernel.body)
        self.kernel.body.ops[:0] = self.writer.constants.values()
        if not any(getattr(op, "symbol", "") == SYMBOL for op in self.kernel.body.walk()):
            del self.builder.module.globals[SYMBOL]

    def region(self, old: Region, new: Region) -> None:
        """Rewrite the ops of one region into another."""
        with self.builder.inside(new):
            for op in old.ops:
                self.op(op)

    def op(self, op: Op) -> None:
        op.replace_operands(lambda value: self.values.get(value, value))
        self.builder.loc = op.loc
        rule = RULES.get(type(op))
        if rule is not None:
            for result, made in zip(op.results, rule(self, op), strict=True):
                self.values[result] = made
            return
        self.builder.region.ops.append(op)
        for name in op.REGION_FIELDS:
            inner, new = getattr(op, name), Region()
            setattr(op, name, new)
            self.region(inner, new)

    def wrap(self, value: Value) -> Expression:
        """An operand with operators."""
        return self.writer.wrap(value)

    def members(self, mask: Value) -> Expression:
        """The lanes that take part."""
        return self.exchange.existing & self.wrap(mask)

    # ---- the ops

    def lane_id(self, op: grid.LaneId) -> Sequence[Value]:
        return [self.exchange.lane.value]

    def sync(self, op: grid.SyncWarp) -> Sequence[Value]:
        self.exchange.barrier()
        return []

    def active(self, op: warp.ActiveMask) -> Sequence[Value]:
        return [self.exchange.existing.value]

    def shuffle(self, op: warp.Shuffle) -> Sequence[Value]:
        w, own = self.writer, self.exchange.lane
        by, width = self.wrap(op.lane) & 31, self.wrap(op.width)
        start = own & -width
        source = SOURCES[op.mode](own, start, by, width)
        inside = source < start + width
        if op.mode is not warp.ShuffleMode.XOR:
            inside = inside & (source >= start)
        source = w.select(inside, source, own)
        words: list[Value] = []
        for word in self.exchange.shown(op.value):
            self.exchange.show(word)
            words.append(self.exchange.seen(source).value)
        return [self.exchange.read(words, scalar(op.value)), inside.value]

    def vote(self, op: warp.Vote) -> Sequence[Value]:
        members = self.members(op.mask)
        true = self.exchange.ballot(self.wrap(op.predicate)) & members
        return [VOTES[op.mode](members, true).value]

    def match_any(self, op: warp.MatchAny) -> Sequence[Value]:
        made = self.members(op.mask)
        for word in self.exchange.shown(op.value):
            self.exchange.show(word)
            made = made & self.exchange.equals(self.wrap(word))
        return [made.value]

    def match_all(self, op: warp.MatchAll) -> Sequence[Value]:
        """All are equal when all are equal to the first that takes part."""
        members = self.members(op.mask)
        lowest = (members & -members).most(1)
        first = 31 - lowest.leading_zeros().reread(i32)
        equal = members
        for word in self.exchange.shown(op.value):
            self.exchange.show(word)
            equal = equal & self.exchange.equals(self.exchange.seen(first))
        same = equal.equals(members)
        return [self.writer.select(same, members, 0).value, same.value]

    def reduce(self, op: warp.WarpReduce) -> Sequence[Value]:
        b, own = self.builder, scalar(op.value)
        members, words = self.members(op.mask), self.exchange.shown(op.value)
        columns = [self.gathered(word) for word in words]
        total, some = b.variable("total", own), b.variable("some", b1)
        b.write(total, b.zero(own))
        b.write(some, b.const(False, b1))

        def combine(lane: Expression) -> None:
            shown = [b.load(b.offset(column, lane.value)) for column in columns]
            value = self.exchange.read(shown, own)
            with b.if_(((members >> lane) & 1).differs(0).value):
                both = b.binary(REDUCTIONS[op.kind], b.read(total), value)
                b.write(total, b.select(b.read(some), both, value))
                b.write(some, b.const(True, b1))

        self.exchange.for_lanes(combine)
        return [b.read(total)]

    def gathered(self, word: Value) -> Value:
        """The words of all lanes, in an array of this thread."""
        b = self.builder
        column = b.value(memory.LocalArray(u32, 32))
        self.exchange.show(word)
        self.exchange.for_lanes(
            lambda lane: b.store(b.offset(column, lane.value), self.exchange.seen(lane).value)
        )
        return column


def scalar(value: Value) -> DType:
    """The type of a value that is a scalar."""
    assert isinstance(value.type, DType), value
    return value.type


Source = Callable[[Expression, Expression, Expression, Expression], Expression]

SOURCES: dict[warp.ShuffleMode, Source] = {
    warp.ShuffleMode.IDX: lambda own, start, by, width: start + (by & (width - 1)),
    warp.ShuffleMode.UP: lambda own, start, by, width: own - by,
    warp.ShuffleMode.DOWN: lambda own, start, by, width: own + by,
    warp.ShuffleMode.XOR: lambda own, start, by, width: own ^ by,
}
"""The lane to read from: of the own lane, the first of the segment, the operand, the width."""

VOTES: dict[warp.VoteMode, Callable[[Expression, Expression], Expression]] = {
    warp.VoteMode.ALL: lambda members, true: true.equals(members),
    warp.VoteMode.ANY: lambda members, true: true.differs(0),
    warp.VoteMode.EQ: lambda members, true: true.equals(members) | true.equals(0),
    warp.VoteMode.BALLOT: lambda members, true: true,
}
"""The outcome, of the lanes that take part and of those of them whose predicate holds."""

REDUCTIONS: dict[warp.WarpReduction, type[Op]] = {
    warp.WarpReduction.ADD: arith.Add,
    warp.WarpReduction.MIN: arith.Min,
    warp.WarpReduction.MAX: arith.Max,
    warp.WarpReduction.AND: arith.And,
    warp.WarpReduction.OR: arith.Or,
    warp.WarpReduction.XOR: arith.Xor,
}

RULES: dict[type[Op], Callable[[Any, Any], Sequence[Value]]] = {
    grid.LaneId: _Replacement.lane_id,
    grid.SyncWarp: _Replacement.sync,
    warp.ActiveMask: _Replacement.active,
    warp.Shuffle: _Replacement.shuffle,
    warp.Vote: _Replacement.vote,
    warp.MatchAny: _Replacement.match_any,
    warp.MatchAll: _Replacement.match_all,
    warp.WarpReduce: _Replacement.reduce,
}
