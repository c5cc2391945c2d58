"""Histograms of a block's items."""

# pyright: reportMissingParameterType=false
# Device functions: their arguments have the types of each call.

from __future__ import annotations

from typing import Any

from gridlane import cuda
from gridlane.algorithms.coop.groups import block_group
from gridlane.algorithms.coop.invocable import Invocable
from gridlane.algorithms.coop.parameters import normalize_dtype_param
from gridlane.core.argtypes import ArgType, ScalarType
from gridlane.cuda.kernels.decorators import jit

_WIDEST = 16


class Histogram(Invocable):
    """A histogram, in an array of counters of the caller's, in shared or global memory.

    Attributes:
        init: the call is ``(histogram)``: set the counters to 0.
        composite: the call is ``(items, histogram)``: add a thread's items.
    """

    init: Invocable
    composite: Invocable


def make_histogram(
    item_dtype: Any,
    counter_dtype: Any,
    threads_per_block: Any,
    items_per_thread: int = 1,
    bins: int | None = None,
    algorithm: Any = None,
    temp_storage: Any = None,
) -> Histogram:
    """Count a block's items by their values.

    The result has the call ``(items, histogram)``: ``init``, then ``composite``. Items that are no
    number of a bin count nowhere. Each call ends with a barrier.

    Args:
        item_dtype: the type of the items, integers.
        counter_dtype: the type of the counters.
        threads_per_block: a number, or a tuple of two or three.
        items_per_thread: items of each thread.
        bins: the number of counters; by default that of the type's values that are not negative,
            if it has 16 bits at most.
        algorithm: accepted; the results are the same.
        temp_storage: refused: a histogram uses none.

    Raises:
        ValueError: a number that is not allowed.
        TypeError: items that are no integers.
    """
    if temp_storage is not None:
        raise NotImplementedError("Explicit temp_storage is not supported for histogram.")
    group = block_group(threads_per_block, items_per_thread)
    count = _bins(normalize_dtype_param(item_dtype), bins)
    normalize_dtype_param(counter_dtype)
    items, locate, sync = group.items, group.place, group.sync
    counter: Any = normalize_dtype_param(counter_dtype)

    @jit(device=True)
    def init(histogram):
        t, threads, mask = locate()
        for i in range(t, count, threads):
            histogram[i] = counter(0)
        sync(mask)

    @jit(device=True)
    def composite(values, histogram):
        _, _, mask = locate()
        for e in range(items):
            value = values[e]
            if 0 <= value < count:
                cuda.atomic.add(histogram, value, counter(1))
        sync(mask)

    @jit(device=True)
    def histogram(values, counters):
        init(counters)
        composite(values, counters)

    made = Histogram(histogram, 1)
    made.init, made.composite = Invocable(init, 1), Invocable(composite, 1)
    return made


def _bins(item: ArgType, bins: int | None) -> int:
    if not isinstance(item, ScalarType) or not item.dtype.is_integer:
        raise TypeError(f"items of a histogram are integers; got {item}")
    if bins is not None:
        if bins < 1:
            raise ValueError(f"bins must be a positive integer; got {bins}")
        return bins
    bits = item.bitwidth - item.signed
    if item.bitwidth > _WIDEST:
        raise ValueError(f"bins are required for items of {item}")
    return 1 << bits
