"""np.maximum, minimum, fmax and fmin of complex numbers, on every device, as numpy orders them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.devices import DEVICES

from gridlane import cuda
from gridlane.launch import current
from gridlane.launch.devices import get_device

PARTS = [0.0, -0.0, 1.5, -np.inf, np.nan]
PAIRS = list(itertools.product(PARTS, PARTS, repeat=2))
A = np.array([complex(p[0], p[1]) for p in PAIRS], np.complex64)
B = np.array([complex(p[2], p[3]) for p in PAIRS], np.complex64)
UFUNCS = np.maximum, np.minimum, np.fmax, np.fmin


@cuda.jit
def kernel(a, b, out):
    i = cuda.grid(1)
    if i < a.size:
        out[i, 0] = np.maximum(a[i], b[i])
        out[i, 1] = np.minimum(a[i], b[i])
        out[i, 2] = np.fmax(a[i], b[i])
        out[i, 3] = np.fmin(a[i], b[i])


@pytest.mark.parametrize("name", ["interp", *DEVICES])
def test_as_numpy(name):
    current.choose(get_device(name))
    out = np.zeros((A.size, 4), np.complex64)
    kernel[A.size // 64 + 1, 64](A, B, out)
    with np.errstate(invalid="ignore"):
        wanted = np.stack([ufunc(A, B) for ufunc in UFUNCS], axis=1)
    np.testing.assert_array_equal(out.view(np.float32), wanted.view(np.float32))
