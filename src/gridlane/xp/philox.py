"""Philox4x64-10: the numbers of NumPy's ``Philox`` at computed places of their sequence.

Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.core.dtypes import u32, u64
from gridlane.ir.expressions import Expression, Writer
from gridlane.xp.operations.record import Loop, Operation

_FACTORS = 0xD2E7470EE14C6C93, 0xCA5A826395121157
_WEYL = 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B
_ROUNDS = 10


def _words(w: Writer, place: Expression, key: list[Expression]) -> Expression:
    """The 64-bit number at a place of the sequence."""
    zero = w.const(0, u64)
    counter = [(place >> w.const(2, u64)) + w.const(1, u64), zero, zero, zero]
    factors = [w.const(each, u64) for each in _FACTORS]
    for number in range(_ROUNDS):
        if number:
            key = [each + w.const(step, u64) for each, step in zip(key, _WEYL, strict=True)]
        first, second = factors[0], factors[1]
        counter = [
            second.high_product(counter[2]) ^ counter[1] ^ key[0],
            second * counter[2],
            first.high_product(counter[0]) ^ counter[3] ^ key[1],
            first * counter[0],
        ]
    lane = place & w.const(3, u64)
    low = w.select(lane.equals(w.const(0, u64)), counter[0], counter[1])
    high = w.select(lane.equals(w.const(2, u64)), counter[2], counter[3])
    return w.select(lane < w.const(2, u64), low, high)


def _build64(
    w: Writer, index: Expression, start: Expression, first: Expression, second: Expression
) -> Expression:
    return _words(w, index.cast(u64) + start, [first, second])


def _build32(
    w: Writer, index: Expression, start: Expression, first: Expression, second: Expression
) -> Expression:
    place = index.cast(u64)
    word = _words(w, (place >> w.const(1, u64)) + start, [first, second])
    is_low = (place & w.const(1, u64)).equals(w.const(0, u64))
    return w.select(is_low, word, word >> w.const(32, u64)).cast(u32)


def _types(dtype: np.dtype[Any]) -> Any:
    words = np.dtype(np.uint64)
    return lambda kinds: Loop((np.dtype(np.int64), words, words, words), (dtype,))


WORDS = Operation("philox", 4, _build64, _types(np.dtype(np.uint64)))
"""The 64-bit numbers at int64 indices behind a start, for a key of two numbers."""
HALVES = Operation("philox_halves", 4, _build32, _types(np.dtype(np.uint32)))
"""The halves of these numbers, the lower ones first."""
OPERATIONS = {each.name: each for each in (WORDS, HALVES)}
