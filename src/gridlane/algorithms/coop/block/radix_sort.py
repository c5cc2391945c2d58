"""Sorts of a block's numbers by some or all of their bits.

They are stable merges by the bits, so the results are those of a radix sort.
"""

# pyright: reportMissingParameterType=false
# Device functions: their arguments have the types of each call.

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane import cuda
from gridlane.algorithms.caching import cached
from gridlane.algorithms.coop.elements import Element, element_of
from gridlane.algorithms.coop.groups import block_group
from gridlane.algorithms.coop.invocable import Invocable, with_memory
from gridlane.algorithms.coop.merging import gathering, sort_bytes, sorting_places
from gridlane.algorithms.coop.parameters import normalize_dtype_param
from gridlane.algorithms.inner.radix_sort import ordered_bits
from gridlane.core.argtypes import ScalarType
from gridlane.cuda import types
from gridlane.cuda.kernels.decorators import jit
from gridlane.cuda.kernels.dispatcher import Dispatcher


def make_radix_sort_keys(dtype: Any, threads_per_block: Any, items_per_thread: int) -> Invocable:
    """Sort a block's numbers, a row of them in each thread, from the smallest.

    The result has the call ``(keys)`` or ``(keys, begin_bit, end_bit)``: by these bits only. -0.0
    and 0.0 are equal, NaN is above infinity. Equal keys keep their order.

    Args:
        dtype: the type of the keys.
        threads_per_block: a number, or a tuple of two or three.
        items_per_thread: keys of each thread.

    Raises:
        ValueError: a number that is not allowed.
        TypeError: keys that are no real numbers.
    """
    return _radix_sort(dtype, None, threads_per_block, items_per_thread, False)


def make_radix_sort_keys_descending(
    dtype: Any, threads_per_block: Any, items_per_thread: int
) -> Invocable:
    """Sort a block's numbers from the largest; see ``make_radix_sort_keys``."""
    return _radix_sort(dtype, None, threads_per_block, items_per_thread, True)


def make_radix_sort_pairs(
    keys: Any, values: Any, threads_per_block: Any, items_per_thread: int
) -> Invocable:
    """Sort a block's numbers from the smallest, and their values with them: the call is ``(keys,
    values)`` or ``(keys, values, begin_bit, end_bit)``. ``keys`` and ``values`` are types; see
    ``make_radix_sort_keys``."""
    return _radix_sort(keys, values, threads_per_block, items_per_thread, False)


def make_radix_sort_pairs_descending(
    keys: Any, values: Any, threads_per_block: Any, items_per_thread: int
) -> Invocable:
    """Sort a block's numbers from the largest, and their values with them; see
    ``make_radix_sort_pairs``."""
    return _radix_sort(keys, values, threads_per_block, items_per_thread, True)


def _radix_sort(
    dtype: Any, values: Any, threads_per_block: Any, items_per_thread: int, descending: bool
) -> Invocable:
    group = block_group(threads_per_block, items_per_thread)
    key = element_of(normalize_dtype_param(dtype))
    value = None if values is None else element_of(normalize_dtype_param(values))
    digit, word = digit_of(key)
    sort, gather = sorting_places(group, word, _before, True), gathering(group, key)
    gather_values = gathering(group, value or key)
    items, get, bits, kind = group.items, key.get, key.size * 8, word.dtype
    arrays = 1 if value is None else 2

    @jit(device=True)
    def radix_sort(memory, keys, *rest):
        words = cuda.local.array(items, kind)
        origins = cuda.local.array(items, np.int32)
        for e in range(items):
            if len(rest) > arrays - 1:
                words[e] = digit(get(keys, e), rest[arrays - 1], rest[arrays], descending)
            else:
                words[e] = digit(get(keys, e), 0, bits, descending)
        sort(memory, words, origins)
        gather(memory, keys, origins)
        if arrays == 2:
            gather_values(memory, rest[0], origins)

    size = max(sort_bytes(group, word, key), sort_bytes(group, word, value or key))
    return with_memory(radix_sort, arrays, size)


@jit(device=True)
def _before(a: Any, b: Any) -> Any:
    return a < b


@cached
def digit_of(key: Element) -> tuple[Dispatcher, Element]:
    """The device function ``(key, begin_bit, end_bit, descending)``: an unsigned integer whose
    order is that of the key's bits; and the element of these integers.

    Raises:
        TypeError: the key is no real number.
    """
    kind = key.kind
    if not isinstance(kind, ScalarType):
        raise TypeError(f"keys of {kind} have no order of bits; integers, floats and bools do")
    numpy, bits = kind.numpy, key.size * 8
    letter = "u" if numpy.kind == "b" else numpy.kind
    ordered = ordered_bits(letter, bits).function
    unsigned = np.dtype(f"u{key.size}").type
    wide = np.uint64 if bits == 64 else np.uint32
    is_float = numpy.kind == "f"
    box: Any = numpy

    @jit(device=True)
    def digit(value, begin, end, descending):
        if is_float:
            one = cuda.local.array(1, box)
            one[0] = value
            word = ordered(one.view(unsigned)[0])
        else:
            word = ordered(unsigned(value))
        count = end - begin
        # A shift by all bits is undefined.
        mask = wide(-1) if count >= bits else wide((wide(1) << wide(count)) - wide(1))
        word = wide(word >> wide(begin)) & mask if count > 0 else wide(0)
        return mask - word if descending else word

    return digit, element_of(types.uint64 if bits == 64 else types.uint32)
