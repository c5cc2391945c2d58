"""Products of matrices: the way of each, by the target and the placement."""

from __future__ import annotations

from gridlane.ir.ops import tiles
from gridlane.passes.tiles import decisions
from gridlane.passes.tiles.block_products import dot_by_blocks
from gridlane.passes.tiles.core_products import dot_by_cores
from gridlane.passes.tiles.cpu_products import dot_on_processor
from gridlane.passes.tiles.elements import element, type_of
from gridlane.passes.tiles.fragment_products import dot_by_fragments
from gridlane.passes.tiles.group_products import dot_by_groups
from gridlane.passes.tiles.indices import Index, log2, source
from gridlane.passes.tiles.state import State, Storage
from gridlane.passes.tiles.sums import add_product, in_place, part, rounded, sum_type


def dot(state: State, op: tiles.TileDot) -> None:
    """Add the product of two matrices to a third."""
    result = op.results[0]
    if result not in state.placement.stored:
        return
    schedule = state.placement.products.get(op)
    floats = state.placement.byte_floats.get(op)
    decisions.product(state.machine, op, schedule, floats.name if floats else "")
    if state.machine.lockstep:
        state.stored[result] = dot_on_processor(state, op)
        return
    storage = in_place(state, op)
    if storage is None:
        own = state.placement.stored[result]
        storage = state.allocate(type_of(result), own, op.loc, result)
    if schedule is not None and schedule.groups is not None:
        dot_by_groups(state, op, storage, schedule)
    elif schedule is not None and schedule.matrices is not None:
        dot_by_fragments(state, op, storage, schedule.matrices)
    elif schedule is not None and schedule.warps is not None:
        dot_by_cores(state, op, storage, schedule)
    elif schedule is not None:
        dot_by_blocks(state, op, storage, schedule.layout)
    else:
        _by_elements(state, op, storage)
    state.stored[result] = storage


def _by_elements(state: State, op: tiles.TileDot, storage: Storage) -> None:
    """Each thread computes its elements, one after the other."""
    b, type_, depth = state.b, sum_type(op), type_of(op.lhs).shape[-1]
    with state.together(), state.elements(storage.type.shape) as at:
        *batch, row, column = at
        total = b.variable("total", type_)
        b.write(total, b.cast(element(state, op.acc, at), type_))
        with state.counted(depth, "k") as counter:
            k: Index = source(counter, depth) if log2(depth) is not None else counter
            left = part(state, op.lhs, (*batch, row, k), type_)
            right = part(state, op.rhs, (*batch, k, column), type_)
            b.write(total, add_product(state, b.read(total), left, right, op.fused))
        state.write(storage, at, rounded(state, storage, b.read(total)))
