"""Attention of each query to keys that are listed by their numbers."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.tiles.kernels import exact
from tests.tiles.kernels.test_attention import arrays, near

import gridlane
from gridlane import cuda
from gridlane.core.errors import ArgumentError
from gridlane.tiles import kernels
from gridlane.tiles.kernels import sparse_attentions

SHADERS = [each for each in DEVICES if each not in ("cpu", "cuda")]


def expected(q, k, v, indices, **options) -> np.ndarray:
    """One query after the other."""
    group = q.shape[1] // k.shape[1]
    out = np.zeros((*q.shape[:3], v.shape[3]))
    for batch, head, query in np.ndindex(*q.shape[:3]):
        listed = indices[batch, head // group, query]
        listed = listed[(listed >= 0) & (listed < k.shape[2])]
        if len(listed):
            one = [x[batch, head // group, listed][None, None] for x in (k, v)]
            mine = q[None, batch, None, head, query, None]
            out[batch, head, query] = exact.attention(mine, *one, **options)
    return out


def numbers(rng, batch: int, far: int, queries: int, count: int, keys: int) -> np.ndarray:
    """Some numbers of keys, with some that there are not."""
    return rng.integers(-3, keys + 3, (batch, far, queries, count))


@pytest.mark.parametrize("dtype", exact.FLOATS)
def test_dtypes(device, rng, dtype):
    q, k, v = arrays(rng, (6, 2), (5, 70), (10, 33), dtype, 2)
    indices = numbers(rng, 2, 2, 5, 40, 70)
    got = kernels.sparse_attention(q, k, v, indices)
    assert got.dtype == dtype
    near(got, expected(q, k, v, indices))


@pytest.mark.parametrize("width", [1, 8, 9, 12, 48])
def test_widths_and_bounds(device, rng, width):
    q, k, v = arrays(rng, (3, 1), (4, 20), (width, 5), np.float32)
    indices = numbers(rng, 1, 1, 4, 7, 20).astype(np.int32)
    for options in ({}, {"scale": -0.5}, {"softcap": 0.5}):
        near(
            kernels.sparse_attention(q, k, v, indices, **options),
            expected(q, k, v, indices, **options),
        )


def test_values_in_the_memory_of_keys(device, rng, monkeypatch):
    """As of latent attention: one head of keys for more heads than a tile has."""
    monkeypatch.setattr(sparse_attentions, "least_rows", lambda dtype: 16)
    monkeypatch.setattr(sparse_attentions, "_LONG", 16)
    q = rng.standard_normal((1, 3, 70, 40)).astype(np.float16).transpose(0, 2, 1, 3)
    cache = rng.standard_normal((1, 50, 1, 40)).astype(np.float16).transpose(0, 2, 1, 3)
    indices = numbers(rng, 1, 1, 3, 45, 50)
    assert sparse_attentions._tile(70, 45, 32, "float16") == (64, 32, 8)
    for v in (cache[..., :32], cache[..., 4:36], cache[..., :20]):
        got = kernels.sparse_attention(q, cache, v, indices)
        near(got, expected(q, cache, v, indices))


def test_views_and_results(device, rng):
    q, k, v = arrays(rng, (2, 2), (6, 9), (8, 8))
    indices = numbers(rng, 1, 6, 5, 2, 9).transpose(0, 3, 1, 2)
    out = np.zeros((1, 6, 2, 8)).transpose(0, 2, 1, 3)
    assert kernels.sparse_attention(q, k, v, indices, out) is out
    near(out, expected(q, k, v, indices))
    indices = np.full_like(indices, -1)
    assert (kernels.sparse_attention(q, k, v, indices) == 0).all()
    assert (kernels.sparse_attention(q, k, v, indices[..., :0]) == 0).all()
    assert kernels.sparse_attention(q[:, :, :0], k, v, indices[:, :, :0]).shape == (1, 2, 0, 8)


def test_errors_name_the_argument(rng):
    q, k, v = arrays(rng, (4, 2), (3, 9))
    indices = numbers(rng, 1, 2, 3, 5, 9)
    for call, text in (
        (lambda: kernels.sparse_attention(q, k, v[:, :, :4], indices), "v .* shape must be"),
        (lambda: kernels.sparse_attention(q[:, :3], k, v, indices), "multiple of those of k"),
        (lambda: kernels.sparse_attention(q, k, v, indices[:, :1]), "indices .* shape must be"),
        (lambda: kernels.sparse_attention(q, k, v, indices * 1.0), "indices is float64"),
        (lambda: kernels.sparse_attention(q, k.astype("f4"), v, indices), "one dtype"),
        (lambda: kernels.sparse_attention(q, k, v, indices, softcap=-1), "softcap is -1"),
    ):
        with pytest.raises(ArgumentError, match=text):
            call()


@pytest.mark.parametrize("name", SHADERS)
def test_shaders(rng, name):
    q, k, v = arrays(rng, (3, 1), (4, 20), (12, 5), np.float32)
    indices = numbers(rng, 1, 1, 4, 7, 20).astype(np.int32)
    with gridlane.device(name):
        got = kernels.sparse_attention(q, k, v, indices)
    near(got, expected(q, k, v, indices))


def test_arrays_of_the_device(device, rng):
    q, k, v = arrays(rng, (3, 1), (4, 20), (12, 5), np.float32)
    indices = numbers(rng, 1, 1, 4, 7, 20)
    got = kernels.sparse_attention(*[cuda.to_device(each) for each in (q, k, v, indices)])
    near(got.copy_to_host(), expected(q, k, v, indices))
