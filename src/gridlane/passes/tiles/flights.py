"""Products by warpgroups that are in flight while their loop begins its next iteration.

A product of a loop may run on where its sums are those of a variable that nothing else in the loop
reads or writes, and nothing overwrites its factors before the next product is behind its wait: they
lie in a ring whose stages are filled later, or are stored in front of the loop. The product waits
for that of the iteration before, and all are awaited behind the loop.
"""

from __future__ import annotations

from collections.abc import Container

from gridlane.core.dtypes import b1
from gridlane.ir.op import Op
from gridlane.ir.ops import control, memory, tiles
from gridlane.ir.ops.warpgroups import WarpgroupWait
from gridlane.ir.values import Region, Var
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


def launch(state: State, loop: control.Loop, products: list[tiles.TileDot]) -> None:
    """Leave products of a loop in flight, and await them behind it, in front of which this is."""
    if not products:
        return
    b = state.b
    runs = b.variable("flies", b1)
    b.write(runs, b.const(False, b1))
    state.flights.update(dict.fromkeys(products, runs))
    state.behind.setdefault(loop, []).insert(0, lambda: _land(state, products, runs))


def _land(state: State, products: list[tiles.TileDot], runs: Var) -> None:
    """Await products, if the loop has had an iteration: ptxas keeps them in flight only where no
    other path, on which sums are set otherwise, leads to their wait."""
    b = state.b
    with b.if_(b.read(runs)):
        for op in products:
            storage = in_place(state, op)
            assert storage is not None
            sums = tuple([b.read(register) for register in storage.registers])
            done = b.emit(WarpgroupWait(0, state.is_alone(), sums)).results
            for register, value in zip(storage.registers, done, strict=True):
                b.write(register, value)
