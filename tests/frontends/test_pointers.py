"""Pointers of ctypes, arithmetic of addresses, and views with elements of another size."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from tests.frontends.running import launch, module_of, returned

from gridlane.core.errors import TypingError

TABLE = np.arange(4, dtype=np.int32)


def test_addresses():
    def kernel(out, a, n):
        p = ctypes.cast(a, ctypes.POINTER(ctypes.c_int32))
        p[0] = 5
        p += n
        p[0] = 6
        q = ctypes.cast(a[1:], ctypes.POINTER(ctypes.c_uint8))
        out[0] = (1 + q - 1)[0] * 100 + (p - n)[0]
        for i in range(3):
            out[i + 1] = p[0]
            p = p - 1 if i == 0 else p + n

    a = np.array([1, 2, 30, 40], np.int32)
    assert returned(kernel, a, 1, count=4).tolist() == [605, 6, 5, 6]


def test_complex_numbers_behind_addresses():
    def kernel(out, a):
        p = ctypes.cast(a, ctypes.POINTER(ctypes.c_double)) + 3
        out[0] = p[0]

    assert returned(kernel, np.array([1 + 2j, 3 + 4j])) == 4


def _constant(out, a):
    ctypes.cast(TABLE, ctypes.POINTER(ctypes.c_int32))


def _two(out, a):
    p = ctypes.cast(a, ctypes.POINTER(ctypes.c_int32))
    out[0] = (p + p)[0]


def _float(out, a):
    p = ctypes.cast(a, ctypes.POINTER(ctypes.c_int32))
    out[0] = (p + 1.5)[0]


def _void(out, a):
    p = ctypes.cast(a, ctypes.c_void_p)
    ctypes.cast(p + 1, ctypes.POINTER(ctypes.c_int32))


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (_constant, "takes no array that is read-only"),
        (_two, r"\+ between int32\* and int32\*"),
        (_float, r"\+ between int32\* and float64"),
        (_void, r"\+ between void\* and int64"),
    ],
)
def test_refused(kernel, words):
    with pytest.raises(TypingError, match=words):
        module_of(kernel, np.zeros(2), np.zeros(2, np.int32))


@pytest.mark.parametrize(("old", "new"), [("i8", "i4"), ("i2", "i8"), ("f8", "u1")])
def test_views_of_arrays_with_gaps(old, new):
    kind = np.dtype(new).type

    def rows(out, a):
        v = a[::2].view(kind)
        for i in range(v.shape[0]):
            for j in range(v.shape[1]):
                out[i, j] = v[i, j]

    def columns(out, a):
        v = a.view(kind)
        for i in range(v.shape[0]):
            for j in range(v.shape[1]):
                out[i, j] = v[i, j]

    a = np.arange(32).astype(old).reshape(4, 8)
    for kernel, argument, wanted in (
        (rows, a, a[::2].view(new)),
        (columns, np.asfortranarray(a.T), a.view(new).T),
    ):
        out = np.zeros_like(wanted)
        launch(kernel, 1, 1, out, argument)
        np.testing.assert_array_equal(out, wanted)


def test_views_along_gaps_are_refused():
    def kernel(out, a):
        out[0] = a[:, ::2].view(np.int32)[0, 0]

    with pytest.raises(TypingError, match="elements without gaps along the last axis"):
        module_of(kernel, np.zeros(2), np.zeros((4, 4)))
