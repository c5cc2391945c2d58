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
_COPIES = 8
"""The most counters of a bin in a block: those of its warps."""
_ITEMS = 8
_TURNS = tuple(range(_ITEMS))
"""Samples that a thread loads at once."""
_TILE = _THREADS * _ITEMS


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

    def bin_of(levels, near, sample, bins):
        lower, upper, scale = levels
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

    def bin_of(levels, near, sample, bins):
        lower, upper, _ = levels
        if not (sample >= lower and sample < upper):
            return np.int64(-1)
        return np.int64(sample - lower)

    return Operator(("by value", common), jit(bin_of, device=True))


@cached
def _by_levels(levels: Code, common: ItemType) -> Operator:
    """The device function from a sample to its bin between two levels; -1 if there is none. A bin
    is tried first that it has if all are about as wide."""
    cast, level_of, wide = common.cast, levels.load, _guess_of(common)

    def bin_of(state, near, sample, bins):
        guess = (wide(sample) - near[0]) * near[1]
        if guess >= 0 and guess < wide(bins):
            tried = np.uint32(guess)
            least = cast(level_of(state, tried))
            end = cast(level_of(state, np.uint32(tried + np.uint32(1))))
            if sample >= least and sample < end:
                return np.int64(tried)
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


def _guess_of(common: ItemType) -> Any:
    """The type that bins are guessed in: that of samples, if these are floats."""
    return common.dtype.type if common.dtype.kind == "f" else np.float32


@cached
def _nearing(levels: Code | None, common: ItemType) -> Operator:
    """The device function to the first level, and bins for each unit of a sample."""
    wide = _guess_of(common)

    def of_levels(state, bins):
        first, last = wide(level_of(state, 0)), wide(level_of(state, bins))
        return first, wide(bins) / (last - first) if last > first else wide(0)

    def of_none(state, bins):
        return wide(0), wide(0)

    if levels is None:
        return Operator(("near none", common), jit(of_none, device=True))
    level_of = levels.load
    return Operator(("near", levels, common), jit(of_levels, device=True))


@cached
def _counting(
    source: Code,
    near: Operator,
    place: Operator,
    counter: ItemType,
    common: ItemType,
    private: bool,
) -> Kernel:
    load, bin_of, near_of, counted = source.load, place.function, near.function, counter.cast
    room, dtype, cast = _PRIVATE if private else 1, common.dtype, common.cast

    @kernel
    def add_samples(ins, bins, levels, count, copies):
        own = cuda.shared.array(room, np.uint32)
        samples = cuda.local.array(_ITEMS, dtype)
        t = np.int32(cuda.threadIdx.x)
        size = np.int32(bins.size) if private else np.int32(0)
        first = np.int32((t // 32) % copies * size)
        if private:
            for b in range(t, size * copies, _THREADS):
                own[b] = 0
            cuda.syncthreads()
        near = near_of(levels, bins.size)
        for base in range(cuda.blockIdx.x * _TILE, count, cuda.gridDim.x * _TILE):
            inside = np.int32(min(_TILE, count - base))
            # All reads come before all sums: no sum then delays a read.
            if inside == _TILE:
                for k in _TURNS:
                    samples[k] = cast(load(ins, base + (k * _THREADS + t)))
            else:
                for k in _TURNS:
                    if k * _THREADS + t < inside:
                        samples[k] = cast(load(ins, base + (k * _THREADS + t)))
            for k in _TURNS:
                if k * _THREADS + t < inside:
                    b = bin_of(levels, near, samples[k], bins.size)
                    if b >= 0:
                        if private:
                            cuda.atomic.add(own, np.uint32(first + np.int32(b)), np.uint32(1))
                        else:
                            cuda.atomic.add(bins, b, counted(1))
        if private:
            cuda.syncthreads()
            for b in range(t, size, _THREADS):
                total = np.uint32(0)
                for k in range(copies):
                    total = np.uint32(total + own[k * size + b])
                if total > 0:
                    cuda.atomic.add(bins, b, counted(total))

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
    near, given = _nearing(None, common), (lower, upper, scale)
    _count(source, bins, (counter, common), near, place(common), given, count, stream)


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
    near, place = _nearing(levels.code, common), _by_levels(levels.code, common)
    _count(source, bins, (counter, common), near, place, levels.state, count, stream)


def _count(
    source: Access,
    bins: Access,
    items: tuple[ItemType, ItemType],
    near: Operator,
    place: Operator,
    levels: Any,
    count: int,
    stream: Any,
) -> None:
    size, counter = bins.state.size, items[0]
    cleared = _clearing(counter)
    cleared[blocks_for(size, _THREADS, 1024), _THREADS, stream](bins.state)
    if count:
        counting = _counting(source.code, near, place, *items, size <= _PRIVATE)
        copies = np.int32(max(1, min(_COPIES, _PRIVATE // max(1, size))))
        blocks = blocks_for(count, _TILE, 1024)
        counting[blocks, _THREADS, stream](source.state, bins.state, levels, count, copies)
