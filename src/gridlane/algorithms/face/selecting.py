"""``select``, ``three_way_partition`` and ``unique_by_key``."""

# pyright: reportMissingParameterType=false
# Device functions: their arguments have the types of each call.

from __future__ import annotations

from typing import Any

from gridlane.algorithms.caching import cached
from gridlane.algorithms.face.calling import (
    Prepared,
    access,
    called,
    check_apart,
    check_fits,
    checked_count,
    counter,
    made,
    readable,
    writable,
)
from gridlane.algorithms.inner.compaction import compact, compaction_layout
from gridlane.algorithms.operators import Operator, operator
from gridlane.algorithms.sequences import Code, IteratorBase
from gridlane.cuda.kernels.decorators import jit


@cached
def by_condition(source: Code, cond: Operator) -> Operator:
    """The class 0 for an item that a condition is true for."""
    load, test = source.load, cond.function

    def classify(ins, i):
        return 0 if test(load(ins, i)) else 1

    return Operator(("select", source, cond), jit(classify, device=True))


@cached
def _by_conditions(source: Code, first: Operator, second: Operator) -> Operator:
    load, test1, test2 = source.load, first.function, second.function

    def classify(ins, i):
        item = load(ins, i)
        if test1(item):
            return 0
        return 1 if test2(item) else 2

    return Operator(("three ways", source, first, second), jit(classify, device=True))


@cached
def by_neighbour(keys: Code, equal: Operator, with_items: bool) -> Operator:
    """The class 0 for an item that differs from the one before, ``equal`` says how.

    Args:
        with_items: the state has that of the keys first, and that of their items.
    """
    load, same = keys.load, equal.function

    def classify(ins, i):
        own = ins[0] if with_items else ins
        if i == 0:
            return 0
        return 1 if same(load(own, i - 1), load(own, i)) else 0

    return Operator(("unique", keys, equal, with_items), jit(classify, device=True))


@cached
def keeping(source: Code, sink: Code) -> Operator:
    """Write the items of the class 0."""
    load, store = source.load, sink.store

    def emit(ins, outs, i, c, place):
        if c == 0:
            store(outs, place, load(ins, i))

    return Operator(("keep", source, sink), jit(emit, device=True))


@cached
def _keeping_pairs(sources: tuple[Code, Code], sinks: tuple[Code, Code]) -> Operator:
    (load1, load2), (store1, store2) = ((s.load for s in sources), (s.store for s in sinks))

    def emit(ins, outs, i, c, place):
        if c == 0:
            store1(outs[0], place, load1(ins[0], i))
            store2(outs[1], place, load2(ins[1], i))

    return Operator(("keep pairs", sources, sinks), jit(emit, device=True))


@cached
def _parting(source: Code, sinks: tuple[Code, Code, Code]) -> Operator:
    load = source.load
    store1, store2, store3 = (each.store for each in sinks)

    def emit(ins, outs, i, c, place):
        item = load(ins, i)
        if c == 0:
            store1(outs[0], place, item)
        elif c == 1:
            store2(outs[1], place, item)
        else:
            store3(outs[2], place, item)

    return Operator(("part", source, sinks), jit(emit, device=True))


def sink_of(value: Any, name: str, source: IteratorBase) -> IteratorBase:
    """An output of some of the items of a source; how many is unknown."""
    sink = writable(value, name)
    if sink.item is not None:
        check_fits(sink.item, source.item, f"{name}: dtype mismatch: input dtype")
    return sink


@called
def select(
    *, d_in: Any, d_out: Any, d_num_selected_out: Any, cond: Any, num_items: int
) -> Prepared:
    """Store the items for which ``cond(item)`` is true in ``d_out``, in their order, and how many
    they are in ``d_num_selected_out[0]``. ``cond`` is called once for each item.

    Raises:
        TypeError, CompileError: as ``reduce_into``.
        ValueError: as ``reduce_into``, or an output in the memory of an input.
    """
    count = checked_count(num_items, "num_items")
    source = readable(d_in, "d_in", count)
    sink, totals = (
        sink_of(d_out, "d_out", source),
        counter(d_num_selected_out, "d_num_selected_out", 1, count),
    )
    test = operator(cond, 1, source.item, "cond")

    def launch(parts: list[Any], stream: Any) -> None:
        check_apart([source], [sink], "select")
        ins, outs = access(source), access(sink)
        classify, emit = by_condition(ins.code, test), keeping(ins.code, outs.code)
        compact(ins.state, outs.state, classify, emit, access(totals), 2, count, parts, stream)

    key = (source.kind, sink.kind, totals.kind, test.key)
    return Prepared(key, (source, sink, totals), compaction_layout(count), launch)


make_select = made("select", select, "The selection of such arguments as an object, ``Algorithm``.")


@called
def three_way_partition(
    *,
    d_in: Any,
    d_first_part_out: Any,
    d_second_part_out: Any,
    d_unselected_out: Any,
    d_num_selected_out: Any,
    select_first_part_op: Any,
    select_second_part_op: Any,
    num_items: int,
) -> Prepared:
    """Store the items that the first function is true for in the first output, of the others those
    that the second is true for in the second, and the rest in the third, all in their order.

    ``d_num_selected_out[0]`` and ``[1]`` are how many the first two are.

    Raises:
        TypeError, ValueError, CompileError: as ``select``.
    """
    count = checked_count(num_items, "num_items")
    source = readable(d_in, "d_in", count)
    sinks = [
        sink_of(d_first_part_out, "d_first_part_out", source),
        sink_of(d_second_part_out, "d_second_part_out", source),
        sink_of(d_unselected_out, "d_unselected_out", source),
    ]
    totals = counter(d_num_selected_out, "d_num_selected_out", 2, count)
    first = operator(select_first_part_op, 1, source.item, "select_first_part_op")
    second = operator(select_second_part_op, 1, source.item, "select_second_part_op")

    def launch(parts: list[Any], stream: Any) -> None:
        check_apart([source], sinks, "three_way_partition")
        ins, outs = access(source), [access(each) for each in sinks]
        classify = _by_conditions(ins.code, first, second)
        emit = _parting(ins.code, (outs[0].code, outs[1].code, outs[2].code))
        states = (outs[0].state, outs[1].state, outs[2].state)
        compact(ins.state, states, classify, emit, access(totals), 3, count, parts, stream)

    key = (source.kind, *(each.kind for each in sinks), totals.kind, first.key, second.key)
    return Prepared(key, (source, *sinks, totals), compaction_layout(count), launch)


make_three_way_partition = made(
    "three_way_partition",
    three_way_partition,
    "The partition of such arguments as an object, ``Algorithm``.",
)


@called
def unique_by_key(
    *,
    d_in_keys: Any,
    d_in_items: Any,
    d_out_keys: Any,
    d_out_items: Any,
    d_out_num_selected: Any,
    op: Any,
    num_items: int,
) -> Prepared:
    """Store the first key of each run of equal neighbours, and its item; ``op(a, b)`` is whether
    two keys are equal. ``d_out_num_selected[0]`` is the number of runs.

    Raises:
        TypeError, ValueError, CompileError: as ``select``.
    """
    count = checked_count(num_items, "num_items")
    keys = readable(d_in_keys, "d_in_keys", count)
    items = readable(d_in_items, "d_in_items", count)
    out_keys = sink_of(d_out_keys, "d_out_keys", keys)
    out_items = sink_of(d_out_items, "d_out_items", items)
    totals = counter(d_out_num_selected, "d_out_num_selected", 1, count)
    equal = operator(op, 2, keys.item)

    def launch(parts: list[Any], stream: Any) -> None:
        check_apart([keys, items], [out_keys, out_items], "unique_by_key")
        sources, sinks = (access(keys), access(items)), (access(out_keys), access(out_items))
        emit = _keeping_pairs((sources[0].code, sources[1].code), (sinks[0].code, sinks[1].code))
        ins, outs = (tuple(each.state for each in pair) for pair in (sources, sinks))
        classify = by_neighbour(sources[0].code, equal, True)
        compact(ins, outs, classify, emit, access(totals), 2, count, parts, stream)

    key = (keys.kind, items.kind, out_keys.kind, out_items.kind, totals.kind, equal.key)
    given = (keys, items, out_keys, out_items, totals)
    return Prepared(key, given, compaction_layout(count), launch)


make_unique_by_key = made(
    "unique_by_key", unique_by_key, "The selection of such runs as an object, ``Algorithm``."
)
