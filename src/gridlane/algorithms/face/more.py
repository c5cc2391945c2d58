"""Algorithms of CUB that ``cuda.compute`` does not have, with its manner of arguments:
``adjacent_difference``, ``partition``, ``unique`` and ``top_k``."""

# pyright: reportMissingParameterType=false
# Device functions: their arguments have the types of each call.

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.algorithms.caching import cached
from gridlane.algorithms.face.calling import (
    Prepared,
    access,
    called,
    check_apart,
    checked_count,
    counter,
    made,
    readable,
    writable,
)
from gridlane.algorithms.face.selecting import by_condition, by_neighbour, keeping, sink_of
from gridlane.algorithms.face.sorting import (
    SortOrder,
    array,
    bits_of,
    checked_keys,
    checked_order,
    move,
    pairs_of,
)
from gridlane.algorithms.inner.compaction import compact, compaction_layout
from gridlane.algorithms.inner.differences import adjacent_difference as subtract
from gridlane.algorithms.inner.merge_sort import NOTHING, Pairs
from gridlane.algorithms.inner.radix_sort import radix_sort, scratch_of
from gridlane.algorithms.inner.scratch import Layout
from gridlane.algorithms.item_types import item_type
from gridlane.algorithms.iterators import ConstantIterator
from gridlane.algorithms.operators import Operator, OpKind, operator
from gridlane.algorithms.sequences import Access, Code
from gridlane.cuda.kernels.decorators import jit


@called
def adjacent_difference(*, d_in: Any, d_out: Any, num_items: int, op: Any = None) -> Prepared:
    """Store ``d_in[0]``, and ``op(d_in[i], d_in[i - 1])`` in ``d_out[i]`` for the other places.

    Args:
        op: ``OpKind.MINUS`` by default.

    Raises:
        TypeError, ValueError, CompileError: as ``select``.
    """
    count = checked_count(num_items, "num_items")
    source, sink = readable(d_in, "d_in", count), writable(d_out, "d_out", count)
    function = operator(OpKind.MINUS if op is None else op, 2, source.item)

    def launch(parts: list[Any], stream: Any) -> None:
        check_apart([source], [sink], "adjacent_difference")
        subtract(access(source), access(sink), function, count, stream)

    return Prepared((source.kind, sink.kind, function.key), (source, sink), Layout(()), launch)


make_adjacent_difference = made(
    "adjacent_difference",
    adjacent_difference,
    "The differences of such arguments as an object, ``PlainAlgorithm``.",
    temporary=False,
)


# --- selections ---


@cached
def _behind(source: Code, sink: Code) -> Operator:
    """Selected items from the front, the others from the back, whose state has the last place."""
    load, store = source.load, sink.store

    def emit(ins, outs, i, c, place):
        store(outs[0], place if c == 0 else outs[1] - place, load(ins, i))

    return Operator(("behind", source, sink), jit(emit, device=True))


@called
def partition(
    *, d_in: Any, d_out: Any, d_num_selected_out: Any, cond: Any, num_items: int
) -> Prepared:
    """Store the items for which ``cond(item)`` is true in ``d_out``, in their order, and behind
    them the others in the reverse of theirs, as CUB does; ``d_num_selected_out[0]`` is how many the
    first are.

    Raises:
        TypeError, ValueError, CompileError: as ``select``.
    """
    count = checked_count(num_items, "num_items")
    source = readable(d_in, "d_in", count)
    sink = writable(sink_of(d_out, "d_out", source), "d_out", count)
    totals = counter(d_num_selected_out, "d_num_selected_out", 1, count)
    test = operator(cond, 1, source.item, "cond")

    def launch(parts: list[Any], stream: Any) -> None:
        check_apart([source], [sink], "partition")
        ins, outs = access(source), access(sink)
        classify, emit = by_condition(ins.code, test), _behind(ins.code, outs.code)
        states = (outs.state, np.int64(count - 1))
        compact(ins.state, states, classify, emit, access(totals), 2, count, parts, stream)

    key = (source.kind, sink.kind, totals.kind, test.key)
    return Prepared(key, (source, sink, totals), compaction_layout(count), launch)


make_partition = made(
    "partition", partition, "The partition of such arguments as an object, ``Algorithm``."
)


@called
def unique(
    *, d_in: Any, d_out: Any, d_num_selected_out: Any, num_items: int, op: Any = None
) -> Prepared:
    """Store the first item of each run of equal neighbours; ``op(a, b)`` is whether two are equal,
    ``OpKind.EQUAL_TO`` by default. ``d_num_selected_out[0]`` is the number of runs.

    Raises:
        TypeError, ValueError, CompileError: as ``select``.
    """
    count = checked_count(num_items, "num_items")
    source = readable(d_in, "d_in", count)
    sink, totals = (
        sink_of(d_out, "d_out", source),
        counter(d_num_selected_out, "d_num_selected_out", 1, count),
    )
    equal = operator(OpKind.EQUAL_TO if op is None else op, 2, source.item)

    def launch(parts: list[Any], stream: Any) -> None:
        check_apart([source], [sink], "unique")
        ins, outs = access(source), access(sink)
        classify, emit = by_neighbour(ins.code, equal, False), keeping(ins.code, outs.code)
        compact(ins.state, outs.state, classify, emit, access(totals), 2, count, parts, stream)

    key = (source.kind, sink.kind, totals.kind, equal.key)
    return Prepared(key, (source, sink, totals), compaction_layout(count), launch)


make_unique = made("unique", unique, "The selection of such runs as an object, ``Algorithm``.")


# --- the first of a sort ---


@called
def top_k(
    *,
    d_in_keys: Any,
    d_out_keys: Any,
    num_items: int,
    k: int,
    order: SortOrder = SortOrder.DESCENDING,
    d_in_values: Any = None,
    d_out_values: Any = None,
) -> Prepared:
    """Store the ``k`` first keys of the order, or all if they are fewer, and their values; the
    largest ones by default. They are sorted; see ``radix_sort``.

    Raises:
        TypeError, ValueError: as ``radix_sort``.
    """
    count, most = checked_count(num_items, "num_items"), checked_count(k, "k")
    descending, wanted = checked_order(order), min(count, most)
    keys, out_keys = array(d_in_keys, "d_in_keys", count), array(d_out_keys, "d_out_keys", wanted)
    if (d_in_values is None) != (d_out_values is None):
        raise TypeError("top_k: d_in_values and d_out_values come together")
    if keys.item != out_keys.item:
        raise TypeError(
            f"d_in_keys has the dtype {keys.item.dtype}, d_out_keys {out_keys.item.dtype}"
        )
    values = out_values = None
    items = [item_type(np.dtype(f"u{checked_keys(keys.item) // 8}"))]
    if d_in_values is not None:
        values = array(d_in_values, "d_in_values", count)
        out_values = array(d_out_values, "d_out_values", wanted)
        items.append(values.item)
    word = items[0]
    layout = Layout((*((count, each) for each in items * 2), *scratch_of(count, items)))

    def launch(parts: list[Access], stream: Any) -> None:
        source, sink = (
            Pairs(bits_of(one, word), NOTHING if two is None else access(two))
            for one, two in ((keys, values), (out_keys, out_values))
        )
        other, result = pairs_of(parts[: len(items)]), pairs_of(parts[len(items) : 2 * len(items)])
        zero = access(ConstantIterator(np.int64(0)))
        radix_sort(
            source, result, other, keys.item.dtype.kind, items, (0, word.size * 8), descending,
            count, parts[2 * len(items) :], zero, stream,
        )  # fmt: skip
        move(result, sink, items, wanted, stream)

    given = tuple(each for each in (keys, out_keys, values, out_values) if each is not None)
    return Prepared((*(each.kind for each in given), order), given, layout, launch)


make_top_k = made(
    "top_k",
    top_k,
    "The selection of such keys as an object, ``Algorithm``; it is called with ``order`` too.",
    {"num_items": 0, "k": 0},
)
