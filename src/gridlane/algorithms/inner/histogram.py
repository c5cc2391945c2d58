"""Histograms, of bins of equal width or between levels."""

# pyright: reportMissingParameterType=false
# Kernels: their arguments have the types of each launch.

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane import cuda
from gridlane.algorithms.caching import cached
from gridlane.algorithms.inner.launching import Kernel, blocks_for, kernel
from gridlane.algorithms.item_types import ItemType
from gridlane.algorithms.operators import Operator
from gridlane.algorithms.sequences import Access, Code
from gridlane.cuda.kernels.decorators import jit

_THREADS = 256
_PRIVATE = 2048
"""The most bins that each block counts in shared memory."""


@cached
def _clearing(counter: ItemType) -> Kernel:
    cast = counter.cast

    @kernel
    def clear(bins):
        for i in range(cuda.grid(1), bins.size, cuda.gridsize(1)):
            bins[i] = cast(0)

    return clear


@cached
def _evenly(common: ItemType) -> Operator:
    """The device function from a sample to its bin of equal width; -1 if there is none."""
    cast, integral = common.cast, common.dtype.kind in "iu"

    def bin_of(levels, value, bins):
        lower, upper, scale = levels
        sample = cast(value)
        if not (sample >= lower and sample < upper):
            return np.int64(-1)
        if integral:
            return np.int64(cast(sample - lower) * scale // cast(upper - lower))
        # Rounding may give the bin behind the last one.
        return min(np.int64((sample - lower) * scale), np.int64(bins - 1))

    return Operator(("evenly", common), jit(bin_of, device=True))


@cached
def _by_value(common: ItemType) -> Operator:
    """The device function from an integer to its bin, where each has one; -1 if there is none."""
    cast = common.cast

    def bin_of(levels, value, bins):
        lower, upper, _ = levels
        sample = cast(value)
        if not (sample >= lower and sample < upper):
            return np.int64(-1)
        return np.int64(sample - lower)

    return Operator(("by value", common), jit(bin_of, device=True))


@cached
def _by_levels(levels: Code, common: ItemType) -> Operator:
    """The device function from a sample to its bin between two levels; -1 if there is none."""
    cast, level_of = common.cast, levels.load

    def bin_of(state, value, bins):
        sample = cast(value)
        low = np.uint32(0)  # unsigned: an index that may be negative costs a check
        high = np.uint32(bins + 1)
        while low < high:
            middle = np.uint32(low + np.uint32(np.uint32(high - low) >> np.uint32(1)))
            if sample < cast(level_of(state, middle)):
                high = middle
            else:
                low = np.uint32(middle + np.uint32(1))
        # A sample that is no number is not less than the last level.
        return np.int64(low) - 1 if low <= bins else np.int64(-1)

    return Operator(("by levels", levels, common), jit(bin_of, device=True))


@cached
def _counting(source: Code, place: Operator, counter: ItemType, private: bool) -> Kernel:
    load, bin_of, counted = source.load, place.function, counter.cast
    room = _PRIVATE if private else 1

    @kernel
    def add_samples(ins, bins, levels, count):
        own = cuda.shared.array(room, np.uint32)
        t = cuda.threadIdx.x
        if private:
            for b in range(t, bins.size, _THREADS):
                own[b] = 0
            cuda.syncthreads()
        for i in range(cuda.grid(1), count, cuda.gridsize(1)):
            b = bin_of(levels, load(ins, i), bins.size)
            if b >= 0:
                if private:
                    cuda.atomic.add(own, b, np.uint32(1))
                else:
                    cuda.atomic.add(bins, b, counted(1))
        if private:
            cuda.syncthreads()
            for b in range(t, bins.size, _THREADS):
                if own[b] > 0:
                    cuda.atomic.add(bins, b, counted(own[b]))

    return add_samples


def histogram_even(
    source: Access,
    bins: Access,
    counter: ItemType,
    common: ItemType,
    levels: tuple[Any, Any],
    count: int,
    stream: Any,
) -> None:
    """Count the samples from ``levels[0]`` to below ``levels[1]`` in bins of equal width.

    Args:
        common: the type of comparisons, and of the levels: 64-bit integers or floats. The width of
            all bins times their number is below 2**63.
    """
    lower, upper = levels
    kind, size = common.dtype.type, bins.state.size
    integral = common.dtype.kind in "iu"
    scale = kind(size) if integral else kind(size) / (upper - lower)
    # A division takes longer than all the rest.
    place = _by_value if integral and int(upper) - int(lower) == size else _evenly
    _count(source, bins, counter, place(common), (lower, upper, scale), count, stream)


def histogram_range(
    source: Access,
    bins: Access,
    counter: ItemType,
    common: ItemType,
    levels: Access,
    count: int,
    stream: Any,
) -> None:
    """Count the samples from each of the sorted levels to below the next."""
    place = _by_levels(levels.code, common)
    _count(source, bins, counter, place, levels.state, count, stream)


def _count(
    source: Access,
    bins: Access,
    counter: ItemType,
    place: Operator,
    levels: Any,
    count: int,
    stream: Any,
) -> None:
    size = bins.state.size
    cleared = _clearing(counter)
    cleared[blocks_for(size, _THREADS, 1024), _THREADS, stream](bins.state)
    if count:
        counting = _counting(source.code, place, counter, size <= _PRIVATE)
        blocks = blocks_for(count, 4 * _THREADS, 1024)
        counting[blocks, _THREADS, stream](source.state, bins.state, levels, count)
