"""Forwards the values written to variables to the reads that must see them, and drops unused ops.

The variables that remain afterwards are loop-carried or joined by branches, so that the shape
analysis sees all other values as plain ones.
"""

from __future__ import annotations

from collections.abc import Container

from gridlane.ir.op import Op
from gridlane.ir.ops import control, memory
from gridlane.ir.values import Function, Module, Region, Value, Var


def promote_variables(module: Module) -> None:
    """Forward values, then remove unused variables and dead pure ops, in every function."""
    library = {name for name, function in module.functions.items() if function.is_library}
    for function in module.functions.values():
        written: dict[Region, set[Var]] = {}
        _collect(function.body, written)
        _Forward(written).region(function.body, {})
        _drop_unread(function)
        drop_dead(function.body, library)


def _collect(region: Region, written: dict[Region, set[Var]]) -> set[Var]:
    """The variables that each region writes, nested ones included."""
    variables: set[Var] = set()
    for op in region.ops:
        if isinstance(op, memory.WriteVar):
            variables.add(op.var)
        for inner in op.regions():
            variables |= _collect(inner, written)
    written[region] = variables
    return variables


class _Forward:
    """Replaces reads by the value that reaches them."""

    def __init__(self, written: dict[Region, set[Var]]) -> None:
        self.written = written
        self.replaced: dict[Value, Value] = {}

    def region(self, region: Region, known: dict[Var, Value]) -> None:
        """Forward inside a region, given each variable's value at its start."""
        known = dict(known)
        kept: list[Op] = []
        for op in region.ops:
            op.replace_operands(lambda value: self.replaced.get(value, value))
            if isinstance(op, memory.ReadVar) and op.var in known:
                self.replaced[op.results[0]] = known[op.var]
                continue
            kept.append(op)
            if isinstance(op, memory.ReadVar):
                known[op.var] = op.results[0]
            elif isinstance(op, memory.WriteVar):
                known[op.var] = op.value
            elif op.REGION_FIELDS:
                self.nested(op, known)
        region.ops = kept

    def nested(self, op: Op, known: dict[Var, Value]) -> None:
        """Forward into the regions of an op and forget the variables that they change."""
        changed: set[Var] = set()
        for inner in op.regions():
            changed |= self.written[inner]
        if isinstance(op, control.Loop):
            known_inside = {var: value for var, value in known.items() if var not in changed}
        else:
            known_inside = known
        for inner in op.regions():
            self.region(inner, known_inside)
        for var in changed:
            known.pop(var, None)


def _drop_unread(function: Function) -> None:
    """Remove the writes of variables that nothing reads, and the variables."""
    read = {op.var for op in function.body.walk() if isinstance(op, memory.ReadVar)}
    _drop_writes(function.body, read)
    function.variables = [var for var in function.variables if var in read]


def _drop_writes(region: Region, read: set[Var]) -> None:
    region.ops = [
        op for op in region.ops if not (isinstance(op, memory.WriteVar) and op.var not in read)
    ]
    for op in region.ops:
        for inner in op.regions():
            _drop_writes(inner, read)


def drop_dead(region: Region, library: Container[str] = ()) -> None:
    """Remove pure ops whose results are unused, and unused reads, empty branches and calls of
    ``library`` functions."""
    _sweep(region, set(), library)


def _sweep(region: Region, used: set[Value], library: Container[str]) -> None:
    """Remove dead ops backwards; ``used`` collects the live values."""
    kept: list[Op] = []
    for op in reversed(region.ops):
        if op.REGION_FIELDS:
            for inner in reversed(list(op.regions())):
                _sweep(inner, used, library)
            if isinstance(op, control.If) and not op.then.ops and not op.orelse.ops:
                continue
        elif _removable(op, library) and used.isdisjoint(op.results):
            continue
        used.update(op.operands())
        kept.append(op)
    kept.reverse()
    region.ops = kept


def _removable(op: Op, library: Container[str]) -> bool:
    if isinstance(op, control.Call):
        return op.callee in library
    return op.pure or isinstance(op, memory.ReadVar)
