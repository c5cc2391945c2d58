"""Rewrites a kernel's control flow so that all threads of a block follow it together.

Ops between two convergent ops form a run. A run is under a condition, and keeps in variables the
values that later ops use. Where a run ends an iteration, a loop, a scope or the thread, the active
variables of the levels that end become False.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from gridlane.analysis.crossings import is_left_by
from gridlane.core.dtypes import b1, i32
from gridlane.core.frozen import frozen
from gridlane.ir.builder import Builder
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, control, grid, memory, warp
from gridlane.ir.rewriting import replace_values, uses
from gridlane.ir.values import Module, Region, Value, Var
from gridlane.passes.legalise.warps_by_blocks.lanes import Lanes


@frozen
class Level:
    """A level of control flow around a thread. ``op`` is a loop, a scope, or None for the kernel,
    an iteration of a loop and a side of a branch. ``active`` is True for the active threads."""

    op: Op | None
    active: Var


def meets(op: Op) -> bool:
    """Whether an op, or an op in its regions, is a barrier or cross-lane."""
    if op.barrier or op.cross_lane:
        return True
    return any(meets(inner) for region in op.regions() for inner in region.ops)


def _together(ops: Iterable[Op]) -> Iterator[Sequence[Op]]:
    """Each op; adjacent shuffles of one value together, where none needs another's result."""
    group: list[warp.Shuffle] = []
    new_values: set[Value] = set()
    for op in ops:
        is_shuffle = isinstance(op, warp.Shuffle)
        fits = is_shuffle and bool(group) and op.value is group[0].value
        if group and not (fits and new_values.isdisjoint(op.operands())):
            yield group
            group, new_values = [], set()
        if is_shuffle:
            group.append(op)
            new_values.update(op.results)
        else:
            yield (op,)
    if group:
        yield group


class Uniform:
    """Rewrites the kernel of a module."""

    def __init__(self, module: Module) -> None:
        kernel = module.kernel
        self.body, kernel.body = kernel.body, Region()
        self.builder = Builder(module, kernel)
        self.lanes = Lanes(self.builder)
        self.uses = uses(self.body)
        self.levels: list[Level] = []
        self.kept: dict[Value, Var] = {}
        """The variables in which runs keep values for other ops."""
        self.values: dict[Value, Value] = {}
        """The replacement of each result of a warp's op."""

    def rewrite(self) -> None:
        """Write the kernel's new body."""
        b = self.builder
        self.lanes.prepare(self.body)
        self._enter(None, b.const(True, b1))
        self._region(self.body)

    # ---- levels

    def _enter(self, op: Op | None, condition: Value) -> None:
        active = self.builder.variable("active", b1)
        self.builder.write(active, condition)
        self.levels.append(Level(op, active))

    def _active(self) -> Value:
        return self.builder.read(self.levels[-1].active)

    # ---- regions

    def _region(self, region: Region) -> None:
        run: list[Op] = []
        for group in _together(region.ops):
            op = group[0]
            if not meets(op):
                run.append(op)
                continue
            self._run(run)
            run = []
            self.builder.loc = op.loc
            shuffles = [each for each in group if isinstance(each, warp.Shuffle)]
            if shuffles:
                self._shuffles(shuffles)
            else:
                self._meeting(op)
        self._run(run)

    def _meeting(self, op: Op) -> None:
        """Rewrite an op in which threads meet."""
        b = self.builder
        if isinstance(op, control.If):
            condition = self._here(op.condition)
            for side, region in ((condition, op.then), (b.not_(condition), op.orelse)):
                self._enter(None, b.and_(self._active(), side))
                self._region(region)
                self.levels.pop()
        elif isinstance(op, control.Loop):
            self._loop(op)
        elif isinstance(op, control.ScopeOp):
            self._enter(op, self._active())
            self._region(op.body)
            self.levels.pop()
        elif isinstance(op, grid.Barrier):
            b.emit(grid.Barrier())
        elif isinstance(op, grid.BarrierReduce):
            self.values[op.results[0]] = self._counted(op)
        else:
            operands = [self._here(value) for value in op.operands()]
            results = self.lanes.exchange(op, operands, self._active())
            self.values.update(zip(op.results, results, strict=True))

    def _shuffles(self, ops: Sequence[warp.Shuffle]) -> None:
        """Rewrite shuffles of one value, in one exchange."""
        operands = [[self._here(value) for value in op.operands()] for op in ops]
        shuffled = self.lanes.shuffles(ops, operands, self._active())
        for op, result in zip(ops, shuffled, strict=True):
            self.values.update(zip(op.results, result, strict=True))

    def _counted(self, op: grid.BarrierReduce) -> Value:
        """A barrier's reduction over the active threads."""
        b, predicate = self.builder, self._here(op.predicate)
        if op.kind is grid.Reduction.ALL:
            counts = b.or_(predicate, b.not_(self._active()))
        else:
            counts = b.and_(predicate, self._active())
        return b.value(grid.BarrierReduce(op.kind, counts))

    def _loop(self, op: control.Loop) -> None:
        """Iterate until no thread is active in the loop."""
        b = self.builder
        self._enter(op, self._active())
        with b.loop():
            some = b.value(grid.BarrierReduce(grid.Reduction.ANY, self._active()))
            b.break_if(b.eq(some, b.const(0, i32)))
            self._enter(None, self._active())
            self._region(op.body)
            self.levels.pop()
            self._region(op.step)
        self.levels.pop()

    # ---- runs

    def _here(self, value: Value) -> Value:
        """A value in uniform control flow."""
        if value in self.kept:
            return self.builder.read(self.kept[value])
        return self.values.get(value, value)

    def _run(self, run: list[Op]) -> None:
        """Emit ops without a convergent one, for the active threads."""
        rest = self._without_condition(run)
        if not rest:
            return
        b, inside = self.builder, uses(Region(rest))
        kept = [v for op in rest for v in op.results if self.uses[v] > inside[v]]
        with b.if_(self._active()):
            taken = {value: self._here(value) for value in inside if self._is_elsewhere(value)}
            region = Region(rest)
            replace_values(region, taken)
            self._keep(region, kept)
            exits = _Exits(self)
            if exits.rewrite(region):
                if exits.gone is not None:
                    b.write(exits.gone, b.const(False, b1))
                b.emit(control.ScopeOp(region))
            else:
                b.region.ops += region.ops

    def _is_elsewhere(self, value: Value) -> bool:
        return value in self.kept or value in self.values

    def _without_condition(self, run: list[Op]) -> list[Op]:
        """Hoist pure ops that need nothing of the run out of its condition; return the rest."""
        rest: list[Op] = []
        own: set[Value] = set()
        for op in run:
            if op.pure and not own.intersection(op.operands()):
                op.replace_operands(self._here)
                self.builder.region.ops.append(op)
            else:
                rest.append(op)
                own.update(op.results)
        return rest

    def _keep(self, region: Region, values: list[Value]) -> None:
        """Write values to variables after the ops that define them."""
        for value in values:
            self.kept[value] = self.builder.variable("kept", value.type)
        ops: list[Op] = []
        for op in region.ops:
            ops.append(op)
            ops += [
                memory.WriteVar(self.kept[value], value, loc=op.loc)
                for value in op.results
                if value in self.kept
            ]
        region.ops = ops


Scopes: TypeAlias = tuple[control.ScopeOp, ...]


class _Exits:
    """Replaces the exits of a run by a leave of a scope around it."""

    def __init__(self, uniform: Uniform) -> None:
        self.uniform = uniform
        self.gone: Var | None = None

    def rewrite(self, region: Region) -> bool:
        """Replace the exits in a region; return whether it has any."""
        return self._region(region, False, ())

    def _region(self, region: Region, in_loop: bool, scopes: Scopes) -> bool:
        """Replace exits. ``in_loop``: in one of the run's own, whose exits stay, as do those of
        ``scopes``, the run's own around the region."""
        ops: list[Op] = []
        has_exit = False
        for op in region.ops:
            ended = self._ended(op, in_loop, scopes)
            if ended is not None:
                ops += self._leave(ended, op)
                has_exit = True
                continue
            ops.append(op)
            has_exit |= self._inside(op, in_loop, scopes, ops)
        region.ops = ops
        return has_exit

    def _inside(self, op: Op, in_loop: bool, scopes: Scopes, ops: list[Op]) -> bool:
        """Replace exits in an op's regions; the ops that follow the op are appended to ``ops``."""
        has_exit = False
        # The loop of a break in a scope is in that scope as well.
        in_loop = isinstance(op, control.Loop) or (in_loop and not isinstance(op, control.ScopeOp))
        scopes = (*scopes, op) if isinstance(op, control.ScopeOp) else scopes
        for inner in op.regions():
            has_exit |= self._region(inner, in_loop, scopes)
        if has_exit and isinstance(op, control.ScopeOp):
            assert self.gone is not None
            read = memory.ReadVar(self.gone, loc=op.loc)
            leave = Region([control.Leave(loc=op.loc)])
            ops += [read, control.If(read.result, leave, Region(), loc=op.loc)]
        return has_exit

    def _ended(self, op: Op, in_loop: bool, scopes: Scopes) -> list[Level] | None:
        """The levels that a terminator ends, or None where it stays."""
        levels = self.uniform.levels
        if isinstance(op, control.Return | control.Raise):
            return levels
        if isinstance(op, control.Break | control.Continue) and not in_loop:
            innermost_loop = max(
                n for n, level in enumerate(levels) if isinstance(level.op, control.Loop)
            )
            return levels[innermost_loop + isinstance(op, control.Continue) :]
        if isinstance(op, control.Leave) and not any(is_left_by(scope, op) for scope in scopes):
            around = [(n, level.op) for n, level in enumerate(levels)]
            left = [n for n, o in around if isinstance(o, control.ScopeOp) and is_left_by(o, op)]
            return levels[max(left) :]
        return None

    def _leave(self, ended: list[Level], op: Op) -> list[Op]:
        if self.gone is None:
            self.gone = self.uniform.builder.variable("gone", b1)
        false, true = arith.Const(False, b1), arith.Const(True, b1)
        writes = [memory.WriteVar(level.active, false.result) for level in ended]
        new_ops: list[Op] = [false, true, *writes, memory.WriteVar(self.gone, true.result)]
        if isinstance(op, control.Raise):
            new_ops.append(control.Report(op.code))
        new_ops.append(control.Leave())
        for item in new_ops:
            item.loc = op.loc
        return new_ops
