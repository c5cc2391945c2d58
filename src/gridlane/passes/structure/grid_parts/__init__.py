"""Split a kernel at its grid barriers, for devices whose blocks need not all run at once.

Each part is a kernel. It begins at the kernel's start or behind a barrier, and ends at the barriers
that control reaches next. Values that live across a barrier are stored in device memory; those that
few ops compute from the parameters and the thread's position are computed again. ``core.grid_plan``
describes how the host drives the parts; docs/design/blocks.md has a diagram.

Threads that end wait for no other thread. If some may end, or pass a barrier and end, while others
continue, each thread has a word that records whether it has ended; later parts branch to their end
at once for such a thread. All parts have one exit, where the threads of a block meet if they store
shared memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gridlane.analysis.meeting import GridUniformity, Meeting, meeting_of
from gridlane.core.dtypes import i32, u32
from gridlane.core.grid_plan import GridPlan
from gridlane.core.source import UNKNOWN
from gridlane.ir.builder import Builder
from gridlane.ir.op import clone_op
from gridlane.ir.ops import control, graph, grid, memory
from gridlane.ir.types import pointer
from gridlane.ir.values import Function, Module, Param, Region, Value, Var
from gridlane.passes.optimise.promote import promote_variables
from gridlane.passes.structure.grid_parts.crossing import Crossing, Live
from gridlane.passes.structure.grid_parts.flatten import Flat, Node
from gridlane.passes.structure.grid_parts.keeping import Keeper, Shared, Words
from gridlane.passes.structure.inline import inline_calls
from gridlane.passes.structure.structurize import structurize


@dataclass(slots=True)
class GridParts:
    """A kernel in parts: a module for each, and how the host drives them."""

    modules: list[Module]
    plan: GridPlan


def split_at_grid_syncs(module: Module, pairs: bool = False) -> GridParts:
    """Split a kernel, whose module changes.

    Args:
        pairs: whether the target has float64 as pairs of float32, and none in memory.

    Raises:
        TargetError: a value that lives across a barrier cannot be stored; located.
    """
    inline_calls(module)
    promote_variables(module)
    kernel = module.kernel
    meeting, shapes = meeting_of(kernel), GridUniformity(kernel)
    flat = Flat(kernel.body)
    crossing = Crossing(kernel, flat, shapes if meeting < Meeting.SOME else None)
    shared, words = Shared(), Words()
    if meeting > Meeting.ALL:
        words.add_whether_ended()
    for live in crossing.live.values():
        words.add(live)
        for op in live.arrays:
            shared.add(module, op)
    count = len(flat.syncs) + 1
    parts = [_Part(module, flat, crossing, shared, words, number) for number in range(count)]
    plan = GridPlan(
        tuple(part.outcomes for part in parts),
        (UNKNOWN, *(op.loc for op in flat.syncs)),
        8 * words.common_count,
        words.sizes.bytes,
        shared.block_bytes,
        shared.dynamic,
        ends_apart=meeting > Meeting.ALL,
    )
    return GridParts([part.module(pairs) for part in parts], plan)


class _Part:
    """One part of a kernel.

    Attributes:
        outcomes: the barriers that its threads may reach; 0 is the end.
        ends_apart: whether threads may end, in it or before, while others continue.
    """

    def __init__(
        self,
        whole: Module,
        flat: Flat,
        crossing: Crossing,
        shared: Shared,
        words: Words,
        number: int,
    ) -> None:
        self.whole, self.flat, self.crossing = whole, flat, crossing
        self.shared, self.words, self.number = shared, words, number
        self.ends_apart = words.ended is not None
        self.entry = flat.sync_goal(number) if number else 0
        self.reached = self._reach()
        ends = {self._outcome(flat.nodes[index]) for index in self.reached}
        self.outcomes = tuple(sorted(ends - {-1}))
        ops = [op for index in self.reached for op in Region(flat.nodes[index].ops).walk()]
        self.written = {op.var for op in ops if isinstance(op, memory.WriteVar)}
        self.values: dict[Value, Value] = {}
        self.variables: dict[Var, Var] = {}

    def _reach(self) -> list[int]:
        """The nodes of the part, the entry first."""
        reached, waiting = dict[int, None](), [self.entry]
        while waiting:
            index = waiting.pop()
            if index in reached:
                continue
            reached[index] = None
            node = self.flat.nodes[index]
            if not node.sync:
                waiting += reversed(node.goals)
        return list(reached)

    def _outcome(self, node: Node) -> int:
        """The barrier that a node ends at; 0 for the kernel's end, -1 for neither."""
        if node.sync:
            return node.sync
        return 0 if isinstance(node.end, control.Return | control.Exit) else -1

    def module(self, pairs: bool) -> Module:
        """The module of the part."""
        old = self.whole.kernel
        name = f"{old.name}_part{self.number}"
        function = Function(name, is_kernel=True, loc=old.loc)
        for param in old.params:
            own = Value(param.value.type, None, param.value.name)
            self.values[param.value] = own
            function.params.append(replace(param, value=own))
        last = max([param.argument for param in old.params], default=-1)
        base = Value(pointer(u32), None, "grid.memory")
        step = Value(u32, None, "grid.step")
        function.params += Param(base, last + 1, align=8), Param(step, last + 2)
        self.variables = {var: Var(var.name, var.type) for var in old.variables}
        function.variables = list(self.variables.values())
        module = Module({name: function}, dict(self.whole.globals), list(self.whole.errors))
        module.stack, module.stack_bytes = self.whole.stack, self.whole.stack_bytes
        module.stack_holds_addresses = self.whole.stack_holds_addresses
        self.b = Builder(module, function)
        self.b.loc = old.loc
        self.base, self.step = base, step
        self.keeper = Keeper(
            self.b,
            base,
            step,
            len(self.flat.syncs) + 1,
            self.words,
            self.shared,
            self._again,
            pairs,
        )
        self._write(module)
        structurize(module)
        promote_variables(module)
        return module

    # --- code

    def _write(self, module: Module) -> None:
        b = self.b
        head = b.region
        if self.number:
            b.loc = self.flat.syncs[self.number - 1].loc
            self._restore(module)
        self._place_again()
        for live in (self.crossing.live[each] for each in self.outcomes if each):
            for op in live.arrays:
                self._again(op.results[0])
        blocks = [self._block(index) for index in self.reached]
        if self.ends_apart and self.number:
            blocks.insert(0, self._pass_ended())
        blocks.append(self._exit(module))
        head.ops.append(graph.Graph(Region([*blocks]), loc=b.loc))

    def _restore(self, module: Module) -> None:
        live = self.crossing.live[self.number]
        for var in (*live.common, *live.kept):
            self.keeper.restore(var, self.variables[var])
        for op in live.arrays:
            if isinstance(op, memory.LocalArray):
                self.keeper.move_local(op, saves=False)
        if self._keeps_shared(self.number):
            self.keeper.move_shared(module, saves=False)
            self.b.emit(grid.Barrier())

    def _keeps_shared(self, number: int) -> bool:
        arrays = self.crossing.live[number].arrays if number else []
        return any(not isinstance(op, memory.LocalArray) for op in arrays)

    def _place_again(self) -> None:
        """Recompute, in front of the part's nodes, the values that they use and others define."""
        for index in self.reached:
            node = self.flat.nodes[index]
            used = [value for op in Region(node.ops).walk() for value in op.operands()]
            if node.condition is not None:
                used.append(node.condition)
            for value in used:
                if value in self.crossing.again or value in self.crossing.hoisted:
                    self._again(value)

    def _again(self, value: Value) -> Value:
        """The part's own copy of a value, computed in front of its nodes."""
        copied_value = self.values.get(value)
        if copied_value is not None:
            return copied_value
        op = value.op
        assert op is not None
        for operand in op.operands():
            self._again(operand)
        copy = clone_op(op, self.values, self.variables)
        self.b.function.body.ops.append(copy)
        return self.values[value]

    def _block(self, index: int) -> graph.Block:
        node, b = self.flat.nodes[index], self.b
        region = Region()
        for op in node.ops:
            if any(result in self.values for result in op.results):
                continue  # computed in front
            region.ops.append(clone_op(op, self.values, self.variables))
        b.loc = node.loc
        with b.inside(region):
            self._end(node)
        return graph.Block(index, region, loc=node.loc)

    def _end(self, node: Node) -> None:
        b, outcome = self.b, self._outcome(node)
        if outcome < 0:
            if node.end is not None:
                b.emit(clone_op(node.end, self.values, self.variables))
            elif node.condition is not None:
                condition = self.values[node.condition]
                b.emit(graph.BranchIf(condition, node.goals[0], node.goals[1]))
            else:
                b.emit(graph.Branch(node.goals[0]))
            return
        if outcome:
            self._save(self.crossing.live[outcome])
        several = len(self.outcomes) > 1
        if self.ends_apart and (several if not outcome else not self.number):
            self.keeper.note_ended(not outcome)
        if several:
            b.store(b.offset(self.base, b.const(outcome, i32)), self.step)
        b.emit(graph.Branch(len(self.flat.nodes)))

    def _save(self, live: Live) -> None:
        before = self.crossing.live[self.number].kept if self.number else []
        for var in (*live.common, *live.kept):
            if var in self.written or var not in before:
                self.keeper.save(var, self.variables[var])
        for op in live.arrays:
            if isinstance(op, memory.LocalArray):
                self.keeper.move_local(op, saves=True)

    def _pass_ended(self) -> graph.Block:
        """Branch to the exit for threads that have ended."""
        b, exit_ = self.b, len(self.flat.nodes)
        with b.inside(Region()) as region:
            b.emit(graph.BranchIf(self.keeper.has_ended(), exit_, self.entry))
        return graph.Block(exit_ + 1, region, loc=b.loc)

    def _exit(self, module: Module) -> graph.Block:
        """The exit, where all threads of the part meet."""
        b = self.b
        with b.inside(Region()) as region:
            if any(self._keeps_shared(each) for each in self.outcomes):
                b.emit(grid.Barrier())
                self.keeper.move_shared(module, saves=True)
            b.emit(control.Return())
        return graph.Block(len(self.flat.nodes), region)
