"""Delays the second of two chained products of a loop by an iteration.

A loop of attention computes scores, then powers of them, then adds the product of these and of some
values. Each needs the one before, so that units for products idle while powers are computed. Here
an iteration begins with its scores and with the product of the iteration before, whose left factor
a variable has kept; products by warpgroups run while threads go on with what needs none of them.

    if runs: A(0); loop: A'(i), where B(i - 1) stands behind the scores; B(last)

A holds all but B, which is the delayed product and the load of its right factor; what the loop
multiplies its sum by stays in A. The places that B loads from are computed of variables that
advance by fixed steps, as they were one step ago (Shah et al., "FlashAttention-3", 2024).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gridlane.core.dtypes import DType
from gridlane.ir.builder import Builder
from gridlane.ir.op import Op, clone_op
from gridlane.ir.ops import arith, control, memory, tiles
from gridlane.ir.rewriting import erase_dead
from gridlane.ir.types import TileType
from gridlane.ir.values import Module, Region, Value, Var
from gridlane.passes.tiles.factors import factor_of
from gridlane.passes.tiles.layouts import groups_of
from gridlane.passes.tiles.machine import WARP, TileMachine
from gridlane.passes.tiles.order import writes_memory
from gridlane.passes.tiles.placement import COMPUTED, LOADS
from gridlane.passes.tiles.turns import Turns

_REGISTERS = 176
"""The most registers of a thread for both sums and the left factor between them."""

_EXITS = control.Break, control.Continue, control.Leave, control.Return, control.Raise


def delay_products(module: Module, machine: TileMachine) -> Turns:
    """Delay the products of the kernel's loops that may be, on machines with warpgroups; not
    where loads would come between two products, as nothing is copied ahead. Return where
    warpgroups may take turns."""
    turns = Turns()
    if not machine.groups or module.program_stages < 2:
        return turns
    for region, loop in list(_loops(module.kernel.body)):
        found = _delayed(module, machine, loop)
        if found is not None:
            turns.firsts[loop] = found.first
            turns.lasts[loop] = _rewrite(Builder(module, module.kernel), region, found)
    erase_dead(module.kernel.body)
    return turns


def _loops(region: Region) -> Iterator[tuple[Region, control.Loop]]:
    for op in region.ops:
        if isinstance(op, control.Loop):
            yield region, op
        for inner in op.regions():
            yield from _loops(inner)


@dataclass(slots=True)
class _Delay:
    """A loop whose body is ``test``, the ops that end it, and ``rest``.

    Attributes:
        first: the product that starts in front of the delayed one.
        second, write: the delayed product and the write of its result.
        delayed: these, the load of the right factor, and what stands between them.
        slice: the ops that its right factor is computed of, in order.
        steps: the variables among these that advance, and by what.
    """

    loop: control.Loop
    test: list[Op]
    end: Value
    rest: list[Op]
    first: tiles.TileDot
    second: tiles.TileDot
    write: memory.WriteVar
    delayed: set[Op]
    slice: list[Op]
    steps: dict[Var, Value]


# ---- which loops


def _delayed(module: Module, machine: TileMachine, loop: control.Loop) -> _Delay | None:
    ops = loop.body.ops
    index = next((n for n, op in enumerate(ops) if op.REGION_FIELDS), len(ops))
    exit_ = ops[index] if index < len(ops) else None
    if not isinstance(exit_, control.If) or exit_.orelse.ops:
        return None
    if [type(op) for op in exit_.then.ops] != [control.Break]:
        return None
    test, rest = ops[:index], ops[index + 1 :]
    if any(not op.pure and not isinstance(op, memory.ReadVar) for op in test):
        return None
    if any(map(_is_in_the_way, (*rest, *loop.step.ops))):
        return None
    for second in rest:
        if isinstance(second, tiles.TileDot):
            found = _with_second(loop, test, exit_.condition, rest, second)
            if found is not None and _pays(module, machine, found):
                return found
    return None


def _is_in_the_way(op: Op) -> bool:
    return bool(op.REGION_FIELDS) or op.terminator or writes_memory(op) or op.cross_lane


def _with_second(
    loop: control.Loop, test: list[Op], end: Value, rest: list[Op], second: tiles.TileDot
) -> _Delay | None:
    """The delay of a product, if it is the only thing that its sum is for in the loop."""
    result = second.results[0]
    users = [op for op in rest if result in op.operands()]
    if len(users) != 1 or not isinstance(users[0], memory.WriteVar):
        return None
    write = users[0]
    before, place = set(_behind(rest, second.lhs)), {op: n for n, op in enumerate(rest)}
    products = [op for op in rest if isinstance(op, tiles.TileDot) and op in before]
    accesses = [op for op in loop.body.walk() if _accesses(op, write.var)]
    reads = [op for op in accesses if isinstance(op, memory.ReadVar)]
    acc, needed = {*_behind(rest, second.acc)}, _ahead(rest, reads) - {second, write}
    if not products or {*accesses} != {*reads, write} or not needed | {*reads} <= acc:
        return None
    first = products[-1]
    if needed & before or any(place[op] < place[first] for op in needed.difference(reads)):
        return None
    if place[write] < place[second] or any(_accesses(op, write.var) for op in loop.step.walk()):
        return None
    parts = _behind([*test, *rest], second.rhs)
    load, loads = factor_of(second.rhs)[0].op, [op for op in parts if isinstance(op, LOADS)]
    steps = _steps(loop, rest, parts, place[first])
    if load is None or loads != [load] or load not in place or steps is None:
        return None
    delayed = _ahead(rest, [load])
    if delayed != _ahead([*parts, second, write], [load]):
        return None
    return _Delay(loop, test, end, rest, first, second, write, delayed, parts, steps)


def _accesses(op: Op, var: Var) -> bool:
    return isinstance(op, memory.ReadVar | memory.WriteVar) and op.var is var


def _behind(ops: list[Op], value: Value) -> list[Op]:
    """Those of some ops that a value is computed of, in order."""
    needed, result = {value}, list[Op]()
    for op in reversed(ops):
        if needed.intersection(op.results):
            needed.update(op.operands())
            result.append(op)
    return result[::-1]


def _ahead(ops: Sequence[Op], starts: Sequence[Op]) -> set[Op]:
    """Those of some ops that need results of others, with these."""
    values, result = set[Value](), set[Op]()
    for op in ops:
        if op in starts or values.intersection(op.operands()):
            values.update(op.results)
            result.add(op)
    return result


def _steps(
    loop: control.Loop, rest: list[Op], parts: list[Op], behind: int
) -> dict[Var, Value] | None:
    """What the variables that ops read advance by in each iteration, behind a place; None where the
    ops are not known for the iteration before."""
    result: dict[Var, Value] = {}
    inside = {value for part in loop.regions() for op in part.walk() for value in op.results}
    for op in parts:
        if not isinstance(op, memory.ReadVar):
            if isinstance(op, LOADS) and not getattr(op, "volatile", False):
                continue
            if not op.pure or isinstance(op, COMPUTED):
                return None
            continue
        writes = [each for part in loop.regions() for each in _writes(part, op.var)]
        if not writes:
            continue
        total = writes[0].value.op
        if len(writes) > 1 or not isinstance(total, arith.Add):
            return None
        if writes[0] in rest and rest.index(writes[0]) <= max(behind, _last(rest, op)):
            return None
        sides = (total.lhs, total.rhs), (total.rhs, total.lhs)
        step = next((s for read, s in sides if _reads(read, op.var)), None)
        if step is None or not _is_fixed(step, inside) or not isinstance(op.var.type, DType):
            return None
        result[op.var] = step
    return result


def _is_fixed(value: Value, inside: set[Value]) -> bool:
    """Whether a scalar is the same in each iteration."""
    op = value.op
    if op is None or value not in inside:
        return True
    plain = op.pure and not op.REGION_FIELDS and not isinstance(op, memory.ReadVar)
    return plain and all([_is_fixed(each, inside) for each in op.operands()])


def _last(rest: list[Op], op: Op) -> int:
    return rest.index(op) if op in rest else -1


def _writes(region: Region, var: Var) -> list[memory.WriteVar]:
    return [op for op in region.walk() if isinstance(op, memory.WriteVar) and op.var is var]


def _reads(value: Value, var: Var) -> bool:
    return isinstance(value.op, memory.ReadVar) and value.op.var is var


def _pays(module: Module, machine: TileMachine, found: _Delay) -> bool:
    """Whether warpgroups compute both products, and threads have registers for them at once."""
    threads, registers = machine.threads(module.program_warps), 0
    for op in (found.first, found.second):
        lhs, acc = tiles.tile_of(op, op.lhs), tiles.tile_of(op, op.acc)
        if not isinstance(lhs.element, DType) or lhs.element.size != 2 or len(acc.shape) != 2:
            return False
        groups = groups_of(*acc.shape, threads // (4 * WARP)) if threads >= 4 * WARP else None
        if groups is None or groups.across > 1:
            return False
        registers += acc.count // threads
    registers += tiles.tile_of(found.second, found.second.lhs).count // threads // 2
    return registers <= _REGISTERS


# ---- their code


def _rewrite(b: Builder, region: Region, found: _Delay) -> Op:
    """Put the loop, its first iteration and the last product in its place; return the loop's
    delayed product."""
    loop, place = found.loop, region.ops.index(found.loop)
    b.loc = loop.loc
    factor, left = found.second.lhs.type, Region()
    assert isinstance(factor, TileType)
    kept = b.variable("left", factor)
    values: dict[Value, Value] = {}
    with b.inside(left):
        _emit(b, found.test, values)
        with b.if_(b.not_(values.get(found.end, found.end))):
            _first(b, found, kept, values)
            b.region.ops.append(loop)
            _second(b, found, kept, {})
    body = Region(loop.body.ops[: len(found.test) + 1])
    with b.inside(body):
        second = _iteration(b, found, kept)
    loop.body = body
    region.ops[place : place + 1] = left.ops
    return second


def _emit(b: Builder, ops: list[Op], values: dict[Value, Value]) -> None:
    b.region.ops += [clone_op(op, values, {}) for op in ops]


def _first(b: Builder, found: _Delay, kept: Var, values: dict[Value, Value]) -> None:
    """The first iteration, without the second product."""
    for op in found.rest:
        if op is found.second:
            _keep(b, found, kept, values)
        elif op not in found.delayed:
            b.region.ops.append(clone_op(op, values, {}))
    _emit(b, found.loop.step.ops, values)


def _iteration(b: Builder, found: _Delay, kept: Var) -> Op:
    """An iteration with the second product of the one before, which is the result, behind the first
    product."""
    second: Op = found.second
    reads = [op for op in found.rest if isinstance(op, memory.ReadVar)]
    late = [op for op in reads if op.var is found.write.var]
    for op in found.rest:
        if op is found.second:
            _keep(b, found, kept, {})
        elif op not in late and op not in found.delayed:
            b.region.ops.append(op)
        if op is found.first:
            second = _second(b, found, kept, {})
            b.region.ops += late
    return second


def _keep(b: Builder, found: _Delay, kept: Var, values: dict[Value, Value]) -> None:
    """In place of the second product: its left factor and the sum so far."""
    acc, lhs = (values.get(each, each) for each in (found.second.acc, found.second.lhs))
    if not _reads(acc, found.write.var):
        b.write(found.write.var, acc)
    b.write(kept, lhs)


def _second(b: Builder, found: _Delay, kept: Var, values: dict[Value, Value]) -> Op:
    """The second product of the iteration before."""
    for op in found.slice:
        copy = clone_op(op, values, {})
        b.region.ops.append(copy)
        if isinstance(op, memory.ReadVar) and op.var in found.steps:
            step = _copied(b, found.steps[op.var], found.loop)
            values[op.results[0]] = b.sub(copy.results[0], step)
    values[found.second.lhs] = b.read(kept)
    values[found.second.acc] = b.read(found.write.var)
    copy = clone_op(found.second, values, {})
    b.region.ops.append(copy)
    b.write(found.write.var, copy.results[0])
    return copy


def _copied(b: Builder, value: Value, loop: control.Loop) -> Value:
    """A step, which ops of the loop may compute."""
    op = value.op
    if op is None or not any(op is each for part in loop.regions() for each in part.ops):
        return value
    copy = clone_op(op, {each: _copied(b, each, loop) for each in op.operands()}, {})
    b.region.ops.append(copy)
    return copy.results[op.results.index(value)]
