"""Asynchronous copies: what they do, when, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from tests.frontends.running import DEBUG, cuda, launch, module_of

from gridlane.core.argtypes import float16, float32, float64
from gridlane.core.errors import CompileError, KernelError

N = 64


def staged(x, out):
    """Rows go through shared memory, two at once under way."""
    tile = cuda.shared.array((2, 128), float32)
    i = cuda.threadIdx.x
    rows = x.shape[0]
    cuda.async_copy(tile, (0, 4 * i), x, (0, 4 * i), 4)
    cuda.async_commit()
    for row in range(rows):
        if row + 1 < rows:
            cuda.async_copy(tile, ((row + 1) % 2, 4 * i), x, (row + 1, 4 * i), 4)
        cuda.async_commit()
        cuda.async_wait(1)
        cuda.syncthreads()
        for n in range(4):
            out[row, 4 * i + n] = tile[row % 2, 127 - 4 * i - n]
        cuda.syncthreads()


@pytest.mark.parametrize("options", [{}, {"options": DEBUG}], ids=["plain", "debug"])
def test_a_pipeline(options):
    x = np.random.default_rng(1).random((5, 128), np.float32)
    out = np.zeros_like(x)
    launch(staged, 1, 32, x, out, **options)
    assert (out == x[:, ::-1]).all()


def unwaited(x, out, pending):
    tile = cuda.shared.array(N, float32)
    i = cuda.threadIdx.x
    cuda.async_copy(tile, i, x, i, 1)
    cuda.async_commit()
    if pending:
        cuda.async_commit()
    cuda.async_wait(1)
    cuda.syncthreads()
    out[i] = tile[i]


def test_data_arrives_no_earlier_than_it_must():
    x, out = np.ones(N, np.float32), np.zeros(N, np.float32)
    launch(unwaited, 1, N, x, out, False)
    assert np.isnan(out).all()
    launch(unwaited, 1, N, x, out, True)
    assert (out == 1).all()


def uncommitted(x, out):
    tile = cuda.shared.array(N, float32)
    i = cuda.threadIdx.x
    cuda.async_copy(tile, i, x, i, 1)
    cuda.async_wait(0)
    cuda.syncthreads()
    out[i] = tile[i]


def test_a_copy_in_no_group_is_not_waited_for():
    x, out = np.ones(N, np.float32), np.zeros(N, np.float32)
    launch(uncommitted, 1, N, x, out)
    assert np.isnan(out).all()


def some_lanes(x, out):
    """Lanes have groups of their own."""
    tile = cuda.shared.array(N, float32)
    i = cuda.threadIdx.x
    if i % 2:
        cuda.async_copy(tile, i, x, i, 1)
        cuda.async_commit()
        cuda.async_commit()
    else:
        cuda.async_copy(tile, i, x, i, 1)
        cuda.async_commit()
    cuda.async_wait(1)
    out[i] = tile[i]


def test_each_lane_waits_for_its_own():
    x, out = np.ones(N, np.float32), np.zeros(N, np.float32)
    launch(some_lanes, 1, N, x, out)
    assert (out[1::2] == 1).all() and np.isnan(out[::2]).all()


def crooked(x):
    tile = cuda.shared.array(N, float32)
    cuda.async_copy(tile, 0, x, 1, 4)


def over_the_end(x):
    tile = cuda.shared.array(6, float32)
    cuda.async_copy(tile, 4, x, 0, 4)


def test_bad_addresses():
    x = np.zeros(N, np.float32)
    with pytest.raises(KernelError, match=r"async_copy: address .* is not a multiple of 16"):
        launch(crooked, 1, 1, x)
    with pytest.raises(KernelError, match=r"async_copy: 16 bytes at .* are out of bounds"):
        launch(over_the_end, 1, 1, x)
    module, result = launch(crooked, 1, 1, x, options=DEBUG)
    assert "the source is not a multiple of 16 bytes" in module.errors[result.error[0]].message
    module, result = launch(over_the_end, 1, 1, x, options=DEBUG)
    assert module.errors[result.error[0]].exception == "IndexError"


def odd_size(x):
    cuda.async_copy(cuda.shared.array(N, float32), 0, x, 0, 3)


def unknown_count(x):
    cuda.async_copy(cuda.shared.array(N, float32), 0, x, 0, x.size)


def other_type(x):
    cuda.async_copy(cuda.shared.array(N, float64), 0, x, 0, 2)


def into_global(x):
    cuda.async_copy(x, 0, x, 0, 4)


def out_of_shared(x):
    tile = cuda.shared.array(N, float32)
    cuda.async_copy(tile, 0, tile, 4, 4)


def too_few_indices(x):
    cuda.async_copy(cuda.shared.array((2, N), float32), 0, x, 0, 4)


def strided(x):
    cuda.async_copy(cuda.shared.array(N, float32), 0, x[::2], 0, 4)


def negative(x):
    cuda.async_wait(-1)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (odd_size, "copies 4, 8 or 16 bytes a call; 3 elements of float32 are 12"),
        (unknown_count, "the count of cuda.async_copy must be a constant integer"),
        (other_type, "from float32 to float64 it cannot convert"),
        (into_global, "the target .* in shared memory; this is in global memory"),
        (out_of_shared, "the source .* in global memory; this is in shared memory"),
        (too_few_indices, "the target .* needs an index for each of 2 axes"),
        (strided, r"the source .*layout C.*array\(float32, 1d, A\)"),
        (negative, "cannot leave -1 groups pending"),
    ],
)
def test_refusals(function, message):
    with pytest.raises(CompileError, match=message) as caught:
        module_of(function, float32[::1])
    assert caught.value.loc.function == function.__name__


def test_small_elements():
    def halves(x, out):
        tile = cuda.shared.array(8, float16)
        cuda.async_copy(tile, 0, x, 8, 8)
        cuda.async_commit()
        cuda.async_wait(0)
        for n in range(8):
            out[n] = tile[n]

    x, out = np.arange(16, dtype=np.float16), np.zeros(8, np.float16)
    launch(halves, 1, 1, x, out)
    assert (out == x[8:]).all()
