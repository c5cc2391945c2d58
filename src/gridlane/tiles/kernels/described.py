"""Products of matrices by tensor descriptors, where a device copies boxes of tensors itself."""

from __future__ import annotations

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

_ALIGN = 16
_SHARED = 200 << 10
"""Bytes of shared memory for the factors of a program."""
_MOST_STAGES = 8
_SPAN = 64
"""Elements of the inner dimension: the 128 bytes of a line of shared memory."""


class Described(NamedTuple):
    """A matrix as descriptors see it: rows of neighbours.

    Attributes:
        turned: it is the transpose of the array.
    """

    base: Any
    shape: tuple[int, int]
    step: int
    turned: bool

    @property
    def is_in_lines(self) -> bool:
        """Whether its rows are multiples of ``_LINE`` bytes apart."""
        return self.step * 2 % _LINE == 0

    def descriptor(self, rows: int, columns: int) -> TensorDescriptor:
        """The descriptor with blocks of so many rows and columns of the array."""
        block = (columns, rows) if self.turned else (rows, columns)
        return TensorDescriptor(self.base, self.shape, (self.step, 1), block)


class DescribedBlocks(NamedTuple):
    """The tile of a product, the warps, how many steps are in flight, how many tiles are computed
    whole, and the parts of the sums of the others."""

    m: int
    n: int
    k: int
    warps: int
    stages: int
    whole: int
    parts: int


def described(array: Operand) -> Described | None:
    """A matrix as descriptors see it; None if no tensor map describes its array."""
    *_, rows, columns = array.shape
    *_, down, across = array.strides
    size = _size(array)
    for shape, step, inner, turned in (
        ((rows, columns), down, across, False),
        ((columns, rows), across, down, True),
    ):
        if shape[1] > 1 and inner != 1:
            continue
        if shape[0] <= 1:
            step = -(-shape[1] // _ALIGN) * _ALIGN
        if fits(_address(array.value), shape, (step * size,)):
            return Described(array.value, shape, step, turned)
    return None


def _size(array: Operand) -> int:
    """Bytes of an element."""
    size = getattr(array.value, "itemsize", None)
    if isinstance(size, int):
        return size
    return int(array.value.dtype.itemsize)


def _address(value: Any) -> int:
    """Where an array begins; an aligned address for the host's, which a launch copies."""
    if isinstance(value, DeviceNDArray):
        return value.address
    if isinstance(value, np.ndarray):
        return address_of(value) if current.device().host_visible else _ALIGN
    return int(value.data_ptr())


# --- tiles

_TILES = (
    (128, 256, 8),
    (256, 128, 8),
    (128, 128, 8),
    (64, 256, 4),
    (64, 128, 4),
    (128, 64, 8),
    (64, 64, 4),
)
"""Rows, columns and warps."""
_PRODUCTS = 2048
"""Products of a multiprocessor in a cycle."""
_BYTES, _ODD_BYTES = 64, 40
"""That it reads from the second cache in a cycle: of rows that begin its lines, and of others."""
_LINE = 128
_STEP = 16
"""Cycles of a step besides its products."""
_ADDED_BYTES = 25
"""Of parts that a multiprocessor writes or reads in a cycle."""
_BEGIN = 3200
"""Cycles until the first products of a tile, and behind the last ones."""
_MEMORY = 2800
"""Bytes that all multiprocessors together read from the GPU's memory in a cycle."""
_ADD = 14000
"""Cycles that adding parts takes at least, as it is a launch of its own."""
_LEAST_STEPS = 8
"""Of a part."""


def described_blocks(
    m: int, n: int, k: int, asked: int | None = None, in_lines: bool = True
) -> DescribedBlocks:
    """The tile of products of matrices of (m, k) and (k, n) elements of 16 bits: that of the least
    estimated time. Tiles that are less than a round of programs may be computed in parts.

    Args:
        asked: the parts of all sums, if they are given.
        in_lines: the rows of both factors are multiples of ``_LINE`` bytes apart.

    The constants are those of an H200, of which shapes of one to sixteen rounds were measured.
    """
    return _least(m, n, k, asked, in_lines, multiprocessors())


@lru_cache(4096)
def _least(m: int, n: int, k: int, asked: int | None, in_lines: bool, busy: int) -> DescribedBlocks:
    steps = max(-(-k // _SPAN), 1)
    least, rate = 2 * (m * k + k * n + m * n) / _MEMORY, _BYTES if in_lines else _ODD_BYTES
    best: tuple[float, DescribedBlocks] | None = None
    for rows, columns, warps in _TILES:
        if rows > max(64, power_of_2(m)) or columns > max(64, power_of_2(n)):
            continue
        tiles = -(-m // rows) * -(-n // columns)
        for whole, parts in _splits(tiles, steps, busy, asked):
            cycles = _cycles(rows, columns, whole, steps, busy, rate)
            rest = tiles - whole
            if rest:
                cycles += _cycles(rows, columns, rest * parts, -(-steps // parts), busy, rate)
            # Small boxes reach less of the memory's rate.
            cycles = max(cycles, least if rows + columns >= 192 else 1.2 * least)
            if parts > 1:
                sums = rest * parts * min(rows, m) * min(columns, n)
                cycles += _ADD + 8 * sums / (busy * _ADDED_BYTES)
            if best is None or cycles < best[0]:
                span = 2 * _SPAN if rows + columns <= 192 else _SPAN
                stages = max(2, min(_MOST_STAGES, _SHARED // ((rows + columns) * span * 2)))
                best = cycles, DescribedBlocks(rows, columns, span, warps, stages, whole, parts)
    assert best is not None
    return best[1]


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


def _cycles(rows: int, columns: int, tiles: int, steps: int, busy: int, rate: int) -> float:
    """The estimated time of tiles of so many steps."""
    step = max(rows * columns * _SPAN / _PRODUCTS, (rows + columns) * _SPAN * 2 / rate)
    return -(-tiles // busy) * ((step + _STEP) * steps + _BEGIN)
