"""Ends loops of a function at a request of the host.

The host cannot stop a thread of a GPU. So the loops of one function, and of those that it calls,
poll a word in memory. A thread raises an error if the word has changed since its first poll. The
word's earlier value does not matter, so a request for one run of the function does not affect the
next.

Threads that meet in a loop, as at a barrier, leave it together to poll: such loops have a count of
their own, which is the same for all of them.

Loops with small trip counts do not poll. Inside another loop, their iterations count among the
outer loop's, so that two polls are not far apart.
"""

from __future__ import annotations

from gridlane.core.dtypes import DType, i32, u32, u64
from gridlane.ir.builder import Builder
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, control, grid, memory
from gridlane.ir.rewriting import Labels
from gridlane.ir.types import Space, pointer
from gridlane.ir.values import Module, Region, Value, Var
from gridlane.passes.optimise.unroll import step_of, trip_count
from gridlane.passes.structure.inline import inline_into
from gridlane.passes.structure.release_first import name_scopes, threads_meet

BETWEEN = 1 << 12
"""Iterations of a thread between two looks, and the most of loops that need none. A look at the
host's memory takes some microseconds."""


def heed_requests(module: Module, name: str, error: str) -> None:
    """Make the loops of a function poll the word whose address is its first parameter.

    Args:
        name: of the function; its calls are inlined.
        error: the message of the RuntimeError.

    Raises:
        TargetError: a function calls itself.
    """
    function = module.functions[name]
    inline_into(module, function)
    if iterations(function.body) is None:
        _Looks(module, name, error).rewrite()


def iterations(region: Region) -> int | None:
    """The most loop iterations that a thread runs in a region; None if a loop needs a poll."""
    counts = [_iterations_of(op, region.ops[:n]) for n, op in enumerate(region.ops)]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _iterations_of(op: Op, before: list[Op]) -> int | None:
    """The most loop iterations of an op that follows others; see ``iterations``."""
    inside = [iterations(each) for each in op.regions()]
    known = [count for count in inside if count is not None]
    if len(known) < len(inside):
        return None
    if not isinstance(op, control.Loop):
        return sum(known)
    count = trip_count(op, before) * (1 + sum(known))
    return count if 0 < count <= BETWEEN else None


class _Looks:
    """Rewrites a function.

    Attributes:
        count: iterations since the last poll, except those of loops in which threads meet.
        seen: the word at the last poll; 0 before the first. The word is never 0.
    """

    def __init__(self, module: Module, name: str, error: str) -> None:
        self.module, self.function, self.error = module, module.functions[name], error
        self.builder, self.labels = Builder(module, self.function), Labels(self.function)
        self.count = self.builder.variable("iterations", i32)
        self.seen = self.builder.variable("request", u32)

    def rewrite(self) -> None:
        """Add a poll to each loop that needs one."""
        b, body = self.builder, self.function.body
        b.loc = self.function.loc
        with b.inside(Region()) as start:
            number = b.cast(self.function.params[0].value, u64)
            self.address = b.value(memory.FromAddress(number, pointer(u32, Space.GLOBAL)))
            b.write(self.count, b.const(0, i32))
            b.write(self.seen, b.const(0, u32))
        name_scopes(body, self.labels)
        self._region(body)
        body.ops[:0] = start.ops

    def _region(self, region: Region, common: Var | None = None) -> int:
        """Rewrite a region; return the iterations of its loops without a poll. ``common``: the
        count of the loops around it in which threads meet."""
        quiet, ops = 0, list(region.ops)
        for number, op in enumerate(ops):
            count = _iterations_of(op, ops[:number])
            if count is None:
                meet = isinstance(op, control.Loop) and threads_meet([op])
                inside = common or (self.builder.variable("common", i32) if meet else None)
                count = sum(self._region(each, inside) for each in op.regions())
                if isinstance(op, control.Loop):
                    own = inside if inside is not None and meet else self.count
                    looks = self._look(op, min(1 + count, BETWEEN - 1), own)
                    if own is not common and meet:
                        self._begin(looks, own)
                    region.ops[number], count = looks, 0
            quiet += count
        return quiet

    def _begin(self, looks: control.ScopeOp, count: Var) -> None:
        """Start a count in front of a loop."""
        b = self.builder
        with b.inside(Region()) as start:
            b.write(count, b.const(0, i32))
        looks.body.ops[:0] = start.ops

    def _look(self, loop: control.Loop, weight: int, count: Var) -> control.ScopeOp:
        """The loop with polls. ``weight``: the iterations that one iteration adds to ``count``;
        fewer than those between two polls.

        It is in another loop, which polls and enters it again: a poll in the loop itself would slow
        each iteration, as threads reconverge behind a branch, and would keep compilers from moving
        memory accesses over it.
        """
        b, label = self.builder, self.labels.fresh()
        b.loc = loop.loc or next((op.loc for op in loop.body.walk() if op.loc), b.loc)
        counted = _counted(loop)
        # Where nothing else counts, the count says whether the loop has ended by itself. Two ways
        # out to different places would cost each iteration more.
        alone = counted is None and not _writes(loop.body, count)
        if not alone:
            _leave_instead_of_break(loop.body, label)
        with b.inside(Region()) as whole, b.loop() as outer:
            if counted is None:
                self._heed(count)
                with b.inside(Region()) as top:
                    self._add(count, b.const(weight, i32))
                    b.break_if(self._is_due(count))
                loop.body.ops[:0] = top.ops
            else:
                self._begin_part(loop, counted, weight, count)
            outer.body.ops.append(loop)
            if alone:
                b.break_if(b.not_(self._is_due(count)))
        return control.ScopeOp(whole, label, loc=b.loc)

    def _begin_part(self, loop: control.Loop, test: control.If, weight: int, count: Var) -> None:
        """End a counted loop after some iterations: its test stays, with another number."""
        b, ge = self.builder, test.condition.op
        assert isinstance(ge, arith.Ge) and isinstance(ge.lhs.op, memory.ReadVar)
        counter, stop = b.read(ge.lhs.op.var), ge.rhs
        kind, most = _type_of(ge.lhs).unsigned, max(BETWEEN // weight, 1)
        with b.if_(b.value(arith.Ge(counter, stop))):
            b.region.ops += test.then.ops
        self._heed(count)
        left = b.cast(b.sub(stop, counter), kind)
        part = b.value(arith.Min(left, b.const(most, kind)))
        self._add(count, b.mul(b.cast(part, i32), b.const(weight, i32)))
        ge.rhs = b.add(counter, b.cast(part, _type_of(counter)))
        test.then.ops = [control.Break(loc=test.loc)]

    def _add(self, count: Var, iterations: Value) -> None:
        self.builder.write(count, self.builder.add(self.builder.read(count), iterations))

    def _is_due(self, count: Var) -> Value:
        b = self.builder
        return b.value(arith.Ge(b.read(count), b.const(BETWEEN, i32)))

    def _heed(self, count: Var) -> None:
        """Poll, if the count requires it."""
        b = self.builder
        with b.if_(self._is_due(count)):
            b.write(count, b.const(0, i32))
            # A volatile load would do, but NVIDIA's compiler lets other warps run in each iteration
            # of a loop with one.
            b.emit(grid.Fence(grid.MemoryScope.SYSTEM))
            word, seen = b.load(self.address), b.read(self.seen)
            first = b.eq(seen, b.const(0, u32))
            b.raise_if(b.not_(b.or_(first, b.eq(word, seen))), "RuntimeError", self.error)
            b.write(self.seen, word)


def _counted(loop: control.Loop) -> control.If | None:
    """The test of a loop that begins with one of a counter, which its steps raise by 1."""
    test = next((op for op in loop.body.ops if op.REGION_FIELDS), None)
    if not isinstance(test, control.If) or test.orelse.ops:
        return None
    ge = test.condition.op
    if [type(op) for op in test.then.ops] != [control.Break] or not isinstance(ge, arith.Ge):
        return None
    if not isinstance(ge.lhs.op, memory.ReadVar):
        return None
    inside = {op for region in loop.regions() for op in region.walk()}
    counter = ge.lhs.op.var
    fits = ge.rhs.op not in inside and _type_of(ge.lhs).is_integer and _type_of(ge.lhs).bits >= 32
    fits = fits and not _writes(loop.body, counter)
    return test if fits and step_of(counter, loop) == 1 else None


def _writes(region: Region, var: Var) -> bool:
    return any(isinstance(op, memory.WriteVar) and op.var is var for op in region.walk())


def _type_of(value: Value) -> DType:
    assert isinstance(value.type, DType)
    return value.type


def _leave_instead_of_break(region: Region, label: int) -> None:
    """Replace the breaks of the loop whose body a region is."""
    for number, op in enumerate(region.ops):
        if isinstance(op, control.Break):
            region.ops[number] = control.Leave(label, loc=op.loc)
        elif not isinstance(op, control.Loop):
            for inner in op.regions():
                _leave_instead_of_break(inner, label)
