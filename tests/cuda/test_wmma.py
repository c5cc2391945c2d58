"""``cuda.wmma`` on each device, bit for bit against numpy's binary64 in the order of the op."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from tests.devices import DEVICES

from gridlane import cuda
from gridlane.interp.matrix import tf32
from gridlane.launch import current
from gridlane.launch.devices import get_device

ALL = ["interp", *(each for each in DEVICES if each != "cuda")]
"""Each device but NVIDIA's, whose tensor cores add in another order."""
SOME = [each for each in ALL if each in ("interp", "cpu", "vulkan")]
"""Those whose compilers take less than seconds."""
ROWS, COLUMNS, INNER = 32, 16, 64


@pytest.fixture
def device(request):
    before = current.choose(get_device(request.param))
    yield request.param
    current.choose(before)


@cuda.jit(fp64="exact")
def halves(a, b, c):
    """A warp for each 16 columns, by way of shared memory; two products, the second half scaled."""
    tile = cuda.shared.array((64, 24), cuda.types.float16)
    lane = cuda.threadIdx.x
    for k in range(64):
        if lane < 16:
            tile[k, lane] = b[k, lane]
    cuda.syncthreads()
    total = cuda.wmma.load_c(c, (0, 0), (32, 16))
    for k in range(0, 64, 32):
        left = cuda.wmma.load_a(a, (0, k), (32, 32))
        total = cuda.wmma.mma(left, cuda.wmma.load_b(tile, (k, 0), (32, 16)), total)
    cuda.wmma.store(c, (0, 0), cuda.wmma.scale(total, 3))


@cuda.jit(fp64="exact")
def singles(a, b, c):
    left = cuda.wmma.load_a(a, (0, 0), (32, 64), precision="tf32")
    right = cuda.wmma.load_b(b, (0, 0), (64, 16), precision="tf32")
    cuda.wmma.store(c, (0, 0), cuda.wmma.mma(left, right, cuda.wmma.load_c(c, (0, 0), (32, 16))))


def model(a, b, c, step):
    """Steps of products that are added to a sum in binary64, rounded to f32 and the element."""
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    for start in range(0, a.shape[1], step):
        total = c.astype(np.float64)
        for k in range(start, start + step):
            total += wide_a[:, k, None] * wide_b[k]
        c = total.astype(np.float32).astype(c.dtype)
    return c


def drawn(dtype, *shape):
    return np.random.default_rng(7).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize(
    "device, sums, order",
    [*((d, np.float16, "F") for d in ALL), *((d, np.float32, "C") for d in SOME)],
    indirect=["device"],
)
def test_halves(device, sums, order):
    a, b = drawn(np.float16, ROWS, INNER), drawn(np.float16, INNER, COLUMNS)
    c = drawn(sums, ROWS, COLUMNS)
    c[3, 5], a[7, 9] = np.inf, -np.inf
    with np.errstate(all="ignore"):
        want = model(a, b, c, 16) * sums(3)
    a, b, got = (np.asarray(each, order=order) for each in (a, b, c))
    halves[1, 32](a, b, got)
    assert np.isinf(got[3, 5]) and np.array_equal(got, want, equal_nan=True)


@pytest.mark.parametrize("device", SOME, indirect=True)
def test_singles_as_tf32(device):
    a, b = drawn(np.float32, ROWS, INNER), drawn(np.float32, INNER, COLUMNS)
    c = drawn(np.float32, ROWS, COLUMNS)
    a[2, 3], b[4, 5] = np.float32(np.nan), np.inf
    a.view(np.uint32)[5, 6] = 0x7F800001  # a NaN whose lowest bit says so
    with np.errstate(all="ignore"):
        want = model(tf32(a), tf32(b), c, 8)
    singles[1, 32](a, b, c)
    assert np.isnan(c[[2, 5]]).all() and np.array_equal(c, want, equal_nan=True)


@pytest.mark.parametrize(
    "device, kind",
    [
        *((d, cuda.types.float16) for d in ALL),
        *((d, cuda.types.bfloat16) for d in SOME),
    ],
    indirect=["device"],
)
def test_conversions_are_rounded_once(device, kind):
    """Sums as elements of 16 bits, written by columns."""

    @cuda.jit
    def narrow(c, d):
        total = cuda.wmma.load_c(c, (0, 0), (32, 16))
        cuda.wmma.store(d, (0, 0), cuda.wmma.convert(total, kind))

    c = drawn(np.float32, ROWS, COLUMNS)
    dtype = np.float16 if kind is cuda.types.float16 else ml_dtypes.bfloat16
    d = np.zeros((ROWS, COLUMNS), dtype, order="F")
    narrow[1, 32](c, d)
    assert (d == c.astype(dtype)).all()
