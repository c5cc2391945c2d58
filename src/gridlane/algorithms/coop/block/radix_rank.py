"""Ranks of a block's integers by some of their bits."""

# pyright: reportMissingParameterType=false
# Device functions: their arguments have the types of each call.

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane import cuda
from gridlane.algorithms.coop.elements import element_of
from gridlane.algorithms.coop.groups import block_group
from gridlane.algorithms.coop.invocable import Invocable, with_memory
from gridlane.algorithms.coop.merging import sort_bytes, sorting_places
from gridlane.algorithms.coop.parameters import normalize_dtype_param
from gridlane.core.argtypes import ScalarType
from gridlane.cuda import types
from gridlane.cuda.kernels.decorators import jit

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
    digits, unsigned = 1 << (end - begin_bit), np.dtype(f"u{kind.itemsize}").type
    last, begin = np.uint32(digits - 1), unsigned(begin_bit)
    sort, items, locate, sync = (
        sorting_places(group, _WORD, _before, True), group.items, group.place, group.sync
    )  # fmt: skip
    count, each = group.count, max(1, -(-digits // group.threads))
    section, has_prefix = group.section(_WORD), exclusive_digit_prefix is not None

    @jit(device=True)
    def radix_rank(memory, keys, ranks, *prefixes):
        t, _, mask = locate()
        words = cuda.local.array(items, np.uint32)
        origins = cuda.local.array(items, np.int32)
        for e in range(items):
            digit = np.uint32(unsigned(keys[e]) >> begin) & last
            words[e] = last - digit if descending else digit
        sort(memory, words, origins)
        tile = section(memory)
        for e in range(items):
            tile[origins[e]] = np.uint32(t * items + e)
        sync(mask)
        for e in range(items):
            ranks[e] = tile[t * items + e]
        sync(mask)
        if has_prefix:
            for e in range(items):
                tile[t * items + e] = words[e]
            sync(mask)
            for k in range(each):
                digit = np.uint32(t * each + k)
                if digit < digits:
                    word = last - digit if descending else digit
                    low, high = 0, count
                    while low < high:
                        middle = (low + high) // 2
                        if tile[middle] < word:
                            low = middle + 1
                        else:
                            high = middle
                    prefixes[0][k] = low
            sync(mask)

    return with_memory(radix_rank, 3 if has_prefix else 2, sort_bytes(group, _WORD, _WORD))


@jit(device=True)
def _before(a: Any, b: Any) -> Any:
    return a < b
