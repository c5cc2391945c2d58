"""The iterator of a random order."""

# pyright: reportMissingParameterType=false
# Device functions: their arguments have the types of each call.

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from gridlane.algorithms.caching import cached
from gridlane.algorithms.item_types import ItemType, item_type
from gridlane.algorithms.sequences import Code, IteratorBase
from gridlane.cuda.kernels.decorators import jit


class ShuffleIterator(IteratorBase):
    """The numbers below ``num_items`` in a random order, which the seed determines."""

    def __init__(self, num_items: int, seed: int = 0) -> None:
        if num_items <= 0:
            raise ValueError(f"num_items must be > 0; got {num_items}")
        self._count, self._seed = num_items, seed & 0xFFFFFFFFFFFFFFFF
        self._half = max(1, ((num_items - 1).bit_length() + 1) // 2)

    @property
    def kind(self) -> Hashable:
        return "shuffle"

    @property
    def item(self) -> ItemType:
        return item_type(np.int64)

    def code(self) -> Code:
        return _shuffled()

    def state(self) -> Any:
        low, high = np.uint32(self._seed & 0xFFFFFFFF), np.uint32(self._seed >> 32)
        return np.int64(self._count), np.int64(self._half), low, high

    def size(self) -> int:
        return self._count


@jit(device=True)
def _mixed(x, key):
    """The finalizer of A. Appleby's MurmurHash3."""
    x = np.uint32(x ^ key)
    x = np.uint32(np.uint32(x ^ (x >> np.uint32(16))) * np.uint32(0x85EBCA6B))
    x = np.uint32(np.uint32(x ^ (x >> np.uint32(13))) * np.uint32(0xC2B2AE35))
    return np.uint32(x ^ (x >> np.uint32(16)))


@cached
def _shuffled() -> Code:
    def load(state, i):
        """A Feistel network permutes the numbers of an even number of bits; those that are not
        below the count go through it again."""
        count, half, low, high = state
        mask = (np.int64(1) << half) - 1
        value = np.int64(i)
        outside = True
        while outside:
            left = value >> half
            right = value & mask
            for n in range(8):
                key = np.uint32((low if n % 2 == 0 else high) + np.uint32(n * 0x9E3779B9))
                mixed = np.int64(_mixed(np.uint32(right), key)) & mask
                moved = right
                right = left ^ mixed
                left = moved
            value = (left << half) | right
            outside = value >= count
        return value

    return Code("shuffle", jit(load, device=True), None)
