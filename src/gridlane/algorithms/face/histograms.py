"""``histogram_even``, and CUB's ``histogram_range``."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.algorithms.face.calling import (
    Prepared,
    access,
    called,
    checked_count,
    made,
    readable,
)
from gridlane.algorithms.inner.histogram import histogram_even as count_samples
from gridlane.algorithms.inner.histogram import histogram_range as count_between
from gridlane.algorithms.inner.scratch import Layout
from gridlane.algorithms.item_types import ItemType, item_type
from gridlane.algorithms.sequences import IteratorBase, Pointer


def _one(value: Any, name: str) -> Any:
    array = np.asarray(value)
    if array.size != 1:
        raise ValueError(f"{name} is one value; got {array.size}")
    return array.reshape(-1)[0]


def _bins(d_histogram: Any, levels: int) -> Pointer:
    if isinstance(d_histogram, IteratorBase):
        raise TypeError("d_histogram is an iterator; it must be an array")
    bins = Pointer(d_histogram)
    if bins.item.dtype.kind not in "iu" or bins.item.size < 4:
        raise TypeError(f"d_histogram has the dtype {bins.item.dtype}; 32 or 64-bit integers count")
    if levels < 2:
        raise ValueError(f"num_output_levels is {levels}; one bin has two levels")
    if levels >= 1 << 32:
        raise ValueError(f"num_output_levels is {levels}; there are less than 2**32")
    if bins.size() != levels - 1:
        raise ValueError(
            f"d_histogram has {bins.size()} items; num_output_levels={levels} makes "
            f"{levels - 1} bins"
        )
    return bins


def _real(kinds: list[np.dtype]) -> list[np.dtype]:
    if any(each.kind not in "biuf" for each in kinds):
        raise TypeError(f"samples and levels are real numbers; got {kinds}")
    return kinds


def _common(source: IteratorBase, lower: Any, upper: Any, bins: int) -> ItemType:
    """The type in which samples and levels are compared."""
    item = source.item
    if lower.dtype != upper.dtype:
        raise TypeError(
            f"lower_level and upper_level must have the same dtype; got {lower.dtype} and "
            f"{upper.dtype}"
        )
    kinds = _real([lower.dtype] if item is None else [lower.dtype, item.dtype])
    if not lower < upper:
        raise ValueError(f"lower_level {lower} must be below upper_level {upper}")
    if any(each.kind == "f" for each in kinds):
        return item_type(np.result_type(*kinds, np.float32))
    if (int(upper) - int(lower)) * bins >= 1 << 63:
        raise ValueError(f"{bins} bins from {lower} to {upper} need more than 64-bit integers")
    if np.dtype(np.uint64) not in kinds:
        return item_type(np.int64)
    if lower < 0:
        raise TypeError(f"samples of {item and item.dtype} are not compared with the level {lower}")
    return item_type(np.uint64)


def _prepare(
    *,
    d_samples: Any,
    d_histogram: Any,
    h_num_output_levels: Any,
    h_lower_level: Any,
    h_upper_level: Any,
    num_samples: Any = 0,
) -> Prepared:
    count = checked_count(num_samples, "num_samples")
    levels = checked_count(_one(h_num_output_levels, "num_output_levels"), "num_output_levels")
    lower, upper = _one(h_lower_level, "lower_level"), _one(h_upper_level, "upper_level")
    source, bins = readable(d_samples, "d_samples", count), _bins(d_histogram, levels)
    common = _common(source, lower, upper, levels - 1)
    bounds = (common.argument(lower), common.argument(upper))

    def launch(parts: list[Any], stream: Any) -> None:
        count_samples(access(source), access(bins), bins.item, common, bounds, count, stream)

    key = (source.kind, bins.kind, lower.dtype.str)
    return Prepared(key, (source, bins), Layout(()), launch)


def histogram_even(
    *,
    d_samples: Any,
    d_histogram: Any,
    num_output_levels: int,
    lower_level: Any,
    upper_level: Any,
    num_samples: int,
    stream: Any = None,
) -> None:
    """Count the samples in ``num_output_levels - 1`` bins of equal width from ``lower_level`` to
    below ``upper_level``; others are left out. ``d_histogram`` has 32 or 64-bit integers.

    Raises:
        TypeError: samples or levels that are no real numbers, levels of two types, other counters.
        ValueError: a histogram of another size, levels out of order, or too far apart.
    """
    _prepare(
        d_samples=d_samples,
        d_histogram=d_histogram,
        h_num_output_levels=num_output_levels,
        h_lower_level=lower_level,
        h_upper_level=upper_level,
        num_samples=num_samples,
    ).run(None, stream)


_make_even = made("histogram_even", _prepare, "", {"num_samples": 0})


def make_histogram_even(
    *,
    d_samples: Any,
    d_histogram: Any,
    h_num_output_levels: Any,
    h_lower_level: Any,
    h_upper_level: Any,
    num_samples: int,
    **options: Any,
) -> Any:
    """The histogram of such arguments as an object, ``Algorithm``; it takes arrays of one level.

    Args:
        num_samples: how many a call will have; it changes nothing.
    """
    checked_count(num_samples, "num_samples")
    return _make_even(
        d_samples=d_samples,
        d_histogram=d_histogram,
        h_num_output_levels=h_num_output_levels,
        h_lower_level=h_lower_level,
        h_upper_level=h_upper_level,
        **options,
    )


@called
def histogram_range(
    *, d_samples: Any, d_histogram: Any, num_output_levels: int, d_levels: Any, num_samples: int
) -> Prepared:
    """Count the samples from each of the sorted levels to below the next one; others are left out.
    ``d_histogram`` has 32 or 64-bit integers, one fewer than levels.

    Raises:
        TypeError: samples or levels that are no real numbers, or that no type compares; counters.
        ValueError: a histogram of another size.
    """
    count = checked_count(num_samples, "num_samples")
    number = checked_count(num_output_levels, "num_output_levels")
    source, bins = readable(d_samples, "d_samples", count), _bins(d_histogram, number)
    levels = readable(d_levels, "d_levels", number)
    if source.item is None or levels.item is None:
        raise TypeError("the type of the samples or of the levels is unknown")
    kinds = _real([source.item.dtype, levels.item.dtype])
    common = np.result_type(*kinds)
    if common.kind == "f" and not any(each.kind == "f" for each in kinds):
        raise TypeError(f"samples of {kinds[0]} are not compared with levels of {kinds[1]}")

    def launch(parts: list[Any], stream: Any) -> None:
        count_between(
            access(source),
            access(bins),
            bins.item,
            item_type(common),
            access(levels),
            count,
            stream,
        )

    key = (source.kind, bins.kind, levels.kind)
    return Prepared(key, (source, bins, levels), Layout(()), launch)


make_histogram_range = made(
    "histogram_range",
    histogram_range,
    "The histogram of such arguments as an object, ``Algorithm``.",
    {"num_samples": 0},
)
