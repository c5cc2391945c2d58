"""Replaces calls by the callee's body: all calls, or all but those of library functions.

In a kernel an ``exit`` is a return, so no ``exit`` is left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from gridlane.core.dtypes import DType
from gridlane.core.errors import TargetError
from gridlane.core.source import Loc, is_own, users
from gridlane.ir.op import Op, clone_region
from gridlane.ir.ops import arith, control, matrix, memory
from gridlane.ir.ops.tiles import TileMap, TileReduce, TileScan
from gridlane.ir.rewriting import Labels
from gridlane.ir.types import FragmentType, StructType, Type, VectorType
from gridlane.ir.values import Function, Module, Region, Value, Var

Which: TypeAlias = Callable[[control.Call], bool]
"""Whether a call is to be inlined."""

_FOR_ELEMENTS = TileMap, TileReduce, TileScan


def inline_calls(module: Module) -> None:
    """Inline all calls; afterwards the kernel is the only function, beside those that tile ops
    call for elements.

    Raises:
        TargetError: a device function calls itself.
    """
    done: set[str] = set()
    kernel = module.kernel
    needed = {kernel.name: kernel}
    waiting = [kernel]
    while waiting:
        function = waiting.pop()
        _inline_into(module, function, (), done, lambda call: True)
        others = len(needed) < len(module.functions)
        for op in function.body.walk() if others else ():
            if isinstance(op, _FOR_ELEMENTS) and op.callee not in needed:
                needed[op.callee] = module.functions[op.callee]
                waiting.append(needed[op.callee])
    _return_instead_of_exit(kernel.body)
    module.functions = needed


def inline_into(module: Module, function: Function, which: Which = lambda call: True) -> None:
    """Inline the calls of a function, and those in what is inlined: all, or those of ``which``.

    Raises:
        TargetError: a device function calls itself.
    """
    _inline_into(module, function, (), set(), which)


def inline_others(module: Module) -> None:
    """Inline all calls but those of library functions; afterwards the module has the kernel and
    the library functions that it needs.

    Raises:
        TargetError: a device function calls itself.
    """
    kernel = module.kernel
    staying = _Staying(module)
    done: set[str] = set()
    needed = {kernel.name: kernel}
    waiting = [kernel]
    while waiting:
        function = waiting.pop()
        _inline_into(module, function, (), done, lambda call: not staying.stays(call.callee))
        for callee in dict.fromkeys(call.callee for call in _calls(function)):
            if callee not in needed:
                needed[callee] = module.functions[callee]
                waiting.append(needed[callee])
    _return_instead_of_exit(kernel.body)
    module.functions = needed


def _return_instead_of_exit(body: Region) -> None:
    """Replace the exits of a kernel."""
    if not any(isinstance(op, control.Exit) for op in body.walk()):
        return
    waiting = [body]
    while waiting:
        region = waiting.pop()
        if region.ops and isinstance(region.ops[-1], control.Exit):
            region.ops[-1] = _at(control.Return(), region.ops[-1].loc)
        for op in region.ops:
            waiting += op.regions()


class _Staying:
    """Decides which functions are not inlined."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.known: dict[str, bool] = {}

    def stays(self, name: str) -> bool:
        """Whether calls of a function are kept."""
        if name not in self.known:
            self.known[name] = False  # for recursion, which inlining refuses
            function = self.module.functions[name]
            self.known[name] = function.is_library and not (
                self.module.gathers_loops and self.loops(function)
            )
        return self.known[name]

    def loops(self, function: Function) -> bool:
        """Whether a function has loops, or calls a function with loops that is inlined into it."""
        if any(isinstance(op, control.Loop) for op in function.body.walk()):
            return True
        return any(not self.stays(call.callee) for call in _calls(function))


def _calls(function: Function) -> list[control.Call]:
    return [op for op in function.body.walk() if isinstance(op, control.Call)]


def _inline_into(
    module: Module, function: Function, active: tuple[str, ...], done: set[str], which: Which
) -> None:
    """Inline the calls of one function, callees first."""
    if function.name in done:
        return
    calls = [call for call in _calls(function) if which(call)]
    for call in calls:
        if call.callee == function.name or call.callee in active:
            raise TargetError(
                f"device function {call.callee} calls itself; every call is inlined, so write the "
                "recursion as a loop",
                call.loc,
            )
        callee = module.functions[call.callee]
        _inline_into(module, callee, (*active, function.name), done, which)
    if calls:
        _Inliner(module, function, which).rewrite(function.body)
    done.add(function.name)


class _Inliner:
    """Replaces the calls of one function, the caller."""

    def __init__(self, module: Module, caller: Function, which: Which) -> None:
        self.module = module
        self.caller = caller
        self.which = which
        self.labels = Labels(caller)
        self.values: dict[Value, Value] = {}

    def rewrite(self, region: Region) -> None:
        """Replace the calls in a region and the uses of their results."""
        ops: list[Op] = []
        values = self.values
        for op in region.ops:
            op.replace_operands(lambda value: values.get(value, value))
            for inner in op.regions():
                self.rewrite(inner)
            if not isinstance(op, control.Call) or not self.which(op):
                ops.append(op)
                continue
            body, results = self.expand(self.module.functions[op.callee], op)
            ops += body
            for old, new in zip(op.results, results, strict=True):
                new.name = new.name or old.name
            values.update(zip(op.results, results, strict=True))
        region.ops = ops

    def expand(self, callee: Function, call: control.Call) -> tuple[list[Op], list[Value]]:
        """The ops that replace a call, and the values of its results."""
        mapped = {p.value: v for p, v in zip(callee.params, call.arguments, strict=True)}
        renamed = {var: Var(f"{callee.name}.{var.name}", var.type) for var in callee.variables}
        declare_variables(self.caller, list(renamed.values()))
        ops: list[Op] = []
        for var in renamed.values():
            _write(ops, var, zero_of(ops, var.type, call.loc), call.loc)
        body = clone_region(callee.body, mapped, renamed)
        _relocate(body, call.loc)
        self.relocate_errors(body, call.loc)
        self.labels.rename(body)
        returns = [op for op in body.walk() if isinstance(op, control.Return)]
        ends = bool(body.ops) and body.ops[-1].terminator
        if not returns and not ends and not callee.results:
            return ops + body.ops, []
        if len(returns) == 1 and body.ops[-1] is returns[0]:
            return ops + body.ops[:-1], list(returns[0].values)
        outputs = [Var(f"{callee.name}.result", type_) for type_ in callee.results]
        declare_variables(self.caller, outputs)
        scope = control.ScopeOp(body, loc=call.loc)
        self.leave_instead_of_return(scope, outputs)
        ops.append(scope)
        reads = [_at(memory.ReadVar(var), call.loc) for var in outputs]
        return ops + reads, [read.results[0] for read in reads]

    def relocate_errors(self, body: Region, caller: Loc) -> None:
        """Replace the errors whose place is in gridlane's own headers: the call is the user's."""
        errors, moved = self.module.errors, dict[int, int]()
        for op in body.walk():
            if not isinstance(op, control.Raise | control.Report):
                continue
            site = errors[op.code]
            if not is_own(users(site.loc)):
                continue
            if op.code not in moved:
                moved[op.code] = len(errors)
                errors.append(replace(site, loc=site.loc.inlined_at(caller)))
            op.code = moved[op.code]

    def leave_instead_of_return(self, scope: control.ScopeOp, outputs: list[Var]) -> None:
        """Replace the returns in a scope by writes of the outputs and a leave of the scope, which
        gets a label if an inner scope has a return."""
        waiting = [(scope.body, False)]
        while waiting:
            region, is_inner = waiting.pop()
            last = region.ops[-1] if region.ops else None
            if isinstance(last, control.Return):
                if is_inner and not scope.label:
                    scope.label = self.labels.fresh()
                region.ops.pop()
                for var, value in zip(outputs, last.values, strict=True):
                    _write(region.ops, var, value, last.loc)
                target = scope.label if is_inner else 0
                region.ops.append(_at(control.Leave(target), last.loc))
            for op in region.ops:
                deeper = is_inner or isinstance(op, control.ScopeOp)
                waiting += [(inner, deeper) for inner in op.regions()]


def declare_variables(function: Function, variables: list[Var]) -> None:
    """Add variables to a function, under names that are unused in it."""
    taken = {var.name for var in function.variables}
    counts: dict[str, int] = {}
    for var in variables:
        stem = var.name
        while var.name in taken:
            counts[stem] = counts.get(stem, 0) + 1
            var.name = f"{stem}.{counts[stem]}"
        taken.add(var.name)
        function.variables.append(var)


def zero_of(ops: list[Op], type_: Type, loc: Loc) -> Value:
    """Append a type's zero value."""
    parts = memory.part_types(type_)
    if isinstance(type_, FragmentType):
        op: Op = matrix.FragmentFill(zero_of(ops, type_.element, loc), type_)
    elif not parts:
        is_float = isinstance(type_, DType) and type_.is_float
        is_bool = isinstance(type_, DType) and type_.is_bool
        zero = 0.0 if is_float else False if is_bool else 0
        op = arith.Const(zero, type_)
    else:
        assert isinstance(type_, StructType | VectorType), type_
        op = memory.Pack(tuple([zero_of(ops, part, loc) for part in parts]), type_)
    ops.append(_at(op, loc))
    return op.results[0]


def _write(ops: list[Op], var: Var, value: Value, loc: Loc) -> None:
    ops.append(_at(memory.WriteVar(var, value), loc))


def _at(op: Op, loc: Loc) -> Op:
    op.loc = loc
    return op


def _relocate(region: Region, caller: Loc) -> None:
    """Add the call to the location of every op."""
    # By identity: a location contains all its callers, which is much to hash for each op.
    known: dict[int, tuple[Loc, Loc]] = {}
    for op in region.walk():
        op.loc = _moved(op.loc, caller, known)


def _moved(loc: Loc, caller: Loc, known: dict[int, tuple[Loc, Loc]]) -> Loc:
    """A location with one more caller. Shared callers stay shared, so that the cost of deep calls
    is not quadratic in their depth."""
    entry = known.get(id(loc))
    if entry is None:
        outer = caller if loc.caller is None else _moved(loc.caller, caller, known)
        entry = known[id(loc)] = loc, replace(loc, caller=outer)
    return entry[1]
