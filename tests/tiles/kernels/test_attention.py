"""Attention and its gradients."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from tests.devices import DEVICES
from tests.tiles.kernels import exact

import gridlane
from gridlane import cuda
from gridlane.core.errors import ArgumentError
from gridlane.tiles import kernels
from gridlane.tiles.kernels import blocks

SHADERS = [each for each in DEVICES if each not in ("cpu", "cuda")]
TOLERANCE = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}
MASKS = [{}, {"causal": True}, {"window": 5}, {"causal": True, "window": 5}]


def near(got, expected) -> None:
    tolerance = TOLERANCE[np.dtype(got.dtype).name]
    np.testing.assert_allclose(exact.wide(got), expected, rtol=tolerance, atol=tolerance)


def arrays(rng, heads=(4, 2), extents=(17, 17), widths=(8, 8), dtype=np.float64, batch=1):
    return [
        rng.standard_normal((batch, head, length, width)).astype(dtype)
        for head, length, width in (
            (heads[0], extents[0], widths[0]),
            (heads[1], extents[1], widths[0]),
            (heads[1], extents[1], widths[1]),
        )
    ]


@pytest.mark.parametrize("dtype", exact.FLOATS)
def test_dtypes(device, rng, dtype):
    parts = arrays(rng, dtype=dtype, extents=(17, 70), widths=(10, 33), batch=2)
    got = kernels.attention(*parts, causal=True)
    assert got.dtype == dtype
    near(got, exact.attention(*parts, causal=True))


@pytest.mark.parametrize(
    ("options", "extents"),
    [
        *[(each, (70, 127)) for each in MASKS],
        (MASKS[3], (1, 129)),
        (MASKS[3], (127, 70)),
        ({"window": 2}, (130, 130)),
    ],
)
def test_masks(device, rng, options, extents):
    parts = arrays(rng, (1, 1), extents, dtype=np.float32)
    near(kernels.attention(*parts, **options), exact.attention(*parts, **options))


@pytest.mark.parametrize("options", [*MASKS, {"window": 150}, {"causal": True, "window": 150}])
def test_tiles_of_warpgroups(rng, monkeypatch, options):
    """More queries a tile, and tiles of keys that all of them see."""
    monkeypatch.setattr(blocks, "has_warpgroups", lambda: True)
    assert blocks.attention_blocks(300, 400, 128, "float16") == (128, 64, 8)
    parts = arrays(rng, (1, 1), (300, 400), dtype=np.float16)
    near(kernels.attention(*parts, **options), exact.attention(*parts, **options))


def test_scales_views_and_results(device, rng):
    parts = [each.transpose(0, 2, 1, 3) for each in arrays(rng, (17, 17), (4, 4))]
    expected = exact.attention(*parts, scale=2.0)
    out = np.zeros((1, 17, 4, 8)).transpose(0, 2, 1, 3)
    assert kernels.attention(*parts, out, scale=2.0) is out
    near(out, expected)
    q, k, v = parts
    _, logs = kernels.attention(q, k, v, scale=2.0, return_logs=True)
    near(logs, np.log(np.exp(2.0 * q @ k.swapaxes(-1, -2)).sum(-1)))
    large = 1000 * np.ones_like(q)
    near(kernels.attention(large, large, v, scale=2.0), exact.attention(large, large, v, scale=2.0))


@pytest.mark.parametrize("softcap", [None, 1.5])
def test_scales_of_float64(device, rng, softcap):
    """Scales are float32, but nothing else is."""
    parts = arrays(rng)
    scales = rng.uniform(0.5, 2, 3).astype(np.float32)
    names = dict(zip(("q_scale", "k_scale", "v_scale"), map(np.array, scales), strict=True))
    wide = [each * float(scale) for each, scale in zip(parts, scales, strict=True)]
    got = kernels.attention(*parts, softcap=softcap, **names)
    near(got, exact.attention(*wide, softcap=softcap))


def test_queries_that_see_no_key(device, rng):
    q, k, v = arrays(rng, (1, 1), (5, 2))
    got, logs = kernels.attention(q, k, v, causal=True, return_logs=True)
    near(got, exact.attention(q, k, v, True))
    assert (got[0, 0, :3] == 0).all() and (logs[0, 0, :3] == -np.inf).all()
    for each in kernels.attention_backward(np.ones_like(got), q, k, v, got, logs, causal=True):
        assert np.isfinite(each).all()
    none = kernels.attention(q, k[:, :, :0], v[:, :, :0])
    assert (none == 0).all()
    assert kernels.attention(q[:0], k[:0], v[:0]).shape == (0, 1, 5, 8)


@pytest.mark.parametrize("dtype", exact.FLOATS)
def test_bounds_of_products(device, rng, dtype):
    """Products from 1e-3 to some hundreds, where the bound is 5."""
    q, k, v = arrays(rng, extents=(17, 70), dtype=dtype)
    q *= (10.0 ** rng.uniform(-3, 2, q.shape)).astype(dtype)
    options = {"causal": True, "softcap": 5.0}
    near(kernels.attention(q, k, v, **options), exact.attention(q, k, v, **options))


NARROW = [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]


@pytest.mark.parametrize("dtype", NARROW)
def test_floats_of_8_bits(device, rng, dtype):
    q, k, v = arrays(rng, extents=(17, 70), widths=(16, 12), dtype=dtype, batch=2)
    scales = [rng.uniform(0.5, 2, (2, 2)).astype(np.float32) for _ in range(3)]
    scales[1][0, 0] *= -1
    names = dict(zip(("q_scale", "k_scale", "v_scale"), scales, strict=True))
    wide = [exact.wide(each) for each in (q, k, v)]
    group = np.repeat(scales[0], 2, 1)
    wide[0] *= group[..., None, None]
    wide[1] *= scales[1][..., None, None]
    wide[2] *= scales[2][..., None, None]
    got = kernels.attention(q, k, v, causal=True, **names)
    assert got.dtype == np.float16
    near(got, exact.attention(*wide, causal=True))
    turned = [np.ascontiguousarray(each.transpose(0, 2, 1, 3)) for each in (q, k, v)]
    out = np.zeros((2, 17, 4, 12), ml_dtypes.bfloat16).transpose(0, 2, 1, 3)
    assert kernels.attention(*(e.transpose(0, 2, 1, 3) for e in turned), out, **names) is out
    near(out, exact.attention(*wide))
    near(
        kernels.attention(q[:, :, ::2], k, v, q_scale=np.array(0.5, "f4")),
        exact.attention(0.5 * exact.wide(q[:, :, ::2]), k, v),
    )


@pytest.mark.parametrize("dtype", NARROW)
def test_all_floats_of_8_bits(device, dtype):
    """Of one key: a result is its value."""
    v = np.arange(256, dtype=np.uint8).view(dtype).reshape(256, 1, 1, 1)
    zero = np.zeros_like(v)
    got = kernels.attention(zero, zero, v)
    np.testing.assert_array_equal(got, v.astype(np.float16))


def test_packed_floats_of_8_bits(device, rng):
    q, k, v = (
        rng.standard_normal((12, heads, 8)).astype(NARROW[0]) for heads in (4, 2, 2)
    )  # fmt: skip
    starts, scales = np.array([0, 5, 12]), rng.uniform(0.5, 2, (2, 2)).astype(np.float32)
    got = kernels.packed_attention(q, k, v, starts, k_scale=scales, v_scale=np.array(3, "f4"))
    for number, own in enumerate((slice(0, 5), slice(5, 12))):
        parts = [exact.wide(each[None, own]).transpose(0, 2, 1, 3) for each in (q, k, v)]
        parts[1] *= scales[None, number, :, None, None]
        near(got[own], 3 * exact.attention(*parts)[0].transpose(1, 0, 2))


@pytest.mark.parametrize("options", [*MASKS[1:3], {"causal": True, "softcap": 1.5}])
def test_gradients(device, rng, options):
    parts = arrays(rng, (4, 2), (6, 9), (3, 5))
    out, logs = kernels.attention(*parts, **options, return_logs=True)
    grad = rng.standard_normal(out.shape)
    got = kernels.attention_backward(grad, *parts, out, logs, **options)
    for place, gradient in enumerate(got):

        def function(each, place=place):
            return exact.attention(*parts[:place], each, *parts[place + 1 :], **options)

        expected = exact.differences(function, parts[place], grad)
        np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("softcap", [None, 0.75])
def test_gradients_of_many_tiles(device, rng, softcap):
    options = {**MASKS[3], "softcap": softcap}
    parts = arrays(rng, (2, 1), (130, 140))
    out, logs = kernels.attention(*parts, **options, return_logs=True)
    grad = rng.standard_normal(out.shape)
    got = kernels.attention_backward(grad, *parts, out, logs, **options)
    for gradient, expected in zip(got, analytical(grad, *parts, **options), strict=True):
        near(gradient, expected)


def analytical(grad, q, k, v, causal=False, window=None, softcap=None):
    """The gradients by the derivative of softmax, with all scores in memory."""
    group = q.shape[1] // k.shape[1]
    wide_k, wide_v = (np.repeat(each, group, 1) for each in (k, v))
    scale = q.shape[-1] ** -0.5
    scores = q @ wide_k.swapaxes(-1, -2) * scale
    slopes = np.ones_like(scores)
    if softcap is not None:
        slopes, scores = np.cosh(scores / softcap) ** -2.0, softcap * np.tanh(scores / softcap)
    scores = np.where(exact.seen(q.shape[2], k.shape[2], causal, window), scores, -1e9)
    powers = exact.softmax(scores)
    of_powers = grad @ wide_v.swapaxes(-1, -2)
    of_scores = powers * (of_powers - (of_powers * powers).sum(-1, keepdims=True)) * slopes * scale
    of_k, of_v = of_scores.swapaxes(-1, -2) @ q, powers.swapaxes(-1, -2) @ grad
    joined = [
        each.reshape(each.shape[0], k.shape[1], group, *each.shape[2:]).sum(2)
        for each in (of_k, of_v)
    ]
    return of_scores @ wide_k, *joined


@pytest.mark.parametrize("options", MASKS[::3])
def test_packed_sequences(device, rng, options):
    lengths, far = [3, 0, 9, 1], [5, 2, 9, 4]
    starts, key_starts = (np.cumsum([0, *each]) for each in (lengths, far))
    q, k, v = (rng.standard_normal(each) for each in ((13, 4, 6), (20, 2, 6), (20, 2, 7)))
    got, logs = kernels.packed_attention(q, k, v, starts, key_starts, **options, return_logs=True)
    grad = rng.standard_normal(got.shape)
    gradients = kernels.packed_attention_backward(
        grad, q, k, v, got, logs, starts, key_starts, **options
    )
    for number in range(4):
        own = slice(starts[number], starts[number + 1])
        others = slice(key_starts[number], key_starts[number + 1])
        parts = [each[None].transpose(0, 2, 1, 3) for each in (q[own], k[others], v[others])]
        expected = exact.attention(*parts, **options)[0].transpose(1, 0, 2)
        near(got[own], expected)
        g = grad[None, own].transpose(0, 2, 1, 3)
        for gradient, each, where in zip(
            gradients, analytical(g, *parts, **options), (own, others, others), strict=True
        ):
            near(gradient[where], each[0].transpose(1, 0, 2))


def test_packed_sequences_on_the_device(device, rng):
    q, k, v = rng.standard_normal((3, 12, 2, 4)).astype(np.float32)
    starts = np.array([0, 7, 10], np.int32)
    expected = kernels.packed_attention(q, k, v, starts, causal=True)
    there = [cuda.to_device(each) for each in (q, k, v, starts)]
    got = kernels.packed_attention(*there, causal=True).copy_to_host()
    assert (got[:10] == expected[:10]).all()


@pytest.mark.parametrize(
    ("window", "parts", "least"), [(None, 1, 1), (None, 3, 1), (7, 2, 1), (None, None, 16)]
)
def test_paged(device, rng, window, parts, least, monkeypatch):
    """Also with more rows than queries, as matrix instructions have."""
    monkeypatch.setattr("gridlane.tiles.kernels.paged.least_rows", lambda dtype: least)
    lengths, page, heads = np.array([0, 1, 17, 70]), 4, 2
    keys = rng.standard_normal((40, page, heads, 6)).astype(np.float32)
    values = rng.standard_normal((40, page, heads, 9)).astype(np.float32)
    tables = rng.permutation(80).reshape(4, 20) % 40
    q = rng.standard_normal((4, 6, 6)).astype(np.float32)
    words = {"window": window, "parts": parts}
    got = kernels.paged_attention(q, keys, values, tables, lengths, **words)
    bounded = kernels.paged_attention(q, keys, values, tables, lengths, softcap=1.5, **words)
    for number, length in enumerate(lengths):
        k, v = (
            each[tables[number]].reshape(-1, heads, each.shape[-1])[:length].transpose(1, 0, 2)
            for each in (keys, values)
        )
        if window:
            k, v = k[:, -window:], v[:, -window:]
        one = q[None, number, :, None], k[None], v[None]
        near(got[number], exact.attention(*one)[0, :, 0])
        near(bounded[number], exact.attention(*one, softcap=1.5)[0, :, 0])
    tables[2, 1] = 40
    got = kernels.paged_attention(q, keys, values, tables, lengths, parts=parts)
    assert np.isnan(got[2]).all() and np.isfinite(got[[0, 1, 3]]).all()


def test_errors_name_the_argument():
    q = np.zeros((1, 4, 5, 8), np.float32)
    starts = np.array([0, 5])
    for call, text in (
        (lambda: kernels.attention(q[0], q, q), "q .* must have 4 dimensions"),
        (lambda: kernels.attention(q, q[..., :4], q), "k .* shape must be"),
        (lambda: kernels.attention(q, q, q[:, :, :3]), "v .* shape must be"),
        (lambda: kernels.attention(q, q[:, :3], q[:, :3]), "multiple of those of k"),
        (lambda: kernels.attention(q, q, q.astype(float)), "one dtype"),
        (lambda: kernels.attention(q, q, q, window=0), "window is 0"),
        (lambda: kernels.attention(q, q, q, softcap=0), "softcap is 0"),
        (lambda: kernels.attention(q, q, q, softcap=np.nan), "softcap is nan"),
        (lambda: kernels.attention(q, q, q, q_scale=q[0, 0]), "q_scale .* shape must be"),
        (lambda: kernels.attention(q, q, q, v_scale=np.array(1.0)), "v_scale is float64"),
        (lambda: kernels.attention_backward(q, q, q, q, q, q), "logs .* must have 3 dimensions"),
        (lambda: kernels.packed_attention(q, q, q, starts), "q .* must have 3 dimensions"),
        (lambda: kernels.packed_attention(q[0], q[0], q[0], starts[:0]), "the end of the last"),
        (lambda: kernels.packed_attention(q[0], q[0], q[0], starts, starts[:1]), "key_starts"),
        (lambda: kernels.paged_attention(q[0], q, q, starts, starts), "tables .* 2 dimensions"),
        (lambda: kernels.paged_attention(q[0], q, q, starts[None], starts), "must be"),
    ):
        with pytest.raises(ArgumentError, match=text):
            call()


@pytest.mark.parametrize("name", SHADERS)
def test_attention_on_shaders(rng, name):
    parts = arrays(rng, (2, 1), (20, 20), dtype=np.float32)
    with gridlane.device(name):
        got = kernels.attention(*parts, causal=True)
    near(got, exact.attention(*parts, causal=True))
