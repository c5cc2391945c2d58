"""Helpers that passes share: rewrite op by op, count uses, replace values, erase dead ops, label
scopes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from gridlane.ir.builder import Builder
from gridlane.ir.op import Op
from gridlane.ir.ops.control import Leave, ScopeOp
from gridlane.ir.ops.memory import Load, ReadVar
from gridlane.ir.values import Function, Module, Region, Value


def uses(region: Region) -> Counter[Value]:
    """The number of uses of each value as an operand inside a region."""
    return Counter(value for op in region.walk() for value in op.operands())


def replace_values(region: Region, new: dict[Value, Value]) -> None:
    """Replace each operand that is a key of ``new`` by its value; chains are followed."""

    def change(value: Value) -> Value:
        while value in new:
            value = new[value]
        return value

    if not new:
        return
    for op in region.walk():
        op.replace_operands(change)


def removable(op: Op) -> bool:
    """Whether an op may be erased when its results are unused: it is pure or only reads."""
    return op.pure or isinstance(op, ReadVar) or (isinstance(op, Load) and not op.volatile)


def erase_dead(region: Region) -> int:
    """Erase removable ops without uses, and those that only they used; return the number erased.

    ``region`` is a function's body: uses outside it are not seen.
    """
    count = uses(region)
    dead: set[Op] = set()
    # Uses follow definitions, so one backward walk sees all of them.
    for op in reversed(list(region.walk())):
        if removable(op) and not any(count[value] for value in op.results):
            dead.add(op)
            count.subtract(op.operands())
    if dead:
        erase(region, dead)
    return len(dead)


def erase(region: Region, dead: set[Op]) -> None:
    """Remove ops from a region and its nested regions."""
    waiting = [region]
    while waiting:
        inner = waiting.pop()
        inner.ops = [op for op in inner.ops if op not in dead]
        for op in inner.ops:
            waiting += op.regions()


class Rewriter:
    """Rewrites a function op by op, in order; a pass says in ``replaced`` by what."""

    def __init__(self, module: Module, function: Function) -> None:
        self.module, self.function = module, function
        self.builder = Builder(module, function)
        self.values: dict[Value, Value] = {}

    def region(self, region: Region) -> None:
        """Rewrite the ops of a region, and the operands that are results of replaced ops."""
        ops, region.ops = region.ops, []
        with self.builder.inside(region):
            for op in ops:
                op.replace_operands(self.now)
                for inner in op.regions():
                    self.region(inner)
                self.builder.loc = op.loc
                results = self.replaced(op)
                if results is None:
                    region.ops.append(op)
                else:
                    self.values.update(zip(op.results, results, strict=True))

    def replaced(self, op: Op) -> Iterable[Value] | None:
        """Emit what replaces an op, and return the results in place of its own; None keeps it."""
        raise NotImplementedError

    def now(self, value: Value) -> Value:
        """The replacement of a value."""
        return self.values.get(value, value)


class Labels:
    """Labels for scopes that no other scope of a function has."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self._last = -1

    def fresh(self) -> int:
        """One more label."""
        if self._last < 0:
            scopes = (op for op in self.function.body.walk() if isinstance(op, ScopeOp))
            self._last = max([0, *[scope.label for scope in scopes]])
        self._last += 1
        return self._last

    def rename(self, region: Region) -> None:
        """Relabel the scopes of a region that is about to join the function."""
        new: dict[int, int] = {}
        for op in region.walk():
            if isinstance(op, ScopeOp) and op.label:
                new[op.label] = self.fresh()
                op.label = new[op.label]
            elif isinstance(op, Leave) and op.target:
                op.target = new[op.target]
