"""Run threads that leave a spin loop before the threads that still wait in it.

Devices that run a warp's threads in lockstep finish a loop for all of them before they continue. A
thread that waits for what another thread does behind the loop, such as the release of a lock, then
waits forever. So the ops behind such a loop, up to the next op at which threads meet, move to the
loop's exit. Of the two sides of a branch, the side without such a loop runs first.

In a spin loop the operands of atomics and volatile loads are invariant, and their results end it. A
loop that retries an update with the value that it has just read is no spin loop, and neither is a
loop with a trip count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gridlane.core.dtypes import b1
from gridlane.ir.builder import Builder
from gridlane.ir.op import Op
from gridlane.ir.ops import (
    arith,
    clusters,
    control,
    grid,
    matrix,
    memory,
    memory_products,
    mma_memory,
    products,
    warp,
    warpgroups,
)
from gridlane.ir.ops.atomic import Atomic, AtomicCas, AtomicCasPair
from gridlane.ir.rewriting import Labels, replace_values
from gridlane.ir.values import Module, Region, Value, Var
from gridlane.passes.structure.inline import inline_calls

_OF_BLOCKS = (
    *(grid.Barrier, grid.BarrierReduce, grid.BarrierPart, grid.BarrierArrive, grid.GridSync),
    *(clusters.ClusterArrive, clusters.ClusterWait, clusters.ClusterSync),
)
"""Ops at which threads of a block meet."""
_MEETS = (
    *_OF_BLOCKS,
    grid.SyncWarp,
    warp.Shuffle,
    warp.Vote,
    warp.MatchAny,
    warp.MatchAll,
    warp.ActiveMask,
    warp.WarpReduce,
    matrix.FragmentLoad,
    matrix.FragmentStore,
    matrix.FragmentMma,
    memory_products.WarpProduct,
    mma_memory.MmaLoad,
    mma_memory.MmaStore,
    products.Mma,
    warpgroups.WarpgroupMma,
)
"""Ops at which threads meet, or which depend on the threads that are active."""
_ACTS = (memory.Store, Atomic, AtomicCas, AtomicCasPair, control.Call)
"""Ops that other threads may wait for."""
_EXITS = (control.Break, control.Leave, control.Return, control.Exit)


def release_first(module: Module) -> None:
    """Rewrite a module that has spin loops; its calls are inlined."""
    if not any(is_spin(op) for each in module.functions.values() for op in each.body.walk()):
        return
    inline_calls(module)
    kernel = module.kernel
    labels = Labels(kernel)
    name_scopes(kernel.body, labels)
    _Moves(Builder(module, kernel), labels).region(kernel.body)


def is_spin(loop: Op, of_warps: bool = False) -> bool:
    """Whether an op is a loop that waits for other threads.

    Args:
        of_warps: also a loop in which lanes of a warp meet, which wait together.
    """
    if not isinstance(loop, control.Loop):
        return False
    ops = [*loop.body.walk(), *loop.step.walk()]
    asks = [op for op in ops if _asks(op)]
    meets = _OF_BLOCKS if of_warps else _MEETS
    if not asks or any(isinstance(op, (*meets, control.Call)) for op in ops):
        return False
    changing = _changing(ops)
    if any(value in changing for op in asks for value in op.operands()):
        return False
    return _ends_by(loop, asks) and not any(is_spin(op, of_warps) for op in ops)


def _asks(op: Op) -> bool:
    if isinstance(op, memory.Load):
        return op.volatile
    return isinstance(op, Atomic | AtomicCas | AtomicCasPair)


def _changing(ops: Sequence[Op]) -> set[Value]:
    """The values that may differ between iterations of a loop with these ops."""
    written = {op.var for op in ops if isinstance(op, memory.WriteVar)}
    changing: set[Value] = set()
    for op in ops:
        fixed = op.pure or (isinstance(op, memory.ReadVar) and op.var not in written)
        if not fixed or any(value in changing for value in op.operands()):
            changing.update(op.results)
    return changing


def _ends_by(loop: control.Loop, asks: Sequence[Op]) -> bool:
    """Whether a thread leaves a loop by a condition that depends on results of these ops."""
    known: set[Value | Var] = {value for op in asks for value in op.results}
    while True:
        before = len(known)
        has_exit = _decided(loop.body, known, False) | _decided(loop.step, known, False)
        if has_exit or len(known) == before:
            return has_exit


def _decided(region: Region, known: set[Value | Var], inside: bool) -> bool:
    """Add the values and variables that depend on known ones; return whether an exit does.

    Args:
        inside: whether the execution of the region depends on them.
    """
    has_exit = False
    for op in region.ops:
        depends = inside or any(value in known for value in op.operands())
        if isinstance(op, memory.WriteVar):
            known.update([op.var] if depends else [])
        elif depends or (isinstance(op, memory.ReadVar) and op.var in known):
            known.update(op.results)
        has_exit |= inside and isinstance(op, _EXITS)
        within = inside or (isinstance(op, control.If) and op.condition in known)
        for inner in op.regions():
            has_exit |= _decided(inner, known, within)
    return has_exit


class _Moves:
    def __init__(self, builder: Builder, labels: Labels) -> None:
        self.builder, self.labels = builder, labels

    def region(self, region: Region, step: Region | None = None) -> None:
        """Rewrite a region, nested regions first.

        Args:
            step: of the loop whose body it is.
        """
        _dissolve(region)
        for op in region.ops:
            is_loop = isinstance(op, control.Loop)
            for inner in op.regions():
                self.region(inner, op.step if is_loop and inner is op.body else None)
        later = _used(step) if step is not None else set[Value]()
        self._order(region, later)
        for op in [op for op in region.ops if isinstance(op, control.If)]:
            self._take_out(region, op, later)
        # Order: the last loop first, because it moves to the exit of the one before.
        loops = [op for op in region.ops if isinstance(op, control.Loop) and is_spin(op)]
        for loop in reversed(loops):
            self._move_behind(region, loop, later)

    # --- branches

    def _order(self, region: Region, later: set[Value]) -> None:
        """Of each branch, run the side that waits last."""
        for op in [op for op in region.ops if isinstance(op, control.If) and _waits(op.then)]:
            start = region.ops.index(op) + 1
            behind = region.ops[start:]
            if _ends(op.then) and not threads_meet(behind) and not _results(behind) & later:
                op.orelse.ops += behind
                del region.ops[start:]
            if op.orelse.ops and not _waits(op.orelse):
                other = arith.Not(op.condition, loc=op.loc)
                op.condition = other.result
                op.then, op.orelse = op.orelse, op.then
                region.ops.insert(region.ops.index(op), other)

    def _take_out(self, region: Region, branch: control.If, later: set[Value]) -> None:
        """Move a spin loop at the end of a branch's side behind the branch, so that threads of the
        other side do not wait for the loop: they leave it at once."""
        side = next((each for each in branch.regions() if each.ops and is_spin(each.ops[-1])), None)
        index = region.ops.index(branch)
        if side is None or not self._movable(region, index + 1, later):
            return
        loop = side.ops[-1]
        assert isinstance(loop, control.Loop)
        shared = _results(side.ops[:-1]) & _used(Region([loop]))
        if shared & _used(loop.step):
            return
        del side.ops[-1]
        builder = self.builder
        builder.loc = branch.loc
        enters = builder.variable("enters", b1)
        with builder.inside(Region()) as before:
            holds = branch.condition
            builder.write(enters, holds if side is branch.then else builder.not_(holds))
        with builder.inside(Region()) as top:
            builder.break_if(builder.not_(builder.read(enters)))
            new = {value: self._copied(value, side.ops) for value in shared}
        replace_values(loop.body, new)
        loop.body.ops[:0] = top.ops
        region.ops[index : index + 1] = [*before.ops, branch, loop]

    # --- loops

    def _movable(self, region: Region, start: int, later: set[Value]) -> list[Op]:
        """The ops behind a spin loop that move to its exit; none if none of them affects other
        threads."""
        end = start
        while end < len(region.ops) and _is_movable(region.ops[end]):
            end += 1
        moved = region.ops[start:end]
        acts = any(isinstance(inner, _ACTS) for op in moved for inner in _walk(op))
        return moved if acts and not _results(moved) & later else []

    def _move_behind(self, region: Region, loop: control.Loop, later: set[Value]) -> None:
        """Move the ops behind a loop to its exit."""
        start = region.ops.index(loop) + 1
        moved = self._movable(region, start, later)
        if not moved:
            return
        behind = Region(region.ops[start + len(moved) :])
        kept = _results(moved) & _used(behind)
        builder, label = self.builder, self.labels.fresh()
        builder.loc = loop.loc
        leaves = builder.variable("leaves", b1)
        _to_scope(loop.body, leaves, label)
        with builder.inside(Region()) as reads:
            new = {value: self._copied(value, moved) for value in kept}
        with builder.inside(Region()) as body:
            builder.write(leaves, builder.const(False, b1))
            builder.emit(control.ScopeOp(Region(loop.body.ops), label))
            with builder.if_(builder.read(leaves)):
                builder.region.ops += moved
                if not builder.terminated:
                    builder.emit(control.Break())
        loop.body.ops = body.ops
        replace_values(behind, new)
        region.ops[start:] = [*reads.ops, *behind.ops]

    def _copied(self, value: Value, moved: list[Op]) -> Value:
        """The variable that carries the result of a moved op out of the loop."""
        var = self.builder.variable("behind", value.type)
        assert value.op is not None
        moved.insert(moved.index(value.op) + 1, memory.WriteVar(var, value, loc=value.op.loc))
        return self.builder.read(var)


def _walk(op: Op) -> Iterator[Op]:
    yield op
    for inner in op.regions():
        yield from inner.walk()


def _used(region: Region) -> set[Value]:
    return {value for op in region.walk() for value in op.operands()}


def _results(ops: Sequence[Op]) -> set[Value]:
    return {value for op in ops for value in op.results}


def _waits(region: Region) -> bool:
    return any(is_spin(op) for op in region.walk())


def threads_meet(ops: Sequence[Op]) -> bool:
    """Whether ops make threads meet, or depend on the threads that are active."""
    return any(isinstance(inner, _MEETS) for op in ops for inner in _walk(op))


def _ends(region: Region) -> bool:
    """Whether no thread reaches the end of a region."""
    last = region.ops[-1] if region.ops else None
    if isinstance(last, control.Loop):
        return not _breaks(last.body)
    if isinstance(last, control.If):
        return _ends(last.then) and _ends(last.orelse)
    return last is not None and last.terminator


def _breaks(region: Region) -> bool:
    """Whether the loop whose body a region is has a break."""
    return any(
        isinstance(op, control.Break)
        or (not isinstance(op, control.Loop) and any(map(_breaks, op.regions())))
        for op in region.ops
    )


def _is_movable(op: Op) -> bool:
    """Whether an op has the same meaning inside of another loop, and no threads meet in it."""
    return not threads_meet([op]) and not _escapes(op, False)


def _escapes(op: Op, in_loop: bool) -> bool:
    if isinstance(op, control.Break | control.Continue):
        return not in_loop
    in_loop |= isinstance(op, control.Loop)
    return any(_escapes(inner, in_loop) for region in op.regions() for inner in region.ops)


def _to_scope(region: Region, leaves: Var, label: int) -> None:
    """Replace the breaks and continues of a loop by exits from a scope around its body."""
    ops: list[Op] = []
    for op in region.ops:
        if isinstance(op, control.Break):
            true = arith.Const(True, b1, loc=op.loc)
            ops += [true, memory.WriteVar(leaves, true.result, loc=op.loc)]
        if isinstance(op, control.Break | control.Continue):
            ops.append(control.Leave(label, loc=op.loc))
            continue
        if not isinstance(op, control.Loop):
            for inner in op.regions():
                _to_scope(inner, leaves, label)
        ops.append(op)
    region.ops = ops


def name_scopes(region: Region, labels: Labels, innermost: int = 0) -> None:
    """Label each scope, and set the target of each exit from one."""
    for op in region.ops:
        if isinstance(op, control.Leave):
            op.target = op.target or innermost
        if isinstance(op, control.ScopeOp):
            op.label = op.label or labels.fresh()
        around = op.label if isinstance(op, control.ScopeOp) else innermost
        for inner in op.regions():
            name_scopes(inner, labels, around)


def _dissolve(region: Region) -> None:
    """Replace scopes without an early exit by their ops, for example those of inlined functions."""
    ops: list[Op] = []
    for op in region.ops:
        if not isinstance(op, control.ScopeOp):
            ops.append(op)
            continue
        last = op.body.ops[-1] if op.body.ops else None
        if isinstance(last, control.Leave) and last.target == op.label:
            del op.body.ops[-1]
        exits = [each for each in op.body.walk() if isinstance(each, control.Leave)]
        if any(each.target == op.label for each in exits):
            ops.append(op)
            continue
        _dissolve(op.body)
        ops += op.body.ops
        if ops and ops[-1].terminator:
            break  # the rest is unreachable
    region.ops = ops
