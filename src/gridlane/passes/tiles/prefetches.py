"""Loads of loops, one iteration ahead, by registers: for devices without asynchronous copies.

Each iteration begins with a barrier, loads the tiles of the next one into registers, and multiplies
its own. With two stages in shared memory it then stores what it has loaded into the other one,
which all have read before the barrier. With one stage it stores what the iteration before has
loaded behind the barrier, in front of another.
"""

from __future__ import annotations

from functools import partial

from gridlane.core.dtypes import i32
from gridlane.ir.op import Op
from gridlane.ir.values import Value
from gridlane.passes.tiles import decisions
from gridlane.passes.tiles.accesses import DEVICE
from gridlane.passes.tiles.chunks import load_chunks, store_chunks
from gridlane.passes.tiles.elements import type_of
from gridlane.passes.tiles.pipelines import Pipeline, prepared
from gridlane.passes.tiles.state import State
from gridlane.passes.tiles.widths import Chunks


def begin(state: State, pipeline: Pipeline) -> None:
    """In front of the loop: load the tiles of the first iteration."""
    b, order = state.b, state.placement.order
    life = order.number[pipeline.loop], order.last[pipeline.loop]
    decisions.pipeline(pipeline.loop.loc, len(pipeline.loads), pipeline.stages)
    for op, chunks in pipeline.loads.items():
        value = op.results[0]
        decisions.stored(state.machine, type_of(value), op.loc, 0, pipeline.stages)
        pipeline.rings[op] = state.ring(value, not chunks.axis, pipeline.stages, life)
        state.ahead[op] = partial(_advance, state, pipeline)
    pipeline.slot = b.variable("stage", i32)
    b.write(pipeline.slot, b.const(0, i32))
    with state.together():
        for ring in pipeline.rings.values():
            state.touch(ring.symbol, True)
        _load(state, pipeline, 0)
        if pipeline.stages == 2:
            _store(state, pipeline, b.const(0, i32))


def _load(state: State, pipeline: Pipeline, distance: int) -> None:
    """Load the tiles of an iteration. In the loop no branch is around the loads, behind which
    compilers would wait for them."""

    def load(op: Op, chunks: Chunks) -> None:
        load_chunks(state, op, chunks, pipeline.held[op])

    prepared(state, pipeline, distance, load, always=distance > 0)()


def _store(state: State, pipeline: Pipeline, slot: Value) -> None:
    for op, chunks in pipeline.loads.items():
        store_chunks(state, op, chunks, pipeline.held[op], state.stage(pipeline.rings[op], slot))


def _advance(state: State, pipeline: Pipeline) -> None:
    """At the first load of an iteration."""
    if pipeline.started:
        return
    pipeline.started = True
    b = state.b
    assert pipeline.slot is not None
    slot = b.read(pipeline.slot)
    state.meet(_reads_alone(state, pipeline))
    if pipeline.stages == 1:
        _store(state, pipeline, slot)
        with state.together():
            _load(state, pipeline, 1)
        state.meet(shared=True)
    else:
        with state.together():
            _load(state, pipeline, 1)
    for op, ring in pipeline.rings.items():
        state.stored[op.results[0]] = state.stage(ring, slot)


def _reads_alone(state: State, pipeline: Pipeline) -> bool:
    """Whether a loop, and what is in front of it since threads have met, stores nothing to device
    memory."""
    effects = state.placement.order.effects(pipeline.loop)
    return not effects.stores and DEVICE not in state.pending.writes


def step(state: State, pipeline: Pipeline) -> None:
    """Between two iterations: store the tiles of the next one."""
    if pipeline.stages == 1:
        return
    b = state.b
    assert pipeline.slot is not None
    other = b.sub(b.const(1, i32), b.read(pipeline.slot))
    _store(state, pipeline, other)
    b.write(pipeline.slot, other)
