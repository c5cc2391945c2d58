"""Ranks of a block's integers by some of their bits."""

# pyright: reportMissingParameterType=false
# Device functions: their arguments have the types of each call.

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane import cuda
from gridlane.algorithms.coop.elements import element_of
from gridlane.algorithms.coop.groups import Group, block_group
from gridlane.algorithms.coop.invocable import Invocable, with_memory
from gridlane.algorithms.coop.merging import sort_bytes, sorting_places
from gridlane.algorithms.coop.parameters import normalize_dtype_param
from gridlane.core.argtypes import ScalarType
from gridlane.cuda import types
from gridlane.cuda.kernels.decorators import jit
from gridlane.cuda.kernels.dispatcher import Dispatcher

_WORD = element_of(types.uint32)
_MOST_BITS = 16


def make_radix_rank(
    dtype: Any,
    threads_per_block: Any,
    items_per_thread: int = 1,
    begin_bit: int = 0,
    end_bit: int | None = None,
    descending: bool = False,
    exclusive_digit_prefix: Any = None,
) -> Invocable:
    """Rank a block's integers by the digit that some of their bits make. Equal ones keep their
    order.

    The result has the call ``(keys, ranks)``.

    Args:
        dtype: the type of the keys, integers, whose bits are read as they are.
        threads_per_block: a number, or a tuple of two or three.
        items_per_thread: keys of each thread in a row.
        begin_bit, end_bit: the digit's bits, 16 at most; by default those from the first on.
        descending: whether the largest digit has the first ranks.
        exclusive_digit_prefix: anything but None: calls have a third array, of as many digits as
            each thread has, in a row, which gets the number of keys in front of each digit.

    Raises:
        ValueError: a number that is not allowed.
        TypeError: keys that are no integers.
    """
    group = block_group(threads_per_block, items_per_thread)
    kind = normalize_dtype_param(dtype)
    if not isinstance(kind, ScalarType) or not kind.dtype.is_integer:
        raise TypeError(f"keys of a radix rank are integers; got {kind}")
    end = kind.bitwidth if end_bit is None else end_bit
    if not (0 <= begin_bit < end <= kind.bitwidth and end - begin_bit <= _MOST_BITS):
        raise ValueError(
            f"the bits {begin_bit} to {end} of {kind} are no digit of 1 to {_MOST_BITS} bits"
        )
    unsigned, last = np.dtype(f"u{kind.itemsize}").type, np.uint32((1 << (end - begin_bit)) - 1)
    begin, has_prefix = unsigned(begin_bit), exclusive_digit_prefix is not None
    sort, items, kind = sorting_places(group, _WORD, _before, True), group.items, np.uint32
    rank, count = _ranking(group), _counting(group, int(last), descending)

    @jit(device=True)
    def radix_rank(memory, keys, ranks, *prefixes):
        words = cuda.local.array(items, kind)
        origins = cuda.local.array(items, np.int32)
        for e in range(items):
            digit = np.uint32(unsigned(keys[e]) >> begin) & last
            words[e] = last - digit if descending else digit
        sort(memory, words, origins)
        rank(memory, origins, ranks)
        if has_prefix:
            count(memory, words, prefixes[0])

    return with_memory(radix_rank, 3 if has_prefix else 2, sort_bytes(group, _WORD, _WORD))


def _ranking(group: Group) -> Dispatcher:
    """The device function ``(memory, origins, ranks)``: where the item of each place went."""
    items, section, locate, sync = group.items, group.section(_WORD), group.place, group.sync

    @jit(device=True)
    def rank(memory, origins, ranks):
        tile = section(memory)
        t, _, mask = locate()
        for e in range(items):
            tile[origins[e]] = np.uint32(t * items + e)
        sync(mask)
        for e in range(items):
            ranks[e] = tile[t * items + e]
        sync(mask)

    return rank


def _counting(group: Group, last: int, descending: bool) -> Dispatcher:
    """The device function ``(memory, words, prefix)``: the number of sorted words in front of each
    of a thread's digits."""
    items, section, locate, sync = group.items, group.section(_WORD), group.place, group.sync
    most, each = group.count, max(1, -(-(last + 1) // group.threads))

    @jit(device=True)
    def count(memory, words, prefix):
        tile = section(memory)
        t, _, mask = locate()
        for e in range(items):
            tile[t * items + e] = words[e]
        sync(mask)
        for k in range(each):
            digit = t * each + k
            if digit <= last:
                word = last - digit if descending else digit
                low, high = 0, most
                while low < high:
                    middle = (low + high) // 2
                    if tile[middle] < word:
                        low = middle + 1
                    else:
                        high = middle
                prefix[k] = low
        sync(mask)

    return count


@jit(device=True)
def _before(a: Any, b: Any) -> Any:
    return a < b
