"""``cuda.vector.load`` and ``store`` of numba-cuda-mlir on every device, beside numpy's slices."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.running import DEBUG, launch, module_of

import gridlane
from gridlane.core.errors import ConstantError, TypingError
from gridlane.cuda.numba_compat.mlir import cuda

TYPES = ["?", "i1", "u2", "i4", "f4", "i8"]


@cuda.jit
def rows(out, a, b):
    i = cuda.grid(1)
    cuda.vector.store(out, (i, 0), cuda.vector.load(a, (i, 1), 4))
    view = a[1:, 2:]
    cuda.vector.store(out, (i, 4), cuda.vector.load(view, (i, 0), 2, alignment=8), 8)
    cuda.vector.store(out, (i, 6), cuda.vector.load(a, 8 * i, 2, alignment=2))
    cuda.vector.store(b, i * 8, cuda.vector.load(a, (i, 0), 8))


@pytest.mark.parametrize("name", [*DEVICES, "interp"])
def test_rows(name):
    with gridlane.device(name):
        for dtype in TYPES[:-1]:
            a = (np.arange(40).reshape(5, 8) * 7 % 100).astype(dtype)
            out, b = np.zeros((4, 8), dtype), np.zeros(32, dtype)
            rows[1, 4](out, a, b)
            wanted = np.concatenate([a[:4, 1:5], a[1:, 2:4], a[:4, :2]], 1)
            np.testing.assert_array_equal(out, wanted)
            np.testing.assert_array_equal(b, a[:4].ravel())


def test_several_axes():
    def kernel(out, a, swap):
        v = cuda.vector.load(a, (1, 0), (2, 3))
        w = v * 2 + cuda.vector.load(a, (0, 0), (2, 3))
        if swap:
            w = v
        cuda.vector.store(out, (1, 1), w)
        out[0, 0] = cuda.float32x2(cuda.vector.load(a, (2, 1), (2, 1))).y

    for swap in (False, True):
        a = np.arange(16, dtype=np.float32).reshape(4, 4)
        out = np.zeros((4, 4), np.float32)
        launch(kernel, 1, 1, out, a, swap)
        wanted = np.zeros((4, 4), np.float32)
        wanted[1:3, 1:] = a[1:3, :3] if swap else a[1:3, :3] * 2 + a[:2, :3]
        wanted[0, 0] = a[3, 1]
        np.testing.assert_array_equal(out, wanted)


def test_a_store_converts():
    def kernel(out, a):
        cuda.vector.store(out, 1, cuda.vector.load(a, 0, 2, alignment=8))

    out = np.zeros(4, np.int16)
    launch(kernel, 1, 1, out, np.array([2.75, -7.0]))
    assert out.tolist() == [0, 2, -7, 0]


def _mixed(out, a):
    cuda.vector.store(out, (0, 0), cuda.vector.load(a, (0, 0), (2, 2)) + cuda.float64x4(1, 2, 3, 4))


def _gaps(out, a):
    cuda.vector.load(a[:, 1:], 3, 2)


def _number(out, a):
    cuda.vector.store(out, (0, 0), 1.5)


def _alignment(out, a):
    cuda.vector.load(a, (0, 0), 2, alignment=3)


@pytest.mark.parametrize(
    ("kernel", "kind", "words"),
    [
        (_mixed, TypingError, "float64x2x2 and float64x4"),
        (_gaps, TypingError, "counts elements without gaps"),
        (_number, TypingError, "takes a vector, not float64"),
        (_alignment, ConstantError, "a power of two, not 3"),
    ],
)
def test_refused(kernel, kind, words):
    with pytest.raises(kind, match=words):
        module_of(kernel, np.zeros((4, 4)), np.zeros((4, 4)))


def test_bounds_in_debug_mode():
    def kernel(a, i):
        cuda.vector.load(a, i, 4)

    for i, wrong in ((4, None), (5, "index is out of bounds: axis 0 of a")):
        module, result = launch(kernel, 1, 1, np.zeros(8), i, options=DEBUG)
        found = result.error and module.errors[result.error[0]].message
        assert found == wrong
