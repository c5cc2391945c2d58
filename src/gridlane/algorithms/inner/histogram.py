"""Histograms of bins of equal width."""

# pyright: reportMissingParameterType=false
# Kernels: their arguments have the types of each launch.

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane import cuda
from gridlane.algorithms.caching import cached
from gridlane.algorithms.inner.launching import blocks_for, kernel
from gridlane.algorithms.item_types import ItemType
from gridlane.algorithms.sequences import Access, Code
from gridlane.cuda.kernels.dispatcher import Dispatcher

_THREADS = 256
_PRIVATE = 2048
"""The most bins that each block counts in shared memory."""


@cached
def _clearing(counter: ItemType) -> Dispatcher:
    cast = counter.cast

    @kernel
    def clear(bins):
        for i in range(cuda.grid(1), bins.size, cuda.gridsize(1)):
            bins[i] = cast(0)

    return clear


@cached
def _counting(source: Code, common: ItemType, counter: ItemType, private: bool) -> Dispatcher:
    load, cast, counted = source.load, common.cast, counter.cast
    integral = common.dtype.kind in "iu"
    room = _PRIVATE if private else 1

    @kernel
    def add_samples(ins, bins, lower, upper, scale, count):
        """``scale`` is the number of bins, divided by the width of all for floats."""
        own = cuda.shared.array(room, np.uint32)
        t = cuda.threadIdx.x
        if private:
            for b in range(t, bins.size, _THREADS):
                own[b] = 0
            cuda.syncthreads()
        for i in range(cuda.grid(1), count, cuda.gridsize(1)):
            sample = cast(load(ins, i))
            if sample >= lower and sample < upper:
                if integral:
                    b = np.int64(cast(sample - lower) * scale // cast(upper - lower))
                else:
                    # Rounding may give the bin behind the last one.
                    b = min(np.int64((sample - lower) * scale), np.int64(bins.size - 1))
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
    """Count the samples from ``levels[0]`` to below ``levels[1]`` in each bin.

    Args:
        common: the type of comparisons, and of the levels: 64-bit integers or floats. The width of
            all bins times their number is below 2**63.
    """
    lower, upper = levels
    size = bins.state.size
    cleared = _clearing(counter)
    cleared[blocks_for(size, _THREADS, 1024), _THREADS, stream](bins.state)
    if not count:
        return
    kind = common.dtype.type
    scale = kind(size) if common.dtype.kind in "iu" else kind(size) / (upper - lower)
    counting = _counting(source.code, common, counter, size <= _PRIVATE)
    blocks = blocks_for(count, 4 * _THREADS, 1024)
    counting[blocks, _THREADS, stream](source.state, bins.state, lower, upper, scale, count)
