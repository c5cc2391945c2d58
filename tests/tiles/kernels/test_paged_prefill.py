"""New tokens of sequences whose keys and values a cache has in pages."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from tests.devices import DEVICES
from tests.tiles.kernels import exact
from tests.tiles.kernels.test_attention import MASKS, near

import gridlane
from gridlane import cuda
from gridlane.core.errors import ArgumentError
from gridlane.tiles import kernels
from gridlane.tiles.kernels import prefills

SHADERS = [each for each in DEVICES if each not in ("cpu", "cuda")]
STARTS, LENGTHS = np.array([0, 3, 3, 20, 21]), np.array([5, 9, 0, 70])
FAR, HEADS, PAGE = 2, 4, 4


def case(rng, dtype=np.float32, cached=None, widths=(6, 9), tokens=23):
    """Packed tokens, of which two belong to no sequence, and a cache with their sequences'."""
    q, k, v = (
        rng.standard_normal((tokens, heads, width)).astype(dtype)
        for heads, width in ((HEADS, widths[0]), (FAR, widths[0]), (FAR, widths[1]))
    )
    keys, values = (
        rng.standard_normal((100, PAGE, FAR, width)).astype(cached or dtype) for width in widths
    )
    return q, k, v, keys, values, rng.permutation(100)[:92].reshape(4, 23)


def pieces(tables, cache, number):
    """What the cache has of a sequence, of shape (1, heads, tokens, width)."""
    rows = exact.wide(cache)[tables[number]].reshape(-1, *cache.shape[2:])
    return rows[: LENGTHS[number]].transpose(1, 0, 2)[None]


def check(got, args, k_scale=1.0, v_scale=1.0, **options) -> None:
    q, k, v, keys, values, tables = args
    for number in range(4):
        own = slice(STARTS[number], STARTS[number + 1])
        mine, *more = (exact.wide(each[own]).transpose(1, 0, 2)[None] for each in (q, k, v))
        known = pieces(tables, keys, number) * k_scale, pieces(tables, values, number) * v_scale
        joined = [np.concatenate(each, 2) for each in zip(known, more, strict=True)]
        if mine.size:
            near(got[own], exact.attention(mine, *joined, **options)[0].transpose(1, 0, 2))


@pytest.mark.parametrize("options", [*MASKS, {"causal": True, "softcap": 1.5}])
def test_masks(device, rng, options):
    args = case(rng)
    got = kernels.paged_prefill(*args, LENGTHS, STARTS, **{"causal": False, **options})
    if "window" in options and not options.get("causal"):
        options = {**options, "window": 5}
    check(got, args, **options)


@pytest.mark.parametrize("options", [*MASKS, {"causal": True, "softcap": 1.5}])
def test_tokens_that_the_cache_has(device, rng, options):
    args = case(rng)
    q, k, v, keys, values, tables = args
    kernels.append_paged(k, v, keys, values, tables, LENGTHS, STARTS)
    options = {"causal": False, **options}
    got = kernels.paged_prefill(q, None, None, *args[3:], LENGTHS, STARTS, **options)
    check(got, args, **options)
    short = LENGTHS.copy()
    short[3] = 92  # as many as all pages of its table have
    got = kernels.paged_prefill(q, None, None, *args[3:], short, STARTS, **options)
    assert np.isnan(got[20]).all() and np.isfinite(got[:20]).all()


@pytest.mark.parametrize("options", [*MASKS, {"causal": True, "softcap": 1.5}, {"scale": -0.1}])
@pytest.mark.parametrize("page", [32, 96])
def test_descriptors(rng, monkeypatch, options, page):
    """The programs of GPUs with tensor maps."""
    monkeypatch.setattr(prefills, "has_warpgroups", lambda: True)
    made = []
    forms = prefills._forms
    monkeypatch.setattr(prefills, "_forms", lambda *each: made.append(forms(*each)) or made[-1])
    options = {"causal": False, **options}
    starts, lengths = np.array([0, 130, 135]), np.array([70, 300])
    q, k = (rng.standard_normal((140, heads, 64)).astype(np.float16) for heads in (2, 1))
    v = rng.standard_normal((140, 1, 72)).astype(np.float16)
    keys, values = (
        rng.standard_normal((40, page, 1, width)).astype(np.float16) for width in (64, 72)
    )
    tables = rng.permutation(40)[: 2 * -(-310 // page)].reshape(2, -1)
    for number, whole in enumerate((200, 305)):  # what is behind the last token may be anything
        keys[tables[number, whole // page], whole % page :] = np.nan
        values[tables[number, whole // page], whole % page :] = np.inf
    kernels.append_paged(k, v, keys, values, tables, lengths, starts)
    rest = tables, lengths, starts
    words = {"v_scale": np.array(2, "f4"), **options}
    got = kernels.paged_prefill(q, None, None, keys, values, *rest, **words)
    assert made[0] is not None
    for number, own in enumerate((slice(0, 130), slice(130, 135))):
        whole = lengths[number] + own.stop - own.start
        one = [
            exact.wide(cache[tables[number]].reshape(-1, 1, cache.shape[3])[:whole])
            for cache in (keys, values)
        ]
        turned = [each.transpose(1, 0, 2)[None] for each in (exact.wide(q[own]), *one)]
        near(got[own], 2 * exact.attention(*turned, **options)[0].transpose(1, 0, 2))
    tables[0, 0] = 40
    got = kernels.paged_prefill(q, None, None, keys, values, *rest, **options)
    assert np.isfinite(got[130:135]).all()
    assert "window" in options or np.isnan(got[:130]).all()


@pytest.mark.parametrize(
    ("dtype", "cached"),
    [
        (np.float64, None), (np.float16, None), (np.float16, ml_dtypes.float8_e4m3fn),
        (ml_dtypes.bfloat16, ml_dtypes.float8_e5m2),
    ],
)  # fmt: skip
def test_dtypes_and_scales(device, rng, dtype, cached):
    args = case(rng, dtype, cached, (16, 16))
    scales = np.float32(0.5), np.float32(1.75)
    out = np.zeros((HEADS, 23, 16), dtype).transpose(1, 0, 2)
    words = {"k_scale": np.array(scales[0]), "v_scale": np.array(scales[1])}
    assert kernels.paged_prefill(*args, LENGTHS, STARTS, out, longest=20, **words) is out
    check(out, args, *map(float, scales), causal=True)


def test_scales_of_sequences_and_heads(device, rng):
    args = case(rng)
    scales = rng.uniform(0.5, 2, (2, 4, FAR)).astype(np.float32)
    got = kernels.paged_prefill(*args, LENGTHS, STARTS, k_scale=scales[0], v_scale=scales[1])
    q, k, v, keys, values, tables = args
    for number in (0, 2, 3):
        one = STARTS[[number, number + 1]] - STARTS[number]
        own = slice(STARTS[number], STARTS[number + 1])
        each, other = (x[number][:, None].astype(np.float32) for x in scales)
        expected = kernels.paged_prefill(
            q[own], k[own], v[own], keys * each, values * other, tables[number : number + 1],
            LENGTHS[number : number + 1], one,
        )  # fmt: skip
        near(got[own], exact.wide(expected))


@pytest.mark.parametrize("width", [8, 256])
def test_many_tiles(device, rng, monkeypatch, width):
    """More tokens, and more of them in the cache, than a tile has; also a tile of warpgroups."""
    if width > 128:
        monkeypatch.setattr("gridlane.tiles.kernels.prefills.has_warpgroups", lambda: True)
        monkeypatch.setattr("gridlane.tiles.kernels.prefills.least_rows", lambda dtype: 16)
        if device == "interp":
            pytest.skip("minutes")
    dtype = np.float16 if width > 128 else np.float32
    q, k, v = rng.standard_normal((3, 150, 1, width)).astype(dtype)
    keys, values = rng.standard_normal((2, 60, 3, 1, width)).astype(dtype)
    tables, lengths, starts = rng.permutation(60)[None], np.array([170]), np.array([0, 150])
    for options in ({}, {"window": 90}):
        got = kernels.paged_prefill(q, k, v, keys, values, tables, lengths, starts, **options)
        joined = [
            np.concatenate([cache[tables[0]].reshape(-1, 1, width)[:170], each])
            for cache, each in ((keys, k), (values, v))
        ]
        one = [each.transpose(1, 0, 2)[None] for each in (q, *joined)]
        near(got, exact.attention(*one, True, **options)[0].transpose(1, 0, 2))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("per_head", [True, False])
def test_copies_of_caches_of_8_bits(rng, monkeypatch, dtype, per_head):
    """Which the programs of GPUs with tensor maps read."""
    monkeypatch.setattr(prefills, "has_warpgroups", lambda: True)
    starts, lengths = np.array([0, 70, 70, 75]), np.array([50, 3, 96])
    q, k = (rng.standard_normal((75, heads, 64)).astype(dtype) for heads in (4, 2))
    v = rng.standard_normal((75, 2, 72)).astype(dtype)
    keys, values = (
        rng.standard_normal((12, 32, 2, width)).astype(ml_dtypes.float8_e4m3fn)
        for width in (64, 72)
    )
    tables = rng.permutation(12)[:9].reshape(3, 3)  # too few for new tokens
    scales = rng.uniform(0.5, 2, (2, 3, 2)).astype(np.float32)
    scales = scales if per_head else scales[:, 0, 0]
    words = {"k_scale": np.asarray(scales[0]), "v_scale": np.asarray(scales[1])}
    rest = tables, lengths, starts
    calls = []
    tiles = prefills.described_prefill_tiles
    monkeypatch.setattr(prefills, "described_prefill_tiles", _Noted(tiles, calls))
    got = kernels.paged_prefill(q, k, v, keys, values, *rest, **words)
    assert calls
    monkeypatch.setattr(prefills, "has_warpgroups", lambda: False)
    wanted = kernels.paged_prefill(q, k, v, keys, values, *rest, **words)
    near(got, exact.wide(wanted))
    monkeypatch.setattr(prefills, "has_warpgroups", lambda: True)
    tables[0, 0], lengths[2] = -1, 97  # more than the pages of its table have
    got = kernels.paged_prefill(q, k, v, keys, values, *rest, **words)
    assert np.isnan(got).all()
    lengths[2] = 96
    got = kernels.paged_prefill(q, k, v, keys, values, *rest, **words)
    assert np.isnan(got[:70]).all() and np.isfinite(got[70:]).all()


class _Noted:
    """A program whose launches are noted."""

    def __init__(self, function, calls) -> None:
        self.function, self.calls = function, calls

    def __getitem__(self, grid):
        self.calls.append(grid)
        return self.function[grid]


def test_pages_that_there_are_not(device, rng):
    args = case(rng)
    args[5][2, 0], args[5][0, 1] = 100, -1
    got = kernels.paged_prefill(*args, LENGTHS, STARTS)
    assert np.isnan(got[:3]).all() and np.isfinite(got[3:21]).all()


def test_positions(device):
    starts = np.array([1, 3, 3, 6], np.int32)
    got = kernels.packed_positions(starts, 8, np.array([4, 9, 10]))
    assert got.dtype == np.int32
    assert got.tolist() == [[-1, 4, 5, 10, 11, 12, -1, -1]]
    assert kernels.packed_positions(starts, 8).tolist() == [[-1, 0, 1, 0, 1, 2, -1, -1]]
    assert kernels.packed_positions(starts, 0).shape == (1, 0)


@pytest.mark.parametrize("cached", [None, ml_dtypes.float8_e4m3fn])
def test_new_tokens_go_to_the_cache(device, rng, cached):
    _, k, v, keys, values, tables = case(rng, np.float32, cached)
    k[0, 0, 0], k[1, 0, 0] = 1e6, np.nan
    words = {"k_scale": np.array([0.5, 2.0], "f4"), "v_scale": np.array(4.0, "f4")}
    tables[3, 17] = 100  # whose tokens are written nowhere
    wanted = exact.wide(keys), exact.wide(values)
    limit = 448 if cached else np.inf
    for token in range(21):
        number = int(np.searchsorted(STARTS, token, "right")) - 1
        place = LENGTHS[number] + token - STARTS[number]
        page = tables[number, place // PAGE]
        if page < 100:
            for cache, each, scale in (
                (wanted[0], k, words["k_scale"][:, None]), (wanted[1], v, words["v_scale"]),
            ):  # fmt: skip
                made = np.clip(each[token] / scale, -limit, limit).astype(keys.dtype)
                cache[page, place % PAGE] = exact.wide(made)
    kernels.append_paged(k, v, keys, values, tables, LENGTHS, STARTS, **words)
    np.testing.assert_array_equal(exact.wide(keys), wanted[0])
    np.testing.assert_array_equal(exact.wide(values), wanted[1])


def test_new_tokens_of_float64(device, rng):
    """Scales are float32, but nothing else is."""
    _, k, v, keys, values, tables = case(rng, np.float64)
    words = {"k_scale": np.array(3, "f4"), "v_scale": np.array([0.5, 0.7], "f4")}
    kernels.append_paged(k, v, keys, values, tables, LENGTHS, STARTS, **words)
    last = tables[2, 0]  # of a sequence that had no tokens
    np.testing.assert_array_equal(keys[last, 0], k[3] / 3)
    np.testing.assert_array_equal(values[last, 0], v[3] / exact.wide(words["v_scale"])[:, None])


def test_tokens_behind_the_last_page(device, rng):
    _, k, v, keys, values, tables = case(rng)
    before = keys.copy()
    kernels.append_paged(k, v, keys, values, tables[:, :1], LENGTHS, STARTS)
    changed = (keys != before).any((2, 3))
    assert changed[tables[2, 0]].all() and changed.sum() == PAGE


@pytest.mark.parametrize("interleaved", [False, True])
def test_parts_of_rows_that_turn(device, rng, interleaved):
    x = rng.standard_normal((2, 3, 5, 13)).astype(np.float32)
    turns = rng.uniform(-3, 3, (9, 3))
    cos, sin = np.cos(turns), np.sin(turns)
    positions = rng.integers(0, 9, (2, 5))
    c, s = (each[positions][:, None] for each in (cos, sin))
    wanted = np.concatenate([exact.rope(x[..., :6], c, s, interleaved), exact.wide(x[..., 6:])], -1)
    words = {"positions": positions, "interleaved": interleaved, "rotary": 6}
    exact.close(kernels.rope(x, cos, sin, **words), wanted)
    assert kernels.rope(x, cos, sin, x, **words) is x
    exact.close(x, wanted)
    with pytest.raises(ArgumentError, match="rotary is 14"):
        kernels.rope(x, cos, sin, rotary=14)


def test_errors_name_the_argument(rng):
    q, k, v, keys, values, tables = case(rng)
    rest = tables, LENGTHS, STARTS
    for call, text in (
        (lambda: kernels.paged_prefill(q, k, v[:4], keys, values, *rest), "v .* shape must"),
        (lambda: kernels.paged_prefill(q[:, :3], k, v, keys, values, *rest), "multiple of keys'"),
        (lambda: kernels.paged_prefill(q, k, v, keys, keys.astype("f2"), *rest), "values is"),
        (lambda: kernels.paged_prefill(q, k, v, keys, values, tables[:2], *rest[1:]), "tables"),
        (lambda: kernels.paged_prefill(q, k, v, keys, values, *rest[:2], STARTS[:0]), "the end"),
        (lambda: kernels.paged_prefill(q, k, None, keys, values, *rest), "given together"),
        (lambda: kernels.append_paged(k, v, keys[:, :0], values[:, :0], *rest), "pages must have"),
        (lambda: kernels.append_paged(k, v, keys[::-1], values, *rest), "steps must be positive"),
        (lambda: kernels.append_paged(k, v, keys, values, *rest, k_scale=k[:1, 0, 0]), "k_scale"),
        (lambda: kernels.packed_positions(STARTS, -1), "tokens is -1"),
    ):
        with pytest.raises(ArgumentError, match=text):
            call()


@pytest.mark.parametrize("name", SHADERS)
def test_shaders(rng, name):
    args = case(rng)
    with gridlane.device(name):
        got = kernels.paged_prefill(*args, LENGTHS, STARTS)
        places = kernels.packed_positions(STARTS, 23)
    check(got, args, causal=True)
    assert places[0, 3:20].tolist() == [*range(17)]


def test_arrays_of_the_device(device, rng):
    args = case(rng)
    there = [cuda.to_device(each) for each in (*args, LENGTHS, STARTS)]
    got = kernels.paged_prefill(*there).copy_to_host()
    check(got, args, causal=True)
