"""Joins the kernels of launches of one shape: one body behind the other, in one kernel."""

from __future__ import annotations

from dataclasses import replace

from gridlane.core.frozen import frozen
from gridlane.ir.op import Op, clone_region
from gridlane.ir.ops import arith, control, grid, memory, tiles
from gridlane.ir.rewriting import Labels
from gridlane.ir.types import PointerType
from gridlane.ir.values import Function, Global, Module, Param, Value, Var
from gridlane.passes.optimise.promote import promote_variables
from gridlane.passes.structure.inline import declare_variables, inline_calls, inline_into
from gridlane.passes.structure.inline import zero_of as zero_of
from gridlane.passes.structure.return_last import return_last
from gridlane.passes.tiles import has_tiles


@frozen
class Joint:
    """How kernels are joined: the key of a fused kernel, beside its members'.

    Attributes:
        places: for each member the parameter of the fused kernel that each of its own is.
        barriers: the members in front of which the threads of a block wait for each other.
        apart: the pointer parameters whose memory no other one reaches.
        written: the pointer parameters to whose memory some member writes.
    """

    places: tuple[tuple[int, ...], ...]
    barriers: tuple[int, ...] = ()
    apart: tuple[int, ...] = ()
    written: tuple[int, ...] = ()


def prepare(module: Module) -> None:
    """Inline a kernel's calls, and replace its returns by branches where that is possible; of a
    program over tiles the functions of elements stay.

    Raises:
        TargetError: a device function calls itself.
    """
    if has_tiles(module):
        inline_into(module, module.kernel)
        promote_variables(module)
        return
    inline_calls(module)
    return_last(module)


def join(members: list[Module], joint: Joint) -> Module:
    """The fused kernel of prepared members, which stay as they are."""
    first = members[0].kernel
    names = dict.fromkeys(member.kernel.name for member in members)
    kernel = Function(f"fused_{'_'.join(names)}"[:80], is_kernel=True, loc=first.loc)
    kernel.params = _parameters(members, joint)
    fused = replace(
        members[0], functions={kernel.name: kernel}, globals={}, errors=[*members[0].errors]
    )
    fused.own_dynamic = max(member.own_dynamic for member in members)
    for number, member in enumerate(members):
        if number in joint.barriers:
            kernel.body.ops.append(grid.Barrier(loc=member.kernel.loc))
        values = {
            own.value: kernel.params[place].value
            for own, place in zip(member.kernel.params, joint.places[number], strict=True)
        }
        _append(fused, kernel, member, number, values)
    return fused


def _parameters(members: list[Module], joint: Joint) -> list[Param]:
    """The parameters of the fused kernel; each has the facts that hold for all its members'."""
    merged: dict[int, list[Param]] = {}
    for member, places in zip(members, joint.places, strict=True):
        for own, place in zip(member.kernel.params, places, strict=True):
            merged.setdefault(place, []).append(own)
    params: list[Param] = []
    for place in range(len(merged)):
        own = merged[place]
        value = Value(own[0].value.type, None, f"p{place}")
        is_pointer = isinstance(value.type, PointerType)
        params.append(
            Param(
                value,
                place,
                ("data",) if is_pointer else (),
                noalias=is_pointer and place in joint.apart,
                readonly=all(each.readonly for each in own) and place not in joint.written,
                align=max(each.align for each in own),
            )
        )
    return params


def _append(
    fused: Module, kernel: Function, member: Module, number: int, values: dict[Value, Value]
) -> None:
    """Append a member's body; its variables start as zero, and its returns leave its scope."""
    function, region = member.kernel, kernel.body
    renamed = {var: Var(var.name, var.type) for var in function.variables}
    declare_variables(kernel, list(renamed.values()))
    for var in renamed.values():
        region.ops.append(memory.WriteVar(var, zero_of(region.ops, var.type, function.loc)))
    body = clone_region(function.body, values, renamed)
    symbols, functions = _add_globals(fused, member, number), _add_functions(fused, member, number)
    for op in body.walk():
        if isinstance(op, memory.GlobalAddress):
            op.symbol = symbols[op.symbol]
        elif isinstance(op, tiles.TileMap):
            op.callee = functions[op.callee]
    if body.ops and isinstance(body.ops[-1], control.Return):
        body.ops.pop()
    labels = Labels(kernel)
    labels.rename(body)
    if not any(isinstance(op, control.Return) for op in body.walk()):
        region.ops += body.ops
        return
    scope = control.ScopeOp(body, labels.fresh(), loc=function.loc)
    waiting = [body]
    while waiting:
        inner = waiting.pop()
        if inner.ops and isinstance(inner.ops[-1], control.Return):
            inner.ops[-1] = control.Leave(scope.label, loc=inner.ops[-1].loc)
        for op in inner.ops:
            waiting += op.regions()
    region.ops.append(scope)


def _add_globals(fused: Module, member: Module, number: int) -> dict[str, str]:
    """The names of a member's arrays in the fused module."""
    names: dict[str, str] = {}
    for name, item in member.globals.items():
        new = name if name not in fused.globals else f"{name}.{number}"
        names[name] = new
        fused.globals[new] = Global(
            new, item.element, item.count, item.space, item.align, item.data
        )
    return names


def _add_functions(fused: Module, member: Module, number: int) -> dict[str, str]:
    """The names of a member's functions of elements in the fused module."""
    names: dict[str, str] = {}
    for name, function in member.functions.items():
        if not function.is_kernel:
            names[name] = new = name if name not in fused.functions else f"{name}.{number}"
            fused.functions[new] = replace(function, name=new)
    return names


def is_plain(op: Op) -> bool:
    """Whether an op is pure, and has neither floats nor regions: one copy of it is enough."""
    if not op.pure or op.cross_lane or op.REGION_FIELDS or isinstance(op, memory.LocalArray):
        return False
    return all(_is_plain(value) for value in (*op.results, *op.operands()))


def _is_plain(value: Value) -> bool:
    type_ = value.type
    return isinstance(type_, PointerType) or not getattr(type_, "is_float", True)


def negated(op: Op | None) -> Value | None:
    """The operand of a complement."""
    return op.value if isinstance(op, arith.Not) else None
