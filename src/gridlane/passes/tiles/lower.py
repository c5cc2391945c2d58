"""Lowers a program over tiles to the threads of a block: the walk over its ops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

from gridlane.core.dtypes import i32
from gridlane.core.errors import TargetError
from gridlane.ir.builder import Builder
from gridlane.ir.op import Op
from gridlane.ir.ops import control, grid, memory, tile_memory, tiles
from gridlane.ir.types import PointerType, Space, TileType
from gridlane.ir.values import Module, Region
from gridlane.passes.tiles import (
    along,
    decisions,
    effects,
    flights,
    fragment_products,
    next_lines,
    orders,
    pipelines,
    prefetches,
    products,
    transposed,
    waits,
)
from gridlane.passes.tiles.accesses import DEVICE, Accesses
from gridlane.passes.tiles.chunks import copy_chunks
from gridlane.passes.tiles.contiguity import Contiguity
from gridlane.passes.tiles.cpu_products import is_turned_factor
from gridlane.passes.tiles.elements import element, type_of
from gridlane.passes.tiles.indices import ZERO, Coordinates
from gridlane.passes.tiles.inference import placed
from gridlane.passes.tiles.late_factors import is_along_columns, late_factors
from gridlane.passes.tiles.machine import TileMachine
from gridlane.passes.tiles.placement import COMPUTED
from gridlane.passes.tiles.producer_code import producing
from gridlane.passes.tiles.producers import producer_of
from gridlane.passes.tiles.shared import SharedMemory, place_dynamically
from gridlane.passes.tiles.state import State, Storage, refuse
from gridlane.passes.tiles.turns import TurnCode, Turns
from gridlane.passes.tiles.widths import Chunks, chunks_of


class NoRoom(TargetError):
    """Tiles that do not fit into shared memory."""


def lower(
    machine: TileMachine, module: Module, turns: Turns, spared: frozenset[Op] = frozenset()
) -> None:
    """Lower a kernel whose calls are inlined, of which some warpgroups take turns.

    Args:
        spared: see ``inference.placed``.

    Raises:
        NoRoom: the tiles do not fit into shared memory.
    """
    kernel = module.kernel
    known = Contiguity(module, kernel)
    if machine.lockstep:
        spared = late_factors(module, known)
    placement = placed(module, machine, spared)
    b = Builder(module, kernel)
    old, kernel.body = kernel.body, Region()
    b.region, b.loc = kernel.body, kernel.loc
    thread = grid.ThreadIdx(grid.Axis.X, loc=kernel.loc)
    threads = machine.threads(module.program_warps)
    shared = SharedMemory(module)
    state = State(module, kernel, machine, placement, b, threads, thread.results[0], shared, known)
    for var in list(kernel.variables):
        if isinstance(var.type, TileType):
            own = placement.variables[var]
            state.variables[var] = state.allocate(var.type, own, kernel.loc, var)
            kernel.variables.remove(var)
    producer = producer_of(state)
    if producer is not None:  # with barriers of the whole block no one can be ahead
        state.turns = turns.chosen(placement)
    with nullcontext() if producer is None else producing(state, producer, old):
        _region(state, old)
    kernel.body.ops[:0] = [thread, *state.entry]
    decisions.program(machine, module, threads)
    check_shared(machine, module)
    place_dynamically(machine, module)


def check_shared(machine: TileMachine, module: Module) -> None:
    """Require that the tiles in shared memory fit.

    Raises:
        NoRoom: they do not.
    """
    needed = sum(-(-item.size // 16) * 16 for item in module.static_shared())
    if needed > machine.shared:
        raise NoRoom(
            f"out of resource: shared memory, Required: {needed}, Hardware limit: "
            f"{machine.shared}. Reducing block sizes or `num_stages` may help.",
            module.kernel.loc,
        )


def _region(state: State, region: Region) -> None:
    for op in region.ops:
        state.b.loc, state.now = op.loc, state.placement.order.number[op]
        waits.before(state, op)
        if op.REGION_FIELDS:
            _construct(state, op)
        else:
            _op(state, op)
        state.behind_it(op)
    state.land()


def _construct(state: State, op: Op) -> None:
    """Lower the regions of control flow, which all threads run alike."""
    if not isinstance(op, control.Loop):
        _regions(state, op, None)
        return
    pipeline = pipelines.pipeline_of(state, op)
    flying = _flying(state, op, pipeline)
    turn = TurnCode(state.b, state.thread).around() if op in state.turns.firsts else nullcontext()
    with flights.in_flight(state, op, flying, pipelines.end_of(op)), turn:
        fragment_products.enter(state, op)
        next_lines.enter(state, op)
        if pipeline is not None:
            (prefetches if pipeline.held else pipelines).begin(state, pipeline)
        _regions(state, op, pipeline)


def _regions(state: State, op: Op, pipeline: pipelines.Pipeline | None) -> None:
    regions = list(op.regions())
    op.replace_operands(state.of)
    state.b.region.ops.append(op)
    loops = isinstance(op, control.Loop)
    before, writes = state.pending, bool(state.placement.order.effects(op).stores)
    after = Accesses()
    for region in regions:
        old, region.ops = Region(region.ops), []
        state.pending = Accesses.any(writes) if loops else Accesses()
        state.pending.add(before)
        with state.b.inside(region):
            _region(state, old)
            if pipeline is not None and region is regions[-1]:
                (prefetches if pipeline.held else pipelines).step(state, pipeline)
        after.add(state.pending)
    if isinstance(op, control.If):
        state.pending = after
        return
    # A jump out of it skips what stands behind, so the accesses may be any of those in it.
    state.pending = Accesses.any(writes or DEVICE in before.writes)


def _flying(
    state: State, loop: control.Loop, pipeline: pipelines.Pipeline | None
) -> list[tiles.TileDot]:
    """The products of a loop that may be in flight while its next iteration begins."""
    rings = {op for op, stages in state.rings.items() if stages > 1}
    if pipelines.end_of(loop) is None:
        return []
    if pipeline is not None and pipeline.stages >= pipelines.IN_FLIGHT:
        rings.update(pipeline.loads)
    flying = [
        each
        for each in loop.body.ops
        if isinstance(each, tiles.TileDot) and flights.may_fly(state, loop, each, rings)
    ]
    if pipeline is not None:
        pipeline.flies = bool(flying)
    return flying


def _op(state: State, op: Op) -> None:
    if isinstance(op, LAZY) and not isinstance(op, COMPUTED):
        _keep(state, op)
        return
    rule = RULES.get(type(op))
    if rule is not None:
        rule(state, op)
        return
    if op.cross_lane or isinstance(op, grid.LaneId):
        raise refuse(op, "a program over tiles is one thread, without lanes")
    op.replace_operands(state.of)
    if isinstance(op, grid.Barrier):
        state.meet()
    elif isinstance(op, memory.Load) and _is_shared(op.pointer.type):
        with state.together():
            state.touch(DEVICE)
            state.b.region.ops.append(op)
    elif effects.is_effect(op):
        effects.by_first(state, op)
    else:
        state.b.region.ops.append(op)


def _is_shared(type_: object) -> bool:
    return isinstance(type_, PointerType) and type_.space not in (Space.LOCAL, Space.CONSTANT)


def _keep(state: State, op: Op) -> None:
    """Store the results that are stored, of an op whose elements are computed where needed."""
    if not isinstance(op.results[0].type, TileType):
        state.b.region.ops.append(op)
        return
    results = [value for value in op.results if value in state.placement.stored]
    if not results:
        return
    if op in state.ahead:
        state.ahead[op]()
        return
    if isinstance(op, tile_memory.TileLoad) and op in state.placement.transposed:
        transposed.keep(state, op)
        return
    if state.machine.factors and results[0] in state.placement.padded:
        chunks = chunks_of(state.contiguity, op)
        if chunks is not None:
            _keep_chunks(state, op, chunks)
            return
    turned = is_turned_factor(state, op)
    made = [
        state.allocate(type_of(value), state.placement.stored[value], op.loc, value, turned)
        for value in results
    ]
    with state.together():
        for at in _places(state, op, made[0]):
            for value, storage in zip(results, made, strict=True):
                state.write(storage, at, element(state, value, at))
    state.stored.update(zip(results, made, strict=True))


def _places(state: State, op: Op, storage: Storage) -> Iterator[Coordinates]:
    """The elements that are stored. On processors lanes go along columns where a load's neighbours
    in memory are those of a column, so that they read vectors."""
    shape = storage.type.shape
    if not state.machine.lockstep or storage.own or not is_along_columns(state, op):
        yield from state.own_elements(shape)
        return
    with state.elements((*shape[:-2], shape[-1], shape[-2])) as (*outer, column, row):
        yield (*outer, row, column)


def _keep_chunks(state: State, op: Op, chunks: Chunks) -> None:
    """Store a load in shared memory by vectors."""
    value = op.results[0]
    storage = state.allocate(type_of(value), False, op.loc, value, not chunks.axis)
    with state.together():
        state.touch(storage.symbol, True)
        copy_chunks(state, op, chunks, storage, False)
    state.stored[value] = storage


LAZY = (
    tiles.TileSplat, tiles.TileIota, tiles.TileMap, tiles.TileBroadcast, tiles.TileReshape,
    tiles.TileTranspose, tiles.TileJoin, tiles.TileSplit, tiles.TileCat, tiles.TileGather,
    memory.ReadVar, tile_memory.TileLoad, tile_memory.TileLoadBlock,
)  # fmt: skip


def _write(state: State, op: memory.WriteVar) -> None:
    if not isinstance(op.var.type, TileType):
        op.replace_operands(state.of)
        state.b.region.ops.append(op)
        return
    storage = state.variables[op.var]
    source = state.stored.get(op.value)
    if source is storage:
        return
    with state.together():
        for at in state.own_elements(op.var.type.shape):
            state.write(storage, at, element(state, op.value, at))


def _item(state: State, op: tiles.TileItem) -> None:
    with state.together():
        at = (ZERO,) * len(type_of(op.source).shape)
        state.values[op.result] = element(state, op.source, at)


def _thread(state: State, op: grid.ThreadIdx) -> None:
    state.values[op.results[0]] = state.b.const(0, i32)


def _dimension(state: State, op: grid.BlockDim) -> None:
    state.values[op.results[0]] = state.b.const(1, i32)


RULES: dict[type[Op], Callable[[State, Any], None]] = {
    memory.WriteVar: _write,
    tiles.TileItem: _item,
    tiles.TileReduce: along.reduce,
    tiles.TileScan: along.scan,
    tiles.TileSort: orders.sort,
    tiles.TileHistogram: orders.histogram,
    tiles.TileDot: products.dot,
    tile_memory.TileStore: effects.store,
    tile_memory.TileStoreBlock: effects.store_block,
    tile_memory.TileAtomic: effects.atomic,
    tile_memory.TileAtomicCas: effects.atomic_cas,
    tile_memory.TilePrint: effects.print_tile,
    tile_memory.TileStopIf: effects.stop_if,
    grid.ThreadIdx: _thread,
    grid.BlockDim: _dimension,
}
