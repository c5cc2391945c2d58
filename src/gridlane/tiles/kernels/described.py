"""Products of matrices by tensor descriptors, where a device copies boxes of tensors itself."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gridlane.core.tensor_map import fits
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.launch import current
from gridlane.launch.geometry import address_of
from gridlane.tiles.descriptors import TensorDescriptor
from gridlane.tiles.kernels.blocks import multiprocessors, power_of_2
from gridlane.tiles.kernels.operands import Operand

FACTORS = ("float16", "bfloat16")
"""Whose products have instructions that read both factors along either axis."""

BYTES = ("int8", "float8_e4m3fn", "float8_e5m2")
"""Of 8 bits, whose products have instructions that read both along the inner axis alone."""

_ALIGN = 16
_SHARED = 200 << 10
"""Bytes of shared memory for the factors of a program."""
_MOST_STAGES = 8
_SPAN = 64
"""Elements of the inner dimension: the 128 bytes of a line of shared memory."""


Lines = tuple[bool, bool]


class Described(NamedTuple):
    """A matrix as descriptors see it, or a batch of them: rows of neighbours.

    Attributes:
        shape: of the array's matrices.
        step: from one of their rows to the next.
        turned: the matrix is the transpose of the array's.
        batches: the extents of (outer, inner) batches and their steps, 1 of repeated ones; none of
            a single matrix.
        size: bytes of an element.
    """

    base: Any
    shape: tuple[int, int]
    step: int
    turned: bool
    batches: tuple[tuple[int, int], ...] = ()
    size: int = 2

    @property
    def is_in_lines(self) -> bool:
        """Whether its rows are multiples of ``_LINE`` bytes apart."""
        return self.step * self.size % _LINE == 0

    def descriptor(self, rows: int, columns: int) -> TensorDescriptor:
        """The descriptor with blocks of so many rows and columns of the array."""
        block = (columns, rows) if self.turned else (rows, columns)
        extents, steps = [each for each, _ in self.batches], [step for _, step in self.batches]
        ones = (1,) * len(extents)
        return TensorDescriptor(
            self.base, (*extents, *self.shape), (*steps, self.step, 1), (*ones, *block)
        )

    @property
    def moves(self) -> int:
        """Bits of whether the outer and the inner batches have steps."""
        return sum(1 << bit for bit, (extent, _) in enumerate(self.batches) if extent > 1)


class DescribedBlocks(NamedTuple):
    """The tile of a product, the warps, how many steps are in flight, how many tiles are computed
    whole, and the parts of the sums of the others.

    Attributes:
        extra: columns besides, of a tile of their own.
        programs: that a multiprocessor runs at once.
        cluster: programs that compute tiles below each other together; what is whole and the rest
            are counted in groups of so many tiles.
    """

    m: int
    n: int
    k: int
    warps: int
    stages: int
    whole: int
    parts: int
    extra: int = 0
    programs: int = 1
    cluster: int = 1


def described(array: Operand, batches: tuple[tuple[int, int], ...] = ()) -> Described | None:
    """A matrix as descriptors see it; None if no tensor map describes its array.

    Args:
        batches: extents and steps, 0 of what is repeated.
    """
    *_, rows, columns = array.shape
    *_, down, across = array.strides
    size, none = _size(array), _ALIGN  # of what has no step
    held = tuple([(n, step) if n > 1 and step else (1, none) for n, step in batches])
    for shape, step, inner, turned in (
        ((rows, columns), down, across, False),
        ((columns, rows), across, down, True),
    ):
        if shape[1] > 1 and inner != 1:
            continue
        if shape[0] <= 1:
            step = -(-shape[1] // _ALIGN) * _ALIGN
        extents, steps = (*[n for n, _ in held], *shape), (*[each for _, each in held], step)
        if fits(address_of_array(array.value), extents, [each * size for each in steps]):
            return Described(array.value, shape, step, turned, held, size)
    return None


def _size(array: Operand) -> int:
    """Bytes of an element."""
    size = getattr(array.value, "itemsize", None)
    if isinstance(size, int):
        return size
    return int(array.value.dtype.itemsize)


def address_of_array(value: Any) -> int:
    """Where an array begins; an aligned address for the host's, which a launch copies."""
    if isinstance(value, DeviceNDArray):
        return value.address
    if isinstance(value, np.ndarray):
        return address_of(value) if current.device().host_visible else _ALIGN
    return int(value.data_ptr())


# --- tiles


class Tile(NamedTuple):
    """Rows, columns and warps of a tile, columns besides in one of their own, how many programs a
    multiprocessor runs at once, and how many share the columns' factor."""

    rows: int
    columns: int
    warps: int
    extra: int = 0
    programs: int = 1
    cluster: int = 1

    @property
    def width(self) -> int:
        """All columns."""
        return self.columns + self.extra


_TILES = (
    Tile(128, 256, 8),
    Tile(256, 128, 8),
    Tile(256, 128, 8, 64),
    Tile(128, 128, 8, 64),
    Tile(128, 128, 8),
    Tile(128, 128, 4, 0, 2),
    Tile(64, 256, 4),
    Tile(64, 128, 4),
    Tile(128, 64, 8),
    Tile(64, 64, 4),
)
_CLUSTERS = (
    Tile(128, 256, 8, 0, 1, 2),
    Tile(256, 128, 8, 0, 1, 2),
    Tile(256, 128, 8, 64, 1, 2),
    Tile(128, 128, 8, 64, 1, 2),
)
"""Those of programs of clusters."""
_PRODUCTS = 2048
"""Products of a multiprocessor in a cycle."""
_BYTES, _ODD_BYTES = 64, 30
"""That it reads from the second cache in a cycle: of rows that begin its lines, and of others."""
_LINE = 128
_STEP, _EXTRA_STEP = 16, 48
"""Cycles of a step besides its products, without and with a tile of more columns."""
_CLUSTER_STEP = 24
"""Cycles of a step besides, where programs wait for those of their cluster."""
_BESIDE = 1.1
"""How much longer steps are where programs read the shared memory of a multiprocessor at once."""
_ADDED_BYTES = 25
"""Of parts that a multiprocessor writes or reads in a cycle."""
_BEGIN, _BEGIN_STORING = 3200, 2400
"""Cycles until the first products of a tile, and behind the last ones; and where the results before
are stored by a tensor map meanwhile."""
_MEMORY = 2800
"""Bytes that all multiprocessors together read from the GPU's memory in a cycle."""
_ADD = 22000
"""Cycles that adding parts takes at least, as it is a launch of its own."""
_LEAST_STEPS = 8
"""Of a part."""


def described_blocks(
    m: int,
    n: int,
    k: int,
    asked: int | None = None,
    in_lines: Lines = (True, True),
    count: int = 1,
    clusters: bool = True,
    apart: bool = False,
) -> DescribedBlocks:
    """The tile of products of matrices of (m, k) and (k, n) elements of 16 bits: that of the least
    estimated time. Tiles that are less than a round of programs may be computed in parts.

    Args:
        asked: the parts of all sums, if they are given.
        in_lines: whether the rows of each factor are multiples of ``_LINE`` bytes apart.
        count: the number of products.
        clusters: the program may run in clusters.
        apart: the sums of a step are computed apart, so that a thread has twice as many.

    The constants are those of an H200, of which shapes of one to sixteen rounds were measured.
    """
    return _least(m, n, k, asked, in_lines, count, multiprocessors(), clusters, apart)


@lru_cache(4096)
def _least(
    m: int,
    n: int,
    k: int,
    asked: int | None,
    in_lines: Lines,
    count: int,
    busy: int,
    clusters: bool,
    apart: bool = False,
) -> DescribedBlocks:
    steps, products = max(-(-k // _SPAN), 1), [(m, k), (k, n), (m, n)]
    least = 2 * count * sum(rows * columns for rows, columns in products) / _MEMORY
    best: tuple[float, DescribedBlocks] | None = None
    for tile in (*_TILES, *(_CLUSTERS if clusters else ())):
        rows, width, groups = tile.rows * tile.cluster, tile.width, busy // tile.cluster
        if rows > max(64, power_of_2(m)) or tile.columns > max(64, power_of_2(n)):
            continue
        if not groups or (tile.extra and n <= tile.columns) or (apart and not _has_room(tile)):
            continue
        tiles = count * -(-m // rows) * -(-n // width)
        for whole, parts in _splits(tiles, steps, groups, asked):
            cycles = _cycles(tile, whole, steps, groups, in_lines)
            rest = tiles - whole
            if rest:
                cycles += _cycles(tile, rest * parts, -(-steps // parts), groups, in_lines)
            # Small boxes reach less of the memory's rate.
            cycles = max(cycles, least if rows + width >= 192 else 1.2 * least)
            if parts > 1:
                sums = rest * parts * min(rows, m) * min(width, n)
                cycles += _ADD + 8 * sums / (busy * _ADDED_BYTES)
            if best is None or cycles < best[0]:
                best = cycles, blocks_of(tile, whole, parts, _SPAN if apart else None)
    assert best is not None
    return best[1]


_APART = 64
"""Sums of a thread of which it may have twice as many."""


def _has_room(tile: Tile) -> bool:
    """Whether a thread has registers for two of its sums each."""
    return not tile.extra and tile.rows * tile.columns <= _APART * 32 * tile.warps


def blocks_of(tile: Tile, whole: int, parts: int, span: int | None = None) -> DescribedBlocks:
    """A tile with as many steps in flight as have room.

    Args:
        span: elements of the inner dimension of a step.
    """
    rows, columns, warps, extra, programs, cluster = tile
    if span is None:
        span = 2 * _SPAN if rows + columns + extra <= 192 else _SPAN
    stages = stages_of(tile, span)
    return DescribedBlocks(
        rows, columns, span, warps, stages, whole, parts, extra, programs, cluster
    )


def stages_of(tile: Tile, span: int) -> int:
    """How many steps of so many elements in flight have room."""
    step = (tile.rows + tile.width) * span * 2
    return max(2, min(_MOST_STAGES, _SHARED // tile.programs // step))


def _splits(tiles: int, steps: int, busy: int, asked: int | None) -> list[tuple[int, int]]:
    """How many tiles to compute whole, and in how many parts the others."""
    if asked is not None:
        parts = min(asked, steps)
        return [(tiles, 1) if parts == 1 else (0, parts)]
    choices = [(tiles, 1)]
    whole = tiles // busy * busy
    most = min(busy // max(tiles - whole, 1), steps // _LEAST_STEPS)
    if whole < tiles:
        choices += [(whole, parts) for parts in {most, most // 2} if parts > 1]
    return choices


def _cycles(tile: Tile, tiles: int, steps: int, busy: int, in_lines: Lines) -> float:
    rates = [_BYTES if each else _ODD_BYTES for each in in_lines]
    return cycles(tile, tiles, steps, busy, _SPAN, rates)


def cycles(
    tile: Tile,
    tiles: int,
    steps: int,
    busy: int,
    span: int,
    rates: Sequence[int] = (_BYTES, _BYTES),
) -> float:
    """The estimated time of tiles of so many steps. Programs of one multiprocessor store while
    others multiply. A cluster reads the columns' factor once for all its programs, each of which
    receives all of it.

    Args:
        tiles, busy: those that clusters compute together, and the clusters that run at once.
        span: the elements of a step.
        rates: bytes of each factor that a multiprocessor reads from the second cache in a cycle.
    """
    line = span * 2
    read = tile.rows * line / rates[0] + tile.width * line / (rates[1] * tile.cluster)
    received = (tile.rows + tile.width) * line / _BYTES
    step = max(tile.rows * tile.width * span / _PRODUCTS, read, received)
    rounds = -(-tiles // (busy * tile.programs))
    step += _EXTRA_STEP if tile.extra else _STEP
    step += _CLUSTER_STEP if tile.cluster > 1 else 0
    if tile.programs > 1:
        return rounds * (_BESIDE * step * steps * tile.programs + _BEGIN / tile.programs)
    return rounds * (step * steps + (_BEGIN if tile.extra else _BEGIN_STORING))
