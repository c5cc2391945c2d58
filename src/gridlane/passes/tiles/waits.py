"""Where products by warpgroups are awaited: in front of the first op that needs their sums, as late
as memory that they read stays as it is."""

from __future__ import annotations

from gridlane.ir.op import Op
from gridlane.ir.ops import memory, tiles
from gridlane.ir.values import Value
from gridlane.passes.tiles.along_layouts import Lines
from gridlane.passes.tiles.core_products import in_registers, in_shared
from gridlane.passes.tiles.layouts import LANE_BITS, Layout
from gridlane.passes.tiles.placement import LOADS, ROOTS
from gridlane.passes.tiles.state import Flight, State, Storage
from gridlane.passes.tiles.sums import sum_type


def is_late(state: State, op: tiles.TileDot, storage: Storage) -> bool:
    """Whether a product can be awaited later: its sums are registers, and are changed no more."""
    rounds = storage.type.element is not sum_type(op)
    return op not in state.flights and storage.layout is not None and not rounds


def start(state: State, op: tiles.TileDot, storage: Storage, words: list[Value]) -> None:
    """Note a product that has started.

    Args:
        words: of its left factor, if that is in registers.
    """
    enders = _enders(state, op, storage)
    state.open.append(Flight(op, storage.registers, tuple(words), enders))


def _enders(state: State, op: tiles.TileDot, storage: Storage) -> frozenset[Op]:
    """The ops that need the sums of a product, or write the variable that they are those of."""
    uses, result = state.placement.uses, op.results[0]
    roots = {use.root for use in uses[result]}
    own = [each for each in roots if isinstance(each, memory.WriteVar)]
    var = next((each.var for each in own if state.variables.get(each.var) is storage), None)
    if var is None:
        return frozenset(roots)
    roots = {each for each in roots if not (isinstance(each, memory.WriteVar) and each.var is var)}
    for each in state.placement.order.ops:
        if isinstance(each, memory.ReadVar) and each.var is var:
            roots |= {use.root for use in uses[each.results[0]]}
        if isinstance(each, memory.WriteVar) and each.var is var and each.value is not result:
            roots.add(each)
    return frozenset(roots - {op})


def before(state: State, op: Op) -> None:
    """Await what must be in front of an op."""
    if not state.open:
        return
    if not _is_apart(state, op):
        state.land()
        return
    last = next((each for each in reversed(state.open) if op in each.enders), None)
    if last is not None:
        state.land(last)


def _kept(state: State, op: Op) -> list[Value]:
    return [value for value in op.results if value in state.placement.stored]


def _is_apart(state: State, op: Op) -> bool:
    """Whether an op changes no memory that products read, and has no barrier."""
    layouts = state.placement.layouts
    if isinstance(op, tiles.TileReduce):
        layout = layouts.get(op)
        return layout is not None and op.results[0] in layouts and _is_in_warps(op, layout)
    if isinstance(op, tiles.TileDot):
        held = in_registers(state, op.lhs) is not None or _is_in_panels(state, op.lhs)
        return held and _is_in_panels(state, op.rhs)
    if isinstance(op, memory.WriteVar):
        return op.var not in state.variables or state.variables[op.var].layout is not None
    if op in state.ahead:
        return True
    if op.REGION_FIELDS or isinstance(op, ROOTS):
        return False
    if not op.pure and not isinstance(op, (memory.ReadVar, *LOADS)):
        return False
    return all(value in layouts for value in _kept(state, op))


def _is_in_warps(op: tiles.TileReduce, layout: Layout) -> bool:
    """Whether a warp has whole lines of a reduction."""
    return all(bit < LANE_BITS for bit in Lines(op, layout).threads)


def _is_in_panels(state: State, value: Value) -> bool:
    found = in_shared(state, value)
    return found is not None and bool(found[0].swizzle)
