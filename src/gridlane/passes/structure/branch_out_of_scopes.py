"""Replaces scopes by branches: the ops that a ``leave`` skips move to the other side of its branch.

This is for languages whose compilers are slow on blocks that ``break`` leaves: Mesa's GLSL compiler
takes twice the time for each nested block. Where a side leaves only sometimes, or from inside a
loop, a flag records it, and the ops after it run under a test of the flag.
"""

from __future__ import annotations

from enum import IntEnum

from gridlane.analysis.crossings import is_left_by
from gridlane.core.dtypes import b1
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, control, memory
from gridlane.ir.values import Function, Module, Region, Var
from gridlane.passes.structure.inline import declare_variables


class _Leaves(IntEnum):
    """Whether ops leave the scope; if so, whether their end is reachable."""

    NEVER = 0
    SOMETIMES = 1
    ALWAYS = 2


def branch_out_of_scopes(module: Module) -> None:
    """Replace scopes by branches, in all functions."""
    for function in module.functions.values():
        _replace_scopes(function, function.body)


def _replace_scopes(function: Function, region: Region) -> None:
    """Replace the scopes in a region, inner ones first, so that each ``leave`` refers to the scope
    being replaced or, by its target, to one around it."""
    ops: list[Op] = []
    for op in region.ops:
        for inner in op.regions():
            _replace_scopes(function, inner)
        ops += _Rewriter(function, op).replaced() if isinstance(op, control.ScopeOp) else [op]
    region.ops = ops


class _Rewriter:
    """Replaces one scope.

    Attributes:
        flag: whether the scope is being left.
        is_asked: whether an op reads the flag.
    """

    def __init__(self, function: Function, scope: control.ScopeOp) -> None:
        self.function = function
        self.scope = scope
        self.flag = Var("left", b1)
        self.is_asked = False

    def replaced(self) -> list[Op]:
        """The ops that replace the scope."""
        scope = self.scope
        self._region(scope.body)
        if not self.is_asked:
            self._forget(scope.body)
            return scope.body.ops
        declare_variables(self.function, [self.flag])
        return [*self._write(False), *scope.body.ops]

    def _region(self, region: Region, looped: bool = False) -> _Leaves:
        """Remove the leaves from a region of the scope. ``looped``: the region is in a loop inside
        the scope, which a leave breaks."""
        for number, op in enumerate(region.ops):
            if isinstance(op, control.Leave) and is_left_by(self.scope, op):
                way_out: list[Op] = [control.Break()] if looped else []
                region.ops[number:] = [*self._write(True), *way_out]
                return _Leaves.ALWAYS
            sides = [self._region(side, looped) for side in _sides(op)]
            if isinstance(op, control.Loop):
                sides = [_Leaves.SOMETIMES if self._region(op.body, True) else _Leaves.NEVER]
            if not any(sides):
                continue
            rest = Region(region.ops[number + 1 :])
            del region.ops[number + 1 :]
            if looped:
                return self._go_on_in_loop(region, op, rest)
            return self._go_on(region, op, sides, rest)
        return _Leaves.NEVER

    def _go_on(self, region: Region, op: Op, sides: list[_Leaves], rest: Region) -> _Leaves:
        """Run the ops after an op that may leave only on the paths that stay."""
        if all(side is _Leaves.ALWAYS for side in sides):
            return _Leaves.ALWAYS
        left = self._region(rest)
        if sorted(sides) == [_Leaves.NEVER, _Leaves.ALWAYS]:
            other = _sides(op)[sides.index(_Leaves.NEVER)]
            if not other.ops or not other.ops[-1].terminator:
                other.ops += rest.ops
        elif rest.ops:
            asked = memory.ReadVar(self.flag)
            stays = arith.Not(asked.results[0])
            region.ops += [asked, stays, control.If(stays.results[0], rest, Region())]
            self.is_asked = True
        return _Leaves.ALWAYS if left is _Leaves.ALWAYS else _Leaves.SOMETIMES

    def _go_on_in_loop(self, region: Region, op: Op, rest: Region) -> _Leaves:
        """Break again after a loop nested in a loop; after other ops the break has happened."""
        self._region(rest, looped=True)
        if isinstance(op, control.Loop):
            asked = memory.ReadVar(self.flag)
            region.ops += [asked, control.If(asked.results[0], Region([control.Break()]), Region())]
            self.is_asked = True
        region.ops += rest.ops
        return _Leaves.SOMETIMES

    def _write(self, value: bool) -> list[Op]:
        known = arith.Const(value, b1)
        return [known, memory.WriteVar(self.flag, known.results[0])]

    def _forget(self, region: Region) -> None:
        """Remove the writes of the flag, which nothing reads."""
        written: list[Op] = []
        for op in region.ops:
            for inner in op.regions():
                self._forget(inner)
            if isinstance(op, memory.WriteVar) and op.var is self.flag:
                written += [op, *([op.value.op] if op.value.op else [])]
        region.ops = [op for op in region.ops if op not in written]


def _sides(op: Op) -> list[Region]:
    """The sides of a branch; no other op has any."""
    return [op.then, op.orelse] if isinstance(op, control.If) else []
