"""Products by warpgroups that are in flight while their loop begins its next iteration.

A product of a loop may run on where its sums are those of a variable that nothing else in the loop
reads or writes, and nothing overwrites its factors before the next product is behind its wait: they
lie in a ring whose stages are filled later, or are stored in front of the loop. The product waits
for that of the iteration before, and all are awaited behind the loop.
"""

from __future__ import annotations

from collections.abc import Container, Generator
from contextlib import contextmanager

from gridlane.ir.op import Op, clone_op
from gridlane.ir.ops import control, memory, tiles
from gridlane.ir.ops.warpgroups import WarpgroupWait
from gridlane.ir.values import Region, Value
from gridlane.passes.tiles.elements import type_of
from gridlane.passes.tiles.factors import factor_of
from gridlane.passes.tiles.state import State
from gridlane.passes.tiles.sums import in_place, sum_type

_JUMPS = (control.Leave, control.Return, control.Exit, control.Raise)


def may_fly(state: State, loop: control.Loop, op: tiles.TileDot, rings: Container[Op]) -> bool:
    """Whether a product in the body of a loop may be in flight.

    Args:
        rings: loads whose tiles stay as they are until the next product is awaited.
    """
    placement = state.placement
    schedule, read, result = placement.products.get(op), op.acc.op, op.results[0]
    if schedule is None or schedule.groups is None or not isinstance(read, memory.ReadVar):
        return False
    if type_of(op.acc).element is not sum_type(op) or result not in placement.stored:
        return False
    storage = in_place(state, op)
    if storage is None or storage.layout is None or any(map(_jumps, loop.regions())):
        return False
    if not all(_is_kept(state, loop, factor_of(each)[0].op, rings) for each in (op.lhs, op.rhs)):
        return False
    if [use.root for use in placement.uses[read.results[0]]] != [op]:
        return False
    inside = [each for each in placement.order.ops if loop in placement.order.loops(each)]
    reads = [each for each in inside if isinstance(each, memory.ReadVar) and each.var is read.var]
    writes = [each for each in inside if isinstance(each, memory.WriteVar) and each.var is read.var]
    in_body = all(placement.order.path[each][-1][1] is loop.body for each in (read, *writes))
    return reads == [read] and len(writes) == 1 and in_body


def _jumps(region: Region) -> bool:
    return any(isinstance(op, _JUMPS) for op in region.walk())


def _is_kept(state: State, loop: control.Loop, source: Op | None, rings: Container[Op]) -> bool:
    """Whether a factor's memory stays as it is while a product is in flight."""
    if source is None or source.results[0] not in state.placement.swizzled:
        return False
    return source in rings or loop not in state.placement.order.loops(source)


@contextmanager
def in_flight(
    state: State, loop: control.Loop, products: list[tiles.TileDot], end: Value | None
) -> Generator[None]:
    """Leave products of a loop, which the block emits, in flight, and await them behind it. ptxas
    keeps them in flight only where no path that sets the sums otherwise leads to that wait, so it
    is under the condition that the loop has an iteration."""
    if not products:
        yield
        return
    assert end is not None
    b = state.b
    state.flights.update(products)
    with b.if_(b.not_(_copied(state, loop, end))):
        yield
        for op in products:
            _land(state, op)
        for act in state.behind.pop(loop, ()):
            act()


def _land(state: State, op: tiles.TileDot) -> None:
    b, storage = state.b, in_place(state, op)
    assert storage is not None
    sums = tuple([b.read(register) for register in storage.registers])
    done = b.emit(WarpgroupWait(0, state.is_alone(), sums)).results
    for register, value in zip(storage.registers, done, strict=True):
        b.write(register, value)


def _copied(state: State, loop: control.Loop, value: Value) -> Value:
    """A scalar as the first iteration computes it."""
    op = value.op
    if op is None or loop not in state.placement.order.loops(op):
        return state.of(value)
    operands = {each: _copied(state, loop, each) for each in op.operands()}
    copy = clone_op(op, operands, {})
    state.b.region.ops.append(copy)
    return copy.results[op.results.index(value)]
