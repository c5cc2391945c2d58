"""The cells that a block computes first, their targets, and the places of its halo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gridlane.actors.lattices.tiles import Tiles
from gridlane.actors.layouts.blocks import HaloHeader, RoutingTable
from gridlane.actors.layouts.python import dtype

Array = np.ndarray[Any, Any]

ENTRY = 1 << 24
"""A target of a value is the entry of the sender's routing table times this, plus the distance from
the entry's first word."""


@dataclass(frozen=True, slots=True)
class Lists:
    """Arrays of int32, one row for each block, -1 where a row is shorter.

    Attributes:
        shell: the corners in the tile of the cells that others need, or that touch other tiles.
        targets: of each of these, its targets; (blocks, cells, most targets).
        halo: places in the tile of the arriving values, in their order.
        routes: the routing table of each block.
        headers: the header of each halo that a block receives, (blocks, directions).
    """

    shell: Array
    targets: Array
    halo: Array
    routes: Array
    headers: Array


def lists_of(tiles: Tiles, threads: int) -> Lists:
    """The lists of all blocks; rows have a multiple of ``threads``."""
    owners, fixed = _owners(tiles), tiles.space.is_fixed()
    halos = [_halo(tiles, owners, fixed, block) for block in range(tiles.count)]
    row = _rounded(max(len(each.places) for each in halos), threads)
    halo = np.full((tiles.count, row), -1, np.int32)
    for block, each in enumerate(halos):
        halo[block, : len(each.places)] = each.places
    routes, headers = _tables(tiles, row, halos)
    shells = [_shell(tiles, fixed, block) for block in range(tiles.count)]
    length = _rounded(max(len(shell) for shell in shells), threads)
    shell = np.full((tiles.count, length), -1, np.int32)
    for block, cells in enumerate(shells):
        shell[block, : len(cells)] = cells - tiles.corner
    return Lists(shell, _targets(shells, length, halos), halo, routes, headers)


def _targets(shells: list[Array], length: int, halos: list[_Halo]) -> Array:
    """The targets of the shells' values."""
    senders, cells, targets = (
        np.concatenate([getattr(each, name) for each in halos])
        for name in ("senders", "cells", "targets")
    )
    order = np.lexsort((targets, cells, senders))
    senders, cells, targets = senders[order], cells[order], targets[order]
    starts = np.searchsorted(senders, np.arange(len(shells) + 1))
    ranks = np.zeros(len(cells), np.int64)
    for column in range(1, 27):
        again = ranks[:-1] == column - 1
        again &= (cells[1:] == cells[:-1]) & (senders[1:] == senders[:-1])
        ranks[1:][again] = column
    most = int(ranks.max(initial=-1)) + 1
    array = np.full((len(shells), length, most), -1, np.int32)
    for block, shell in enumerate(shells):
        own = slice(starts[block], starts[block + 1])
        array[block, np.searchsorted(shell, cells[own]), ranks[own]] = targets[own]
    return array


def _rounded(count: int, threads: int) -> int:
    return -(-count // threads) * threads


def _owners(tiles: Tiles) -> Array:
    """Of each cell, its place in the tile of the block that owns it."""
    array = np.zeros(tiles.space.extents, np.int64)
    for block in range(tiles.count):
        box = tiles.box(block)
        inside = tuple(slice(*ends) for ends in box)
        array[inside] = _places(tiles, [np.arange(end - first) for first, end in box])
    return array


def _places(tiles: Tiles, axes: list[Array]) -> Array:
    """Places in the tile of the cells with these coordinates in it; negative ones are in the
    halo."""
    z, y, x = (axis + pad for axis, pad in zip(axes, tiles.space.pads, strict=True))
    plane, row, _ = tiles.steps
    return z[:, None, None] * plane + y[:, None] * row + x


@dataclass(frozen=True, slots=True)
class _Halo:
    """The values that arrive at a block, in their order.

    Attributes:
        places: in its tile.
        senders: the blocks that own them.
        cells: places in the senders' tiles.
        targets: as the senders have them.
        ways: of each direction of a sender: (sender, entry, first value, values).
    """

    places: Array
    senders: Array
    cells: Array
    targets: Array
    ways: list[tuple[int, int, int, int]]


def _halo(tiles: Tiles, owners: Array, fixed: Array, block: int) -> _Halo:
    parts: list[tuple[Array, ...]] = [(np.zeros(0, np.int64),) * 4]
    ways: list[tuple[int, int, int, int]] = []
    box, extents, first = tiles.box(block), tiles.space.extents, 0
    for direction in tiles.directions:
        sender = tiles.neighbour(block, direction)
        if sender is None:
            continue
        entry = tiles.directions.index((-direction[0], -direction[1], -direction[2]))
        sides = zip(direction, box, strict=True)
        local = [_side(by, end - begin, tiles.space.halo) for by, (begin, end) in sides]
        starts = zip(local, box, extents, strict=True)
        index = np.ix_(*[(each + begin) % n for each, (begin, _), n in starts])
        live = ~fixed[index].reshape(-1)
        count = int(live.sum())
        parts.append(
            (
                _places(tiles, local).reshape(-1)[live],
                np.full(count, sender),
                owners[index].reshape(-1)[live],
                entry * ENTRY + np.arange(count),
            )
        )
        ways.append((sender, entry, first, count))
        first += count
    indices, senders, cells, targets = (np.concatenate(each) for each in zip(*parts, strict=True))
    return _Halo(indices, senders, cells, targets, ways)


def _side(by: int, extent: int, halo: int) -> Array:
    """Coordinates of a halo's cells in a direction along one axis."""
    if by < 0:
        return np.arange(-halo, 0)
    return np.arange(extent, extent + halo) if by > 0 else np.arange(extent)


def _shell(tiles: Tiles, fixed: Array, block: int) -> Array:
    """The cells near the faces of a tile, in the order of their places."""
    box = tiles.box(block)
    extents = tuple(end - first for first, end in box)
    near = np.zeros(extents, bool)
    for axis, margin in enumerate(tiles.margins):
        if margin:
            ends = np.moveaxis(near, axis, 0)
            ends[:margin] = True
            ends[-margin:] = True
    near &= ~fixed[tuple(slice(*ends) for ends in box)]
    return _places(tiles, [np.arange(n) for n in extents])[near]


def _tables(tiles: Tiles, row: int, halos: list[_Halo]) -> tuple[Array, Array]:
    """The routing tables and the headers. An entry's inbox is the number of the first word of the
    halo that it writes."""
    routes = np.zeros(tiles.count, dtype(RoutingTable))
    headers = np.zeros((tiles.count, len(tiles.directions)), dtype(HaloHeader))
    routes["count"], routes["capacity"] = len(tiles.directions), len(tiles.directions)
    routes["version"] = 2
    for block, halo in enumerate(halos):
        for sender, entry, first, count in halo.ways:
            route = routes["entries"][sender, entry]
            route["key"], route["inbox"], route["capacity"] = entry, block * row + first, count
            route["slot_bytes"], route["version"], route["flags"] = 8, 2, 1
            direction = len(tiles.directions) - 1 - entry
            header = headers[block, direction]
            header["source"], header["bytes"], header["direction"] = sender, 8 * count, direction
    return routes, headers
