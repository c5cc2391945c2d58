"""``segmented_sort``."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.algorithms.face.calling import (
    Prepared,
    access,
    called,
    check_apart,
    checked_count,
    made,
)
from gridlane.algorithms.face.segments import offsets
from gridlane.algorithms.face.sorting import (
    SortOrder,
    bits_of,
    checked_keys,
    checked_order,
    in_and_out,
    swap,
)
from gridlane.algorithms.inner.merge_sort import NOTHING, Pairs, merge_sort
from gridlane.algorithms.inner.radix_sort import ordered_bits
from gridlane.algorithms.inner.scratch import Layout
from gridlane.algorithms.inner.segmented_sort import by_segment, inside_segments, number_items
from gridlane.algorithms.item_types import ItemType, item_type
from gridlane.algorithms.iterators import ZipIterator
from gridlane.algorithms.sequences import Access

_NUMBER = item_type(np.int64)


def _numbered(item: ItemType) -> ItemType:
    """The type of pairs of a segment's number and an item."""
    return item_type(np.dtype([("field_0", np.int64), ("field_1", item.dtype)], align=True))


def _with(numbers: Access, items: Access) -> Access:
    return access(ZipIterator(numbers.state, items.state))


@called
def segmented_sort(
    *,
    d_in_keys: Any,
    d_out_keys: Any = None,
    d_in_values: Any = None,
    d_out_values: Any = None,
    num_items: int,
    num_segments: int,
    start_offsets_in: Any,
    end_offsets_in: Any,
    order: SortOrder,
) -> Prepared:
    """Sort the keys of each segment, and their values with them; see ``radix_sort``.

    Segments do not overlap. What is outside of them is not written. Outputs are in other memory
    than the inputs.

    Raises:
        TypeError, ValueError: as ``radix_sort``.
    """
    count, descending = checked_count(num_items, "num_items"), checked_order(order)
    segments = checked_count(num_segments, "num_segments")
    starts = offsets(start_offsets_in, "start_offsets_in", segments)
    ends = offsets(end_offsets_in, "end_offsets_in", segments)
    keys, out_keys = in_and_out(d_in_keys, d_out_keys, "keys", count)
    word = item_type(np.dtype(f"u{checked_keys(keys.item) // 8}"))
    less = by_segment(ordered_bits(keys.item.dtype.kind, word.size * 8), descending)
    values = out_values = None
    if d_in_values is not None or d_out_values is not None:
        values, out_values = in_and_out(d_in_values, d_out_values, "values", count)
    types = [_numbered(word)] if values is None else [_numbered(word), _numbered(values.item)]
    layout = Layout(tuple((count, each) for each in (_NUMBER, *types, *types)))
    sources = [each for each in (keys, values) if each is not None]
    sinks = [each for each in (out_keys, out_values) if each is not None]

    def launch(parts: list[Access], stream: Any) -> None:
        check_apart([*sources], [*sinks], "segmented_sort")
        numbers, buffers = parts[0], parts[1:]
        number_items(numbers, access(starts), access(ends), segments, count, stream)
        ins = [_with(numbers, bits_of(keys, word))]
        outs = [bits_of(out_keys, word)]
        if values is not None and out_values is not None:
            ins.append(_with(numbers, access(values)))
            outs.append(access(out_values))
        outs = [Access(inside_segments(each.code), each.state) for each in outs]
        groups = [ins, outs, buffers[: len(types)], buffers[len(types) :]]
        pairs = [Pairs(each[0], each[1] if len(each) > 1 else NOTHING) for each in groups]
        merge_sort(pairs[0], pairs[1], pairs[2], pairs[3], less, types[0], count, stream)
        swap(d_in_keys, d_in_values)

    given = (*sources, *sinks, starts, ends)
    return Prepared((*(each.kind for each in given), order), given, layout, launch)


make_segmented_sort = made(
    "segmented_sort",
    segmented_sort,
    "The sort of such arguments as an object, ``Algorithm``, which is called without ``order``.",
    {"num_items": 0, "num_segments": 0},
    fixed=("order",),
)
