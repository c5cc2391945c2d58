"""Values that conditions and loops carry: variables of the IR for the names that they assign."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gridlane.frontends.triton.context import builder
from gridlane.frontends.triton.values import tensor, tensors_in, with_tensors
from gridlane.ir.ops.memory import ReadVar, WriteVar
from gridlane.ir.values import Op, Region, Value, Var


def assigned_names(statements: Iterable[ast.AST]) -> set[str]:
    """The names that statements bind, those inside of them included."""
    names: set[str] = set()
    waiting: list[ast.AST] = [*statements]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ListComp, ast.GeneratorExp)):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        waiting += ast.iter_child_nodes(node)
    return names


class Carried:
    """A name that a loop carries: a variable for each tensor of its value."""

    def __init__(self, name: str, value: Any) -> None:
        self.name, self.first = name, value
        b = builder()
        self.variables = [b.variable(name, each.handle.type) for each in tensors_in(value)]
        self.starts = [each.handle for each in tensors_in(value)]
        self.inside: list[Value] = []

    def write(self, value: Any) -> None:
        """Set the variables; what they have already is not written."""
        b = builder()
        for var, each in zip(self.variables, tensors_in(value), strict=True):
            if not _has(each.handle, var):
                b.write(var, each.handle)

    def read(self) -> Any:
        """The value of the variables at this point."""
        b = builder()
        handles = [b.read(var) for var in self.variables]
        return with_tensors(self.first, _like(self.first, handles))

    def enter(self) -> Any:
        """The value at the start of an iteration."""
        value = self.read()
        self.inside = [each.handle for each in tensors_in(value)]
        return value

    def leave(self, dropped: set[Var]) -> Any:
        """The value behind the loop; ``dropped`` variables have their first one."""
        b = builder()
        handles = [
            start if var in dropped else b.read(var)
            for var, start in zip(self.variables, self.starts, strict=True)
        ]
        return with_tensors(self.first, _like(self.first, handles))


def _has(value: Value, var: Var) -> bool:
    return isinstance(value.op, ReadVar) and value.op.var is var


def _like(value: Any, handles: Sequence[Value]) -> Iterator[tensor]:
    for each, handle in zip(tensors_in(value), handles, strict=True):
        yield tensor(handle, each.type)


def drop_unchanged(carried: Iterable[Carried], loop: Op, variables: list[Var]) -> set[Var]:
    """Replace variables that a loop does not write by the values that they start with."""
    written = {
        op.var for region in loop.regions() for op in region.walk() if isinstance(op, WriteVar)
    }
    dropped: set[Var] = set()
    replaced: dict[Value, Value] = {}
    for each in carried:
        for var, start, inside in zip(each.variables, each.starts, each.inside, strict=True):
            if var not in written:
                dropped.add(var)
                replaced[inside] = start
    if not dropped:
        return dropped
    for region in loop.regions():
        for op in region.walk():
            op.replace_operands(lambda value: replaced.get(value, value))
        _erase(region, dropped)
    _erase_here(builder().region, dropped)
    variables[:] = [var for var in variables if var not in dropped]
    return dropped


def _erase(region: Region, dropped: set[Var]) -> None:
    _erase_here(region, dropped)
    for op in region.ops:
        for inner in op.regions():
            _erase(inner, dropped)


def _erase_here(region: Region, dropped: set[Var]) -> None:
    region.ops = [
        op for op in region.ops if not (isinstance(op, (ReadVar, WriteVar)) and op.var in dropped)
    ]
