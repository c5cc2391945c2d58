"""The partition of a lattice into the tiles of its blocks."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from math import prod

from gridlane.actors.lattices.space import Space, Triple

INNER, SHELL, ARRIVAL = 0.28, 0.68, 0.32
"""Cycles of a multiprocessor for an inner cell, for a cell near a face and its sends, and for an
arriving value; measured on an H100 with seven points."""


@dataclass(frozen=True, slots=True)
class Tiles:
    """A lattice in blocks, each with a box of cells, its tile, and a halo round it.

    Attributes:
        space: the cells.
        blocks: along each axis.
    """

    space: Space
    blocks: Triple

    @property
    def count(self) -> int:
        """All blocks."""
        return prod(self.blocks)

    @property
    def largest(self) -> Triple:
        """The most cells of a tile along each axis."""
        z, y, x = (-(-n // b) for n, b in zip(self.space.extents, self.blocks, strict=True))
        return z, y, x

    @property
    def is_even(self) -> bool:
        """Whether all tiles have the same extents."""
        return not any(n % b for n, b in zip(self.space.extents, self.blocks, strict=True))

    @property
    def padded(self) -> Triple:
        """The extents of the largest tile with its halo."""
        z, y, x = (n + 2 * p for n, p in zip(self.largest, self.space.pads, strict=True))
        return z, y, x

    @property
    def size(self) -> int:
        """Words of a tile with its halo."""
        return prod(self.padded)

    @property
    def steps(self) -> Triple:
        """Words between neighbours along each axis in a tile."""
        _, y, x = self.padded
        return y * x, x, 1

    @property
    def margins(self) -> Triple:
        """Cells at each end of a tile's axes that are computed first."""
        return self.space.margins(self.blocks)

    @property
    def corner(self) -> int:
        """Words from a cell's corner, the cell at the lowest offset along each axis, to the
        cell."""
        return sum(p * s for p, s in zip(self.space.pads, self.steps, strict=True))

    def place(self, block: int) -> Triple:
        """A block's place along each axis; blocks are counted along the last axis first."""
        _, by, bx = self.blocks
        return block // (by * bx), block // bx % by, block % bx

    def number(self, place: Triple) -> int:
        """The block at a place."""
        _, by, bx = self.blocks
        return (place[0] * by + place[1]) * bx + place[2]

    def box(self, block: int) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
        """First cell and end of a block's tile along each axis."""
        axes = zip(self.place(block), self.space.extents, self.blocks, strict=True)
        z, y, x = ((at * n // b, (at + 1) * n // b) for at, n, b in axes)
        return z, y, x

    def neighbour(self, block: int, direction: Triple) -> int | None:
        """The block in a direction, or None at the end of an axis."""
        results: list[int] = []
        for coordinate, by, count, around in zip(
            self.place(block), direction, self.blocks, self.space.periodic, strict=True
        ):
            there = coordinate + by
            if not around and not 0 <= there < count:
                return None
            results.append(there % count)
        return self.number((results[0], results[1], results[2]))

    @property
    def directions(self) -> list[Triple]:
        """The directions of a routing table's entries: faces alone, or edges and corners as
        well."""
        axes = [(-1, 0, 1) if pad else (0,) for pad in self.space.pads]
        results = [(z, y, x) for z, y, x in itertools.product(*axes) if z or y or x]
        return [each for each in results if self.space.corners or sum(map(abs, each)) == 1]

    @property
    def arrivals(self) -> int:
        """The most cells of a halo that others own."""
        halo, count = self.space.halo, 0
        for direction in self.directions:
            sides = list(zip(direction, self.largest, self.margins, strict=True))
            if all(margin for by, _, margin in sides if by):
                count += prod(halo if by else n for by, n, _ in sides)
        return count

    @property
    def fits_halo(self) -> bool:
        """Whether every tile is as wide as the halo, so that neighbours alone have its cells."""
        axes = zip(self.space.extents, self.blocks, self.space.pads, strict=True)
        return all(n // b >= max(1, p) for n, b, p in axes)

    @property
    def cost(self) -> float:
        """Cycles of a step, roughly: accesses of 32 words are as long as a row of a tile."""
        row, cells = self.largest[2], prod(self.largest)
        sizes = zip(self.largest, self.margins, strict=True)
        inner = prod(max(0, n - 2 * margin) for n, margin in sizes)
        wasted = -(-row // 32) * 32 / row
        return inner * INNER * wasted + (cells - inner) * SHELL + self.arrivals * ARRIVAL


def best_tiles(space: Space, most: int, words: int, fields: int) -> Tiles | None:
    """The quickest partition into at most ``most`` blocks.

    Args:
        words: of shared memory that a block has.
        fields: buffers that a tile has.
    """
    best: Tiles | None = None
    nz, ny, nx = space.extents
    for z in range(1, min(most, nz) + 1):
        for y in range(1, min(most // z, ny) + 1):
            for x in range(1, min(most // (z * y), nx) + 1):
                tiles = Tiles(space, (z, y, x))
                if not tiles.fits_halo or tiles.size * fields > words:
                    continue
                if best is None or tiles.cost < best.cost:
                    best = tiles
    return best
