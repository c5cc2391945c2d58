"""Loads whose neighbours in memory are not those of the store that they are for: shared memory has
them between both, so that each of them accesses neighbours.

Lines there are one word of 4 bytes longer than the tile's, so that lanes that read a column read
different banks.
"""

from __future__ import annotations

from dataclasses import replace

from gridlane.core.dtypes import DType
from gridlane.ir.op import Op
from gridlane.ir.ops import tile_memory, tiles
from gridlane.ir.types import TileType
from gridlane.passes.tiles.chunks import held_chunks, load_chunks, store_chunks
from gridlane.passes.tiles.contiguity import Contiguity
from gridlane.passes.tiles.elements import element, type_of
from gridlane.passes.tiles.indices import log2
from gridlane.passes.tiles.placement import Placement
from gridlane.passes.tiles.state import State
from gridlane.passes.tiles.widths import chunks_of, is_zero

WORD = 4
"""Bytes that lines are longer, and that one vector stores to shared memory."""
_LEAST = 8
"""Neighbours of a load and of a store that are worth it."""


def transposed_loads(placement: Placement, known: Contiguity) -> set[Op]:
    """The loads that shared memory has before a store."""
    return {op for op in placement.order.ops if _is_transposed(placement, known, op)}


def _is_transposed(placement: Placement, known: Contiguity, op: Op) -> bool:
    if not isinstance(op, tile_memory.TileLoad) or op.volatile or op.cache == "cv":
        return False
    value, uses = op.results[0], placement.uses[op.results[0]]
    type_ = value.type
    assert isinstance(type_, TileType)
    if len(uses) != 1 or value in placement.stored or len(type_.shape) != 2:
        return False
    if not isinstance(type_.element, DType) or type_.element.size > WORD or type_.element.is_bool:
        return False
    if any(log2(extent) is None for extent in type_.shape):
        return False
    if not all(is_zero(each) for each in op.other):
        return False
    store, changes = uses[0].root, [change for change in uses[0].via if change]
    if not isinstance(store, tile_memory.TileStore) or len(changes) != 1:
        return False
    (change,) = changes
    if not isinstance(change, tuple) or change[:2] != (tiles.TileTranspose.name, (1, 0)):
        return False
    read, written = known.of(op.pointers).axes, known.of(store.pointers).axes
    return (
        len(written) == 2
        and min(read[1].run, written[1].run) >= _LEAST
        and max(read[0].run, written[0].run) == 1
    )


def keep(state: State, op: tile_memory.TileLoad) -> None:
    """Store a load in shared memory; all threads load what they have before they store it."""
    value = op.results[0]
    storage = state.allocate(type_of(value), False, op.loc, value)
    chunks = chunks_of(state.contiguity, op)
    if chunks is not None and chunks.axis == 1:
        chunks = replace(chunks, width=WORD // type_of(value).element.size)
    held = None if chunks is None else held_chunks(state, op, chunks)
    with state.together():
        state.touch(storage.symbol, True)
        if chunks is not None and held is not None:
            load_chunks(state, op, chunks, held)
            store_chunks(state, op, chunks, held, storage)
        else:
            for at in state.own_elements(storage.type.shape):
                state.write(storage, at, element(state, value, at))
    state.stored[value] = storage
