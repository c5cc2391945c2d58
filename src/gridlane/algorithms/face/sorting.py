"""``merge_sort`` and ``radix_sort``."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np

from gridlane.algorithms.face.calling import (
    Prepared,
    access,
    called,
    check_fits,
    checked_count,
    made,
    overlap,
    readable,
    writable,
)
from gridlane.algorithms.face.recipes import run
from gridlane.algorithms.inner.merge_sort import NOTHING, Pairs
from gridlane.algorithms.inner.merge_sort import merge_sort as sort_by_merging
from gridlane.algorithms.inner.radix_sort import radix_sort as sort_by_digits
from gridlane.algorithms.inner.radix_sort import scratch_of
from gridlane.algorithms.inner.scratch import Layout
from gridlane.algorithms.inner.transform import transform
from gridlane.algorithms.item_types import ItemType, item_type
from gridlane.algorithms.iterators import ConstantIterator
from gridlane.algorithms.operators import OpKind, operator
from gridlane.algorithms.sequences import Access, IteratorBase, Pointer


class SortOrder(Enum):
    """The order of a sort."""

    ASCENDING = 0
    DESCENDING = 1


class DoubleBuffer:
    """Two arrays: the current one has the input, and after a sort the current one has the result;
    the other one's items are then undefined."""

    def __init__(self, d_current: Any, d_alternate: Any) -> None:
        self.d_buffers = [d_current, d_alternate]
        self.selector = 0

    def current(self) -> Any:
        """The array that has the items."""
        return self.d_buffers[self.selector]

    def alternate(self) -> Any:
        """The other array."""
        return self.d_buffers[1 - self.selector]


def array(value: Any, name: str, count: int) -> Pointer:
    """An argument that is an array.

    Raises:
        TypeError: it is an iterator, or no array.
    """
    if isinstance(value, IteratorBase):
        raise TypeError(f"{name} is a {type(value).__name__}; it must be an array")
    given = writable(value, name, count)
    assert isinstance(given, Pointer)
    return given


# --- by merging ---


@called
def merge_sort(
    *,
    d_in_keys: Any,
    d_in_values: Any = None,
    d_out_keys: Any,
    d_out_values: Any = None,
    num_items: int,
    op: Any,
) -> Prepared:
    """Sort keys, and their values with them, by ``op(a, b)``: whether ``a`` comes before ``b``.

    Equal keys keep their order. Outputs are arrays, and may be the inputs.

    Raises:
        TypeError, ValueError, CompileError: as ``reduce_into``.
    """
    count = checked_count(num_items, "num_items")
    keys, out_keys = readable(d_in_keys, "d_in_keys", count), array(d_out_keys, "d_out_keys", count)
    check_fits(out_keys.item, keys.item, "merge_sort dtype mismatch: input dtype")
    if (d_in_values is None) != (d_out_values is None):
        raise TypeError("merge_sort: d_in_values and d_out_values come together")
    values = out_values = None
    if d_in_values is not None:
        values = readable(d_in_values, "d_in_values", count)
        out_values = array(d_out_values, "d_out_values", count)
        check_fits(out_values.item, values.item, "merge_sort dtype mismatch: values' dtype")
    item, less = out_keys.item, operator(op, 2, out_keys.item)
    items = [item] if out_values is None else [item, out_values.item]
    sources = [each for each in (keys, values) if each is not None]
    sinks: list[IteratorBase] = [each for each in (out_keys, out_values) if each is not None]
    copied = overlap(sources, sinks)
    layout = Layout(tuple((count, each) for each in items * (1 + copied)))

    def launch(parts: list[Access], stream: Any) -> None:
        source, sink = pairs(keys, values), pairs(out_keys, out_values)
        if copied:
            copy = pairs_of(parts[len(items) :])
            move(source, copy, items, count, stream)
            source = copy
        first = pairs_of(parts[: len(items)])
        sort_by_merging(source, sink, first, sink, less, item, count, stream)

    given = (*sources, *sinks)
    key = (*(each.kind for each in given), less.key)
    return Prepared(key, given, layout, launch)


def pairs(keys: IteratorBase, values: IteratorBase | None) -> Pairs:
    """Keys and values at a launch."""
    return Pairs(access(keys), NOTHING if values is None else access(values))


def pairs_of(parts: list[Access]) -> Pairs:
    """Keys, and values if there are any, in temporary memory."""
    return Pairs(parts[0], parts[1] if len(parts) > 1 else NOTHING)


def move(source: Pairs, sink: Pairs, items: list[ItemType], count: int, stream: Any) -> None:
    """Copy keys, and values if there are any."""
    same = operator(OpKind.IDENTITY, 1, None)
    transform((source.keys,), sink.keys, same, count, stream)
    if len(items) > 1:
        transform((source.values,), sink.values, same, count, stream)


make_merge_sort = made(
    "merge_sort", merge_sort, "The sort of such arguments as an object, ``Algorithm``."
)


# --- by digits ---


def in_and_out(given: Any, out: Any, name: str, count: int) -> tuple[Pointer, Pointer]:
    """The input and the output of a sort, of arrays or a ``DoubleBuffer``."""
    if isinstance(given, DoubleBuffer):
        if out is not None:
            raise TypeError(
                f"d_in_{name} is a DoubleBuffer, which has d_out_{name} in it; give None"
            )
        given, out = given.current(), given.alternate()
    elif out is None:
        raise TypeError(f"d_out_{name} is None; only a DoubleBuffer has the output in it")
    source, sink = array(given, f"d_in_{name}", count), array(out, f"d_out_{name}", count)
    if source.item != sink.item:
        raise TypeError(
            f"d_in_{name} has the dtype {source.item.dtype}, d_out_{name} {sink.item.dtype}"
        )
    return source, sink


def swap(*buffers: Any) -> None:
    """Make the outputs of double buffers their current arrays."""
    for each in buffers:
        if isinstance(each, DoubleBuffer):
            each.selector ^= 1


def checked_order(order: Any) -> bool:
    """Whether an order is the descending one."""
    if not isinstance(order, SortOrder):
        raise TypeError(f"order is {order!r}; it must be a SortOrder")
    return order is SortOrder.DESCENDING


def checked_keys(item: ItemType) -> int:
    """How many bits the keys of a radix sort have.

    Raises:
        TypeError: they are no real numbers.
    """
    if item.is_struct or item.dtype.kind not in "biuf":
        raise TypeError(f"radix_sort: keys are real numbers; got {item.dtype}; use merge_sort")
    return item.size * 8


def _bit_range(begin_bit: int | None, end_bit: int | None, bits: int) -> tuple[int, int]:
    begin = 0 if begin_bit is None else checked_count(begin_bit, "begin_bit")
    end = bits if end_bit is None else checked_count(end_bit, "end_bit")
    if not begin <= end <= bits:
        raise ValueError(
            f"begin_bit={begin} and end_bit={end}; keys have the bits 0 to {bits}, in this order"
        )
    return begin, end


def _prepare_radix(
    *,
    d_in_keys: Any,
    d_out_keys: Any,
    order: Any,
    d_in_values: Any = None,
    d_out_values: Any = None,
    num_items: Any = 0,
    begin_bit: int | None = None,
    end_bit: int | None = None,
) -> Prepared:
    count, descending = checked_count(num_items, "num_items"), checked_order(order)
    keys, out_keys = in_and_out(d_in_keys, d_out_keys, "keys", count)
    bits = checked_keys(keys.item)
    begin, end = _bit_range(begin_bit, end_bit, bits)
    values = out_values = None
    if d_in_values is not None or d_out_values is not None:
        values, out_values = in_and_out(d_in_values, d_out_values, "values", count)
    word, kind = item_type(np.dtype(f"u{bits // 8}")), keys.item.dtype.kind
    items = [word] if values is None else [word, values.item]
    layout = Layout((*((count, each) for each in items), *scratch_of(count, items)))

    def launch(parts: list[Access], stream: Any) -> None:
        source, sink = (
            Pairs(bits_of(one, word), NOTHING if two is None else access(two))
            for one, two in ((keys, values), (out_keys, out_values))
        )
        zero = access(ConstantIterator(np.int64(0)))
        sort_by_digits(
            source, sink, pairs_of(parts[: len(items)]), kind, items, (begin, end), descending,
            count, parts[len(items) :], zero, stream,
        )  # fmt: skip
        swap(d_in_keys, d_in_values)

    given = tuple(each for each in (keys, out_keys, values, out_values) if each is not None)
    return Prepared((*(each.kind for each in given), order), given, layout, launch)


def bits_of(keys: Pointer, word: ItemType) -> Access:
    """Keys as unsigned integers, over the same memory."""
    return access(Pointer(keys.state().view(word.dtype)))


def radix_sort(
    *,
    d_in_keys: Any,
    d_out_keys: Any,
    d_in_values: Any = None,
    d_out_values: Any = None,
    num_items: int,
    order: SortOrder,
    begin_bit: int | None = None,
    end_bit: int | None = None,
    stream: Any = None,
) -> None:
    """Sort keys that are real numbers, and their values with them, by their bits from ``begin_bit``
    to below ``end_bit``; by all of them if there are none. Equal keys keep their order.

    Outputs may be the inputs. Inputs may be of ``DoubleBuffer``, and the outputs None. -0.0 and 0.0
    are equal; NaN is above infinity, or below the negative one if its sign is set.

    Raises:
        TypeError, ValueError: as ``reduce_into``; keys that are no real numbers; other bits.
    """
    is_plain = {type(num_items), type(begin_bit), type(end_bit)} <= {int, type(None)}
    is_plain = is_plain and isinstance(order, SortOrder)
    what = ("radix_sort", order, num_items, begin_bit, end_bit) if is_plain else None
    given = [d_in_keys, d_out_keys, d_in_values, d_out_values]

    def prepare() -> Prepared:
        return _prepare_radix(
            d_in_keys=d_in_keys,
            d_out_keys=d_out_keys,
            d_in_values=d_in_values,
            d_out_values=d_out_values,
            num_items=num_items,
            order=order,
            begin_bit=begin_bit,
            end_bit=end_bit,
        )

    run(what, [each for each in given if each is not None], stream, prepare)


make_radix_sort = made(
    "radix_sort",
    _prepare_radix,
    "The sort of such arguments as an object, ``Algorithm``, which is called without ``order``.",
    {"num_items": 0, "begin_bit": None, "end_bit": None},
    ("order",),
)
