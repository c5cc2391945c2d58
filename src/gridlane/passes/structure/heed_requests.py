"""Ends loops of a function when the host asks for that.

Nothing stops a thread of a GPU from outside. So the loops of one function, and of those that it
calls, look at a word in memory from time to time. A thread that finds the word changed since its
first look raises an error. What the word was before does not matter to it, so that a request for
one run of the function is none for the next.

Loops that end by themselves soon, by their trip counts, have no look. Where they stand in another
loop, their iterations count among that one's, so that two looks are not far apart.
"""

from __future__ import annotations

from gridlane.core.dtypes import i32, u32, u64
from gridlane.ir.builder import Builder
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, control, grid, memory
from gridlane.ir.types import Space, pointer
from gridlane.ir.values import ErrorSite, Module, Region, Value
from gridlane.passes.optimise.unroll import trip_count
from gridlane.passes.structure.inline import inline_into

BETWEEN = 1 << 12
"""Iterations of a thread between two looks, and the most of loops that need none. A look at the
host's memory takes a microsecond."""


def heed_requests(module: Module, name: str, error: str) -> None:
    """Let the loops of a function look at the word whose address is its first parameter.

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
    """The most loop iterations that a thread runs in a region; None where a loop needs a look."""
    counts = [_iterations_of(op, region.ops[:n]) for n, op in enumerate(region.ops)]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _iterations_of(op: Op, before: list[Op]) -> int | None:
    """The same of an op that follows others."""
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
        count: iterations since the last look.
        seen: the word at the last look; 0 before the first. The word is never 0.
    """

    def __init__(self, module: Module, name: str, error: str) -> None:
        self.module, self.function, self.error = module, module.functions[name], error
        self.builder = Builder(module, self.function)
        self.count = self.builder.variable("iterations", i32)
        self.seen = self.builder.variable("request", u32)

    def rewrite(self) -> None:
        """Give each loop that needs one a look."""
        b, body = self.builder, self.function.body
        b.loc = self.function.loc
        with b.inside(Region()) as start:
            address = b.value(
                memory.FromAddress(
                    b.cast(self.function.params[0].value, u64), pointer(u32, Space.GLOBAL)
                )
            )
            b.write(self.count, b.const(0, i32))
            b.write(self.seen, b.const(0, u32))
        self._region(body, address)
        body.ops[:0] = start.ops

    def _region(self, region: Region, address: Value) -> int:
        """Rewrite what is in a region; the iterations of its loops without a look."""
        quiet = 0
        for number, op in enumerate(list(region.ops)):
            count = _iterations_of(op, region.ops[:number])
            if count is None:
                count = sum(self._region(each, address) for each in op.regions())
                if isinstance(op, control.Loop):
                    self._look(op, address, min(1 + count, BETWEEN))
                    count = 0
            quiet += count
        return quiet

    def _look(self, loop: control.Loop, address: Value, weight: int) -> None:
        """Let a loop look. ``weight``: what an iteration counts."""
        b = self.builder
        b.loc = loop.loc or next((op.loc for op in loop.body.walk() if op.loc), b.loc)
        with b.inside(Region()) as look:
            count = b.add(b.read(self.count), b.const(weight, i32))
            b.write(self.count, count)
            with b.if_(b.value(arith.Ge(count, b.const(BETWEEN, i32)))):
                b.write(self.count, b.const(0, i32))
                # A volatile load would do, but with one in a loop NVIDIA's compiler lets other warps
                # run in each iteration.
                b.emit(grid.Fence(grid.MemoryScope.SYSTEM))
                word, seen = b.load(address), b.read(self.seen)
                first = b.eq(seen, b.const(0, u32))
                with b.if_(b.not_(b.or_(first, b.eq(word, seen)))):
                    self.module.errors.append(ErrorSite("RuntimeError", self.error, b.loc))
                    b.emit(control.Raise(len(self.module.errors) - 1))
                b.write(self.seen, word)
        at = _behind_test(loop.body.ops)
        loop.body.ops[at:at] = look.ops


def _behind_test(ops: list[Op]) -> int:
    """The place behind the test with which an iteration begins, where later passes look for it;
    0 where it begins with something else."""
    at = next((n for n, op in enumerate(ops) if op.REGION_FIELDS), None)
    if at is None:
        return 0
    test = ops[at]
    leaves = isinstance(test, control.If) and [type(op) for op in test.then.ops] == [control.Break]
    return at + 1 if leaves else 0
