"""Attention by tensor descriptors: the programs of GPUs with tensor maps, on every device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.tiles.kernels import exact
from tests.tiles.kernels.test_attention import MASKS, arrays, near

from gridlane.tiles import kernels
from gridlane.tiles.kernels import attentions, described_attentions, prepared
from gridlane.tiles.kernels.described_attentions import PreparedAttention


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[PreparedAttention | None]]:
    """What each call has prepared, as on a GPU of 4 multiprocessors with warpgroups."""
    monkeypatch.setattr(described_attentions, "has_warpgroups", lambda: True)
    monkeypatch.setattr(described_attentions, "multiprocessors", lambda: 4)
    found = list[PreparedAttention | None]()

    def prepare(*args: Any) -> PreparedAttention | None:
        found.append(described_attentions.prepare(*args))
        return found[-1]

    monkeypatch.setattr(attentions, "prepare", prepare)
    prepared.forget()
    yield found
    prepared.forget()


@pytest.mark.parametrize("options", [*MASKS, {"window": 150}, {"causal": True, "window": 150}])
def test_masks(rng, made, options):
    """Keys that end within a tile; queries that do."""
    parts = arrays(rng, (4, 2), (200, 300), (64, 64), np.float16)
    got = kernels.attention(*parts, **options)
    near(got, exact.attention(*parts, **options))
    assert made[0] is not None and made[0].launch.rest[14] == (not options.get("causal"))


def test_bounds_and_scales(rng, made):
    """Of floats of 8 bits as well, which become float16 first."""
    q, k, v = arrays(rng, (4, 2), (200, 300), (64, 64), np.float16)
    options = {"causal": True, "softcap": 3.0}
    near(kernels.attention(q, k, v, **options), exact.attention(q, k, v, **options))
    narrow = [each.astype(ml_dtypes.float8_e4m3fn) for each in (q, k, v)]
    scales = [rng.uniform(0.5, 2, (1, 2)).astype(np.float32) for _ in range(3)]
    names = dict(zip(("q_scale", "k_scale", "v_scale"), scales, strict=True))
    got = kernels.attention(*narrow, **options, **names)
    wide = [exact.wide(each) for each in narrow]
    scales[0] = np.repeat(scales[0], 2, 1)
    wide = [each * scale[..., None, None] for each, scale in zip(wide, scales, strict=True)]
    near(got, exact.attention(*wide, **options))
    assert made[0] is not None and made[1] is not None


@pytest.mark.parametrize("scale", [0.0, -0.25, 2.0])
def test_scales_and_logarithms(rng, made, scale):
    """Three sequences, more queries than keys, a width that is no power of two; views."""
    parts = arrays(rng, (2, 1), (260, 130), (72, 80), np.float16, batch=3)
    parts = [np.ascontiguousarray(each.transpose(0, 2, 1, 3)) for each in parts]
    q, k, v = (each.transpose(0, 2, 1, 3) for each in parts)
    out = np.zeros((3, 2, 260, 80), np.float16)
    got, logs = kernels.attention(q, k, v, out, scale=scale, causal=True, return_logs=True)
    assert got is out and made[0] is not None and logs.shape == (3, 2, 260)
    near(got, exact.attention(q, k, v, True, scale=scale))
    wide = np.repeat(k, 2, axis=1).astype(float)
    scores = scale * q.astype(float) @ wide.swapaxes(-1, -2)
    seen = np.arange(130) <= np.arange(260)[:, None] - 130
    with np.errstate(divide="ignore"):
        want = np.log(np.where(seen, np.exp(scores), 0).sum(-1))
    np.testing.assert_allclose(logs, want, atol=2e-2)


@pytest.mark.parametrize(
    ("extents", "widths", "dtype"),
    [
        ((127, 300), (64, 64), np.float16),
        ((200, 127), (64, 64), np.float16),
        ((200, 200), (32, 64), np.float16),
        ((200, 200), (64, 256), np.float16),
        ((200, 200), (64, 64), np.float32),
        ((200, 200), (65, 64), np.float16),  # rows that no tensor map describes
    ],
)
def test_what_has_no_tensor_maps(rng, made, extents, widths, dtype):
    parts = arrays(rng, (1, 1), extents, widths, dtype)
    got = kernels.attention(*parts)
    assert made == [None]
    near(got, exact.attention(*parts))
