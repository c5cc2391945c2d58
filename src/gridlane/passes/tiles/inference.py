"""Chooses layouts: the anchors are products, whose sums lie as the target's instructions place
them. What each thread keeps of its own is linked with the ops that compute it, and has their
layout, through loops and elementwise functions.

A product without a layout is computed element by element (``products.py``): where its sums are too
small or too many, or another op of its links needs elements in the order of rows.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator

from gridlane.core.dtypes import DType, f64
from gridlane.ir.op import Op
from gridlane.ir.ops import memory, tile_memory, tiles
from gridlane.ir.ops.matrix import DEPTHS, EDGE
from gridlane.ir.ops.matrix_instructions import FACTORS
from gridlane.ir.ops.products import Factor
from gridlane.ir.types import TileType
from gridlane.ir.values import Module, Value, Var
from gridlane.passes.tiles.block_products import neighbours
from gridlane.passes.tiles.byte_floats import in_bytes
from gridlane.passes.tiles.contiguity import Contiguity
from gridlane.passes.tiles.factors import factor_of
from gridlane.passes.tiles.following import follow
from gridlane.passes.tiles.group_divisions import division_of
from gridlane.passes.tiles.indices import log2
from gridlane.passes.tiles.layouts import (
    Layout,
    batched_layout,
    blocked_layout,
    core_layout,
    fragment_layout,
    group_layout,
    warps_of,
)
from gridlane.passes.tiles.links import Links
from gridlane.passes.tiles.machine import WARP, TileMachine
from gridlane.passes.tiles.order import Order
from gridlane.passes.tiles.placement import LOADS, Placement, Schedule
from gridlane.passes.tiles.provenance import Provenance
from gridlane.passes.tiles.spread import commutes
from gridlane.passes.tiles.transposed import WORD, transposed_loads
from gridlane.passes.tiles.vector_layouts import shape_of, vector_layout

ANY_LAYOUT = (
    memory.ReadVar,
    memory.WriteVar,
    tile_memory.TileStore,
    tile_memory.TileStoreBlock,
    tile_memory.TileStopIf,
    tile_memory.TileAtomic,
    tile_memory.TileAtomicCas,
    tiles.TileMap,
    *LOADS,
)
"""Ops that compute each element alone, in any order."""


def placed(module: Module, machine: TileMachine, spared: frozenset[Op] = frozenset()) -> Placement:
    """The placement of a kernel's tiles, with layouts. What turns out to have none is tried again
    without, until all agree. What ``spared`` load is stored only if memory may change before it
    is needed, and what others of them compute is not."""
    order, provenance = Order(module.kernel), Provenance(module.kernel)
    known = Contiguity(module, module.kernel) if machine.vectors else None
    refused: set[Op] = set()
    floats = in_bytes(module, machine, order.ops)
    transposed: set[Op] = set()
    while True:
        placement = Placement(
            module,
            machine,
            order,
            provenance,
            byte_floats=floats,
            transposed=transposed,
            spared=spared,
        )
        if not machine.lockstep:
            candidates = _candidates(placement, refused, known)
            placement.in_layouts = frozenset(_reductions(placement, candidates, refused))
            placement.decide()
            wrong = _assign(placement, candidates, known)
            if wrong:
                refused |= {op for op in wrong if not _undone(placement, op)}
                continue
            more = set[Op]() if known is None else transposed_loads(placement, known)
            if more:
                transposed |= more
                continue
            follow(placement)
        else:
            placement.decide()
        return placement


def _undone(placement: Placement, op: Op) -> bool:
    """Whether a product's factors were bytes, which they are no more."""
    floats = placement.byte_floats.pop(op, None)
    if floats is None or not isinstance(op, tiles.TileDot):
        return False
    floats.undo(op)
    return True


# ---- anchors


def _candidates(
    placement: Placement, refused: set[Op], known: Contiguity | None
) -> dict[Op, Schedule]:
    result: dict[Op, Schedule] = {}
    reduced = any(isinstance(op, tiles.TileReduce) for op in placement.order.ops)
    for op in placement.order.ops:
        if isinstance(op, tiles.TileDot) and op not in refused:
            schedule = _schedule(placement, op, reduced, known)
            by_groups = schedule is not None and schedule.groups is not None
            if not by_groups and _undone(placement, op):
                schedule = _schedule(placement, op, reduced, known)
            if schedule is not None:
                result[op] = schedule
    return result


def _schedule(
    placement: Placement, op: tiles.TileDot, by_rows: bool, known: Contiguity | None
) -> Schedule | None:
    acc, threads = tiles.tile_of(op, op.acc), placement.threads
    if any(log2(extent) is None for extent in acc.shape):
        return None
    if len(acc.shape) == 3:
        return _schedule_of_batches(placement, op, by_rows)
    rows, columns = acc.shape
    most = placement.machine.sums
    if has_instruction(placement.machine, op) and placement.machine.opaque:
        warps = warps_of(rows, columns, threads // WARP, by_rows, EDGE)
        if warps is not None and columns % EDGE == 0 and acc.count <= 4 * most * threads:
            return Schedule(fragment_layout(rows, columns, warps), matrices=warps)
    elif has_instruction(placement.machine, op):
        groups = division_of(placement, op, known)
        if groups is not None:
            return Schedule(group_layout(rows, columns, groups), groups=groups)
        warps = warps_of(rows, columns, threads // WARP, by_rows)
        if warps is not None and acc.count <= 4 * most * threads:
            return Schedule(core_layout(rows, columns, warps), warps)
    near = (1, 1) if by_rows else neighbours(placement, op, known)
    layout = blocked_layout(rows, columns, threads, *near)
    if layout is None or layout.count > most:
        return None
    return Schedule(layout)


def _schedule_of_batches(placement: Placement, op: tiles.TileDot, by_rows: bool) -> Schedule | None:
    """How the products of several matrices are computed: warps divide these first."""
    machine, acc = placement.machine, tiles.tile_of(op, op.acc)
    batches, rows, columns = acc.shape
    count = placement.threads // WARP
    if has_instruction(machine, op) and not machine.opaque:
        parts = min(batches, count)
        warps = warps_of(rows, columns, count // parts, by_rows)
        if warps is not None and acc.count <= 4 * machine.sums * placement.threads:
            layout = batched_layout(batches, core_layout(rows, columns, warps), parts)
            return Schedule(layout, warps, parts)
    for parts in (min(batches, max(count, 1)), min(batches, placement.threads)):
        each = blocked_layout(rows, columns, placement.threads // parts)
        if each is not None and each.count * (batches // parts) <= machine.sums:
            return Schedule(batched_layout(batches, each, parts))
    return None


def has_instruction(machine: TileMachine, op: tiles.TileDot) -> bool:
    """Whether matrix instructions compute a product, as exactly as it asks for."""
    lhs = tiles.tile_of(op, op.lhs)
    assert isinstance(lhs.element, DType)
    factor = FACTORS.get(lhs.element)
    if factor not in machine.factors:
        return False
    if factor is Factor.TF32 and op.precision is not tiles.Precision.TF32:
        return False
    if lhs.element is f64 and not op.fused:
        return False
    rows, depth = lhs.shape[-2:]
    columns = tiles.tile_of(op, op.rhs).shape[-1]
    return rows % 16 == 0 and columns % 8 == 0 and depth % DEPTHS[lhs.element] == 0


def _reductions(
    placement: Placement, candidates: Iterable[Op], refused: set[Op]
) -> Iterator[tiles.TileReduce]:
    """The reductions, in any order of the elements, of what is computed of products; where threads
    access vectors, of all tiles."""
    near: set[object] = {op.results[0] for op in candidates}
    for _ in range(2):  # what a loop writes is read in front
        for op in placement.order.ops:
            if isinstance(op, memory.WriteVar) and op.value in near:
                near.add(op.var)
            elif isinstance(op, memory.ReadVar) and op.var in near:
                near.add(op.results[0])
            elif isinstance(op, tiles.TileMap) and any(v in near for v in op.arguments):
                near.update(op.results)
    for op in placement.order.ops:
        if isinstance(op, tiles.TileReduce) and op not in refused:
            one = len(op.arguments) == 1 and commutes(placement.module.functions[op.callee])
            if one and (op.arguments[0] in near or placement.machine.vectors):
                yield op


# ---- links


def _links(placement: Placement) -> Links:
    links = Links()
    for value, uses in placement.uses.items():
        op = value.op
        assert op is not None
        own: object = value if placement.stored.get(value) else None
        if isinstance(op, memory.ReadVar) and value not in placement.stored:
            own = op.var if placement.variables[op.var] else None
        if own is None:
            continue
        if value in placement.stored:
            links.join(value, op)
        for use in uses:
            links.join(own, use.root)
    for op in placement.order.ops:
        if isinstance(op, memory.WriteVar) and placement.variables.get(op.var):
            links.join(op, op.var)
        if not isinstance(op, memory.ReadVar) or op.results[0] not in placement.stored:
            continue
        if placement.variables[op.var]:
            links.join(op, op.var)
    return links


def _assign(
    placement: Placement, candidates: dict[Op, Schedule], known: Contiguity | None
) -> set[Op]:
    """Note the layouts of sets with a product, or with accesses by vectors; the result is the
    products and reductions of sets without."""
    links = _links(placement)
    for op in placement.order.ops:
        alone = known is not None and isinstance(op, tile_memory.TileStore)
        if alone or op in candidates or op in placement.in_layouts:
            links.set_of(op)
    wrong: set[Op] = set()
    for members in links.sets():
        roots = [each for each in members if isinstance(each, Op)]
        products = [op for op in roots if op in candidates]
        layouts = {candidates[op].layout for op in products}
        if not products and known is not None:
            layouts = {vector_layout(placement, known, roots)} - {None}
        layout = layouts.pop() if len(layouts) == 1 else None
        if layout is not None and all(
            _takes(placement, each, layout, candidates) for each in members
        ):
            placement.layouts.update(dict.fromkeys(members, layout))
        else:
            wrong.update(products)
    for op in placement.in_layouts:
        assert isinstance(op, tiles.TileReduce)
        if op not in placement.layouts and not placement.reduces_rows(op):
            wrong.add(op)
    if not wrong:
        placement.products = candidates
        placement.padded = _padded(placement)
    return wrong


def _takes(placement: Placement, item: object, layout: Layout, candidates: Container[Op]) -> bool:
    """Whether a tile, a variable or an op may have a layout."""
    if isinstance(item, Value | Var):
        return isinstance(item.type, TileType) and item.type.count == 1 << layout.bits
    assert isinstance(item, Op)
    if item in candidates:
        return True
    kind = item in placement.in_layouts or isinstance(item, ANY_LAYOUT)
    return kind and math.prod(shape_of(item)) == 1 << layout.bits


# ---- factors in shared memory


def _padded(placement: Placement) -> dict[Value, int]:
    """The factors of products: rows are 16 bytes apart modulo the width of shared memory, so that
    matrix instructions read eight of them from different banks."""
    copied = placement.machine.vectors and bool(placement.machine.factors)
    result: dict[Value, int] = {}
    for op, schedule in placement.products.items():
        assert isinstance(op, tiles.TileDot)
        by_instructions = schedule.warps or schedule.groups or schedule.matrices
        for factor in (op.lhs, op.rhs) if by_instructions or copied else ():
            value, _ = factor_of(factor)
            own = placement.stored.get(value)
            if own is False and isinstance(value.op, tiles.TileMap | LOADS[0] | LOADS[1]):
                result[value] = 16 // tiles.tile_of(op, value).element.size
                if schedule.groups:
                    placement.swizzled.add(value)
    for value in placement.swizzled:
        result[value] = 0
    for op in placement.transposed:
        result[op.results[0]] = WORD // tiles.tile_of(op, op.results[0]).element.size
    return result
