"""Reports loops that a device ended before their condition did.

Mesa's llvmpipe, and lavapipe with it, count the iterations of all loops of a thread together, end
each loop after one iteration from the 65,535th on, and report nothing
(LP_MAX_TGSI_LOOP_ITERATIONS). So each loop gets a ticket. A thread whose condition ends the loop
takes the ticket, and leaves at the top of the next iteration. A thread that is behind the loop with
another ticket was ended by the device. Tickets count from a zero that no compiler can fold, and the
test for leaving differs from the test for the right ticket: otherwise a compiler could prove that
every thread has its ticket.
"""

from __future__ import annotations

from gridlane.core.dtypes import b1, i32
from gridlane.ir.builder import Builder
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, control, grid, memory
from gridlane.ir.values import ErrorSite, Function, Module, Region, Value, Var
from gridlane.passes.optimise.unroll import trip_count
from gridlane.passes.structure.repeat_bodies import repeat_bodies

MOST_ROUNDS = 16384
"""Iterations up to which a kernel needs no watch: some of the limit are the device's own."""

MESSAGE = (
    "the device put a thread out of this loop: Mesa's llvmpipe runs 65,535 iterations of loops in "
    "a thread and no more, so results are not complete; let more threads run fewer iterations "
    "each, or use another device, as with GRIDLANE_DEVICE=cpu"
)


def watch_loops(module: Module) -> None:
    """Lower the trip counts of the kernel, which has all loops of the module, and report a thread
    that was put out of a loop nevertheless."""
    kernel = module.kernel
    first = next((op for op in kernel.body.walk() if isinstance(op, control.Loop)), None)
    most = _most_rounds(kernel.body)
    if first is None or (most is not None and most <= MOST_ROUNDS):
        return
    repeat_bodies(module)
    module.errors.append(ErrorSite("RuntimeError", MESSAGE, first.loc))
    _Watch(module, len(module.errors) - 1).rewrite(kernel)


def _most_rounds(region: Region) -> int | None:
    """The most loop iterations that a thread runs; None where that is unknown."""
    total = 0
    for number, op in enumerate(region.ops):
        times = trip_count(op, region.ops[:number]) if isinstance(op, control.Loop) else 1
        if not times:
            return None
        for inner in op.regions():
            most = _most_rounds(inner)
            if most is None:
                return None
            total += times * most
        total += times * isinstance(op, control.Loop | control.ScopeOp)
    return total


class _Watch:
    """Rewrites a kernel.

    Attributes:
        tickets: how many loops the thread has begun.
        put_out: whether the thread was put out of one.
        begun: whether the kernel's text so far has begun a loop.
    """

    def __init__(self, module: Module, code: int) -> None:
        self.builder, self.code = Builder(module, module.kernel), code
        self.tickets = self.builder.variable("tickets", i32)
        self.put_out = self.builder.variable("put_out", b1)
        self.begun = False

    def rewrite(self, kernel: Function) -> None:
        """Watch all loops, and report after the last and wherever the kernel ends."""
        builder, body = self.builder, kernel.body
        with builder.inside(Region()) as watched:
            builder.write(self.tickets, self._zero(grid.Axis.X))
            self.none = self._zero(grid.Axis.Y)
            builder.write(self.put_out, builder.const(False, b1))
            self._ops(body)
            if not builder.terminated:
                self._report()
        kernel.body = watched

    def _zero(self, axis: grid.Axis) -> Value:
        """A 0 that no compiler folds: no grid has 2**31 blocks."""
        blocks = self.builder.value(grid.GridDim(axis))
        return self.builder.value(arith.Shr(blocks, self.builder.const(31, i32)))

    def _region(self, region: Region) -> None:
        with self.builder.inside(Region()) as watched:
            self._ops(region)
        region.ops = watched.ops

    def _ops(self, region: Region) -> None:
        builder = self.builder
        for op in region.ops:
            builder.loc = op.loc
            if isinstance(op, control.Loop):
                self._loop(op)
                continue
            for inner in op.regions():
                self._region(inner)
            if self.begun and isinstance(op, control.Return | control.Raise):
                self._report()
            builder.region.ops.append(op)

    def _loop(self, loop: control.Loop) -> None:
        """Emit a loop between the ops that begin and check its ticket."""
        builder, loc = self.builder, loop.loc
        self.begun = True
        ticket = builder.add(builder.read(self.tickets), builder.const(1, i32))
        builder.write(self.tickets, ticket)
        taken = builder.variable("taken", i32)
        builder.write(taken, self.none)
        for inner in loop.regions():
            self._region(inner)
        self._leave_on_top(loop, taken, ticket)
        builder.loc = loc
        builder.region.ops.append(loop)
        other = builder.value(arith.Ne(builder.read(taken), ticket))
        builder.write(self.put_out, builder.or_(builder.read(self.put_out), other))

    def _leave_on_top(self, loop: control.Loop, taken: Var, ticket: Value) -> None:
        """Take the ticket wherever the loop is left, and leave at the top of the next iteration."""
        builder = self.builder
        with builder.inside(Region()) as top:
            builder.loc = loop.loc
            builder.break_if(builder.value(arith.Ne(builder.read(taken), builder.const(0, i32))))
        _replace_breaks(loop.body, taken, ticket)
        loop.body.ops[:0] = top.ops
        if loop.step.ops:
            with builder.inside(Region()) as step:
                stays = builder.eq(builder.read(taken), builder.const(0, i32))
                builder.emit(control.If(stays, loop.step, Region()))
            loop.step = step

    def _report(self) -> None:
        builder = self.builder
        with builder.if_(builder.read(self.put_out)):
            builder.emit(control.Report(self.code))


def _replace_breaks(region: Region, taken: Var, ticket: Value) -> None:
    ops: list[Op] = []
    for op in region.ops:
        if isinstance(op, control.Break):
            ops += [memory.WriteVar(taken, ticket, loc=op.loc), control.Continue(loc=op.loc)]
            continue
        if not isinstance(op, control.Loop):
            for inner in op.regions():
                _replace_breaks(inner, taken, ticket)
        ops.append(op)
    region.ops = ops
