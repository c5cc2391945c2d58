"""Volatile accesses, the bits of numbers, and subscripts that a namedtuple defines."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.frontends.running import device, launch, module_of, returned, text_of

from gridlane.core.errors import TypingError
from gridlane.cuda import float32, int32, uint32
from gridlane.frontends.python.volatile_stubs import (
    bits_of,
    from_bits,
    load_volatile,
    store_volatile,
)


def test_volatile_accesses():
    def kernel(out, words):
        store_volatile(out, 0, load_volatile(words, 1))
        store_volatile(words, 2, 7)
        out[1] = words[2]

    words, out = np.arange(4, dtype=np.uint64), np.zeros(2)
    launch(kernel, 1, 1, out, words)
    assert out.tolist() == [1, 7]
    text = text_of(kernel, out, words)
    assert text.count("volatile") == 3


@pytest.mark.parametrize(
    ("value", "bits"),
    [(np.float32(-1.5), 0xBFC00000), (np.int32(-2), 0xFFFFFFFE), (np.float64(1.0), 0x3FF << 52)],
)
def test_bits(value, bits):
    def kernel(out, value):
        out[0] = bits_of(value)

    assert returned(kernel, value, dtype=np.uint64) == bits


def test_from_bits():
    def kernel(out, word):
        out[0] = from_bits(word, float32)
        out[1] = from_bits(word, int32)

    expected = [-1.5, 0xBFC00000 - 2**32]
    assert returned(kernel, np.uint32(0xBFC00000), count=2).tolist() == expected


def test_refusals():
    def bits(out, word):
        out[0] = from_bits(word, float32)

    with pytest.raises(TypingError, match="has the bits of a uint32"):
        module_of(bits, np.zeros(1), np.uint64(3))

    def whole(out):
        load_volatile(out, 0)

    with pytest.raises(TypingError, match="one number of an array"):
        module_of(whole, np.zeros((3, 3)))


class Shifted(NamedTuple):
    """An array seen from an element of it."""

    array: Any
    base: int


def _shifted(self, index):
    return self.array[uint32(self.base + index[0] * 3 + index[1])]


Shifted.__getitem__ = device(_shifted)


def test_a_namedtuple_defines_its_subscripts():
    def kernel(out, array, n):
        seen = Shifted(array, n)
        out[0] = seen[0, -1]
        out[1] = seen[1, 1]
        out[2] = seen.base

    assert returned(kernel, np.arange(9.0), 4, count=3).tolist() == [3, 8, 4]


def test_other_namedtuples_have_their_items():
    class Pair(NamedTuple):
        one: int
        two: int

    def kernel(out, n):
        out[0] = Pair(n, 5)[1]

    assert returned(kernel, 4) == 5
