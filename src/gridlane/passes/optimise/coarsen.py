"""Thread coarsening: one block does the work of several of the user's blocks.

Where threads are independent, one thread may do the work of several, one in each of as many
blocks. Their loads are then in flight together, which keeps memory busy (Volkov, "Better
performance at lower occupancy", 2010). The threads' ops are interleaved, so a load of one may
precede a store of another: without a race they access different places.
"""

from __future__ import annotations

from gridlane.core.compact import COARSE
from gridlane.core.decisions import decided
from gridlane.core.dtypes import i32
from gridlane.ir.op import Op, clone_op, clone_region
from gridlane.ir.ops import arith, control, grid, memory
from gridlane.ir.ops.clusters import ALONE, ClusterQuery
from gridlane.ir.rewriting import erase
from gridlane.ir.types import Space
from gridlane.ir.values import Function, Module, Region, Value, Var

MOST_OPS = 192
"""The most ops of a kernel that is coarsened. Those that wait for arithmetic gain by one address
and one check for several elements, a fifth at 150 ops; longer ones run out of registers."""

_FREE = (arith.Const, arith.Cast, grid.GridQuery, memory.ReadVar, memory.WriteVar)
_OF_ONE = grid.LaneId, memory.LocalArray, ClusterQuery
"""Ops that have one result, or one array, for each block."""
_FINE = (control.If, memory.Load, memory.Store, memory.ReadVar, memory.WriteVar)


def coarsen_blocks(module: Module) -> None:
    """Make each block do the work of ``COARSE`` blocks along x, if the kernel is suitable;
    ``Module.coarse`` records whether it is."""
    kernel = module.kernel
    body = _without_early_return(kernel.body)
    if body is not None and _is_apart(module, body):
        kernel.body = _Jam(kernel, COARSE).made(body)
        module.coarse = COARSE
        message = f"coarsened: each does {COARSE} in launches of many blocks"
    else:
        message = (
            "one at a time: threads exchange data, end early, have arrays, or the code is long"
        )
    decided(kernel.loc, "blocks", message)


def _without_early_return(body: Region) -> Region | None:
    """The body with ``if c: return`` as a branch around the rest; None where threads end
    elsewhere."""
    for number, op in enumerate(body.ops):
        if not isinstance(op, control.If) or not op.then.ops:
            continue
        if isinstance(op.then.ops[0], control.Return) and not op.orelse.ops:
            rest = _without_early_return(Region(body.ops[number + 1 :]))
            if rest is None:
                return None
            other = arith.Not(op.condition, loc=op.loc)
            guarded = control.If(other.results[0], rest, Region(), loc=op.loc)
            return Region([*body.ops[:number], other, guarded])
    return None if any(op.terminator for op in body.walk()) else body


def _is_apart(module: Module, body: Region) -> bool:
    """Whether the kernel's threads are independent, and the kernel is short and bound by memory."""
    size, blocks = 0, False
    if module.cluster != ALONE:
        return False
    for op in body.walk():
        if op.barrier or op.cross_lane or isinstance(op, _OF_ONE):
            return False
        if not (op.pure or isinstance(op, _FINE)):
            return False
        if isinstance(op, memory.Load | memory.Store) and op.volatile:
            return False
        if isinstance(op, memory.DynamicShared) or _is_shared(module, op):
            return False
        blocks |= _asks(op, grid.BlockIdx)
        size += not isinstance(op, _FREE)
    return blocks and size <= MOST_OPS


def _asks(op: Op, kind: type[grid.GridQuery]) -> bool:
    """Whether an op is a grid query of a kind along x."""
    return isinstance(op, kind) and op.axis is grid.Axis.X


def _is_shared(module: Module, op: Op) -> bool:
    if not isinstance(op, memory.GlobalAddress):
        return False
    return module.globals[op.symbol].space is Space.SHARED


class _Jam:
    """Interleaves the ops of several threads."""

    def __init__(self, kernel: Function, times: int) -> None:
        self.times = times
        self.values: list[dict[Value, Value]] = [{} for _ in range(times)]
        self.variables: list[dict[Var, Var]] = [
            {var: Var(f"{var.name}.b{number}", var.type) for var in kernel.variables}
            for number in range(times)
        ]
        kernel.variables[:] = [copy for copies in self.variables for copy in copies.values()]

    def made(self, body: Region) -> Region:
        """The kernel's body for all threads at once."""
        queries = [op for op in body.walk() if _asks(op, grid.BlockIdx) or _asks(op, grid.GridDim)]
        erase(body, set(queries))
        own, count = grid.BlockIdx(grid.Axis.X), arith.Const(self.times, i32)
        first = arith.Mul(own.results[0], count.results[0])
        blocks = grid.GridDim(grid.Axis.X)
        all_blocks = arith.Mul(blocks.results[0], count.results[0])
        head: list[Op] = [own, count, first, blocks, all_blocks]
        for number in range(self.times):
            step = arith.Const(number, i32)
            index = arith.Add(first.results[0], step.results[0])
            head += [step, index]
            for op in queries:
                which = index if isinstance(op, grid.BlockIdx) else all_blocks
                self.values[number][op.results[0]] = which.results[0]
        return Region([*head, *self._ops(body.ops, True)])

    def _ops(self, ops: list[Op], together: bool) -> list[Op]:
        copies: list[Op] = []
        for op in ops:
            if isinstance(op, control.If) and together:
                copies += self._branch(op)
                continue
            copies += [clone_op(op, *names) for names in zip(self.values, self.variables)]
        return copies

    def _branch(self, op: control.If) -> list[Op]:
        """Emit the first side once where all threads take it, else a branch for each thread."""
        conditions = [values.get(op.condition, op.condition) for values in self.values]
        new_ops: list[Op] = []
        both = conditions[0]
        for condition in conditions[1:]:
            new_ops.append(arith.And(both, condition, loc=op.loc))
            both = new_ops[-1].results[0]
        together = Region(self._ops(op.then.ops, False))
        apart: list[Op] = []
        for number, condition in enumerate(conditions):
            values, variables = self.values[number], self.variables[number]
            then = clone_region(op.then, values, variables)
            orelse = clone_region(op.orelse, values, variables)
            apart.append(control.If(condition, then, orelse, loc=op.loc))
        new_ops.append(control.If(both, together, Region(apart), loc=op.loc))
        return new_ops
