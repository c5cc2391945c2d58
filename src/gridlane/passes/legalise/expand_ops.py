"""Writes ops that a target does not emit in others, by each op's own ``expand``."""

from __future__ import annotations

from collections.abc import Set

from gridlane.ir.builder import Builder
from gridlane.ir.op import Op
from gridlane.ir.values import Function, Module, Region, Value


def expand_ops(module: Module, emitted: Set[type[Op]]) -> None:
    """Expand every op that has an expansion and is not in ``emitted``.

    It runs before all other passes, which need not know such ops.
    """
    functions = module.functions.values()
    met = {type(op) for function in functions for op in function.body.walk()}
    if any(cls.expands and cls not in emitted for cls in met):
        for function in functions:
            _Expansion(module, function, emitted).region(function.body)


class _Expansion:
    """Rewrites one function."""

    def __init__(self, module: Module, function: Function, emitted: Set[type[Op]]) -> None:
        self.builder = Builder(module, function)
        self.emitted = emitted
        self.values: dict[Value, Value] = {}

    def region(self, region: Region) -> None:
        """Rewrite the ops of a region, and the operands that were results of such ops."""
        ops, region.ops = region.ops, []
        for op in ops:
            op.replace_operands(self.now)
            for inner in op.regions():
                self.region(inner)
            if op.expands and type(op) not in self.emitted:
                region.ops += self.expanded(op)
            else:
                region.ops.append(op)

    def expanded(self, op: Op) -> list[Op]:
        """The ops that stand for one. An expansion may use ops that are expanded themselves."""
        self.builder.loc = op.loc
        with self.builder.inside(Region()) as region:
            made = op.expand(self.builder)
        self.region(region)
        for old, new in zip(op.results, made, strict=True):
            self.values[old] = self.now(new)
        return region.ops

    def now(self, value: Value) -> Value:
        """What stands for a value."""
        return self.values.get(value, value)
