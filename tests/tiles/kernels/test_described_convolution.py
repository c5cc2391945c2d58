"""Convolution by tensor descriptors: the programs of GPUs that copy boxes, on every device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.tiles.kernels import exact
from tests.tiles.kernels.test_convolution import convolved

from gridlane import cuda
from gridlane.tiles import kernels
from gridlane.tiles.kernels import convolutions, described_convolutions, prepared, products
from gridlane.tiles.kernels.described import Tile


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Let every device have descriptors, and four programs at once; the launches."""
    found: list[Any] = []
    monkeypatch.setattr(described_convolutions, "is_hopper", lambda: True)
    monkeypatch.setattr(described_convolutions, "multiprocessors", lambda: 4)
    tiles = Tile(32, 64, 4), Tile(64, 32, 4)
    monkeypatch.setattr(described_convolutions, "_TILES", tiles)
    own = convolutions.prepare

    def prepare(*args: Any) -> Any:
        found.append(own(*args))
        return found[-1]

    monkeypatch.setattr(convolutions, "prepare", prepare)
    prepared.forget()
    yield found
    prepared.forget()


def last(array: np.ndarray) -> np.ndarray:
    """The same with the channels last in memory."""
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(array, 1, -1)), -1, 1)


def whole(rng: np.random.Generator, shape: tuple[int, ...], dtype: str = "float16") -> np.ndarray:
    """Small whole numbers, of whose products all sums are exact."""
    return rng.integers(-3, 4, shape).astype(getattr(ml_dtypes, dtype, None) or dtype)


@pytest.mark.parametrize("images_last, results_last", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize(
    ("shape", "kernel", "options"),
    [
        ((2, 16, 9, 8), (24, 3, 3), {"padding": (1, 1)}),
        ((1, 20, 7, 16), (40, 3, 2), {"dilation": (2, 1), "padding": (2, 3)}),
        ((3, 64, 6, 6), (24, 3, 3), {"groups": 2, "padding": (1, 1)}),
        ((5, 72, 3, 5), (65, 1, 1), {}),
        ((1, 16, 1, 40), (64, 1, 7), {"padding": (0, 9)}),
        ((2, 32, 4, 4), (16, 2, 2), {"padding": (6, 6)}),
        ((2, 32, 12, 10), (24, 3, 3), {"stride": (2, 2), "padding": (1, 1)}),
        ((1, 64, 9, 8), (40, 2, 3), {"stride": (3, 1), "padding": (2, 5), "dilation": (2, 1)}),
        ((2, 16, 5, 12), (65, 1, 1), {"stride": (1, 4)}),
        ((1, 64, 8, 8), (24, 3, 3), {"stride": (2, 2), "padding": (4, 3), "groups": 2}),
    ],
)
def test_convolutions(device, rng, launched, shape, kernel, options, images_last, results_last):
    """Places, channels and filters are no multiples of a tile; some boxes are outside."""
    filters, *taps = kernel
    x, weight = (
        whole(rng, shape),
        whole(rng, (filters, shape[1] // options.get("groups", 1), *taps)),
    )
    bias = rng.integers(-9, 9, filters).astype(np.float32)
    want = np.maximum(convolved(x, weight, **options) + bias[:, None, None], 0)
    if images_last:
        x, weight = last(x), last(weight)
    out = np.full(want.shape, 7, np.float32)
    out = last(out) if results_last else out
    got = kernels.convolution(
        x, weight, bias, out, activation="relu", out_dtype="float32", **options
    )
    assert got is out
    np.testing.assert_array_equal(out, want)
    (made,) = launched
    copied = [each is not None for each in made.copies]
    copies = not images_last or shape[1] % 8 > 0
    assert copied == [copies, copies and taps != [1, 1]]


def test_types_and_axes(device, rng, launched):
    x, weight = whole(rng, (2, 32, 50), "bfloat16"), whole(rng, (16, 32, 5), "bfloat16")
    got = kernels.convolution(x, weight, padding=2)
    want = convolved(x[:, :, None], weight[:, :, None], padding=(0, 2))[:, :, 0]
    assert got.dtype == x.dtype
    np.testing.assert_array_equal(exact.wide(got), exact.wide(want.astype(x.dtype)))
    assert launched[0] is not None


@pytest.mark.parametrize("off", [0, 4])
def test_views(device, rng, launched, off):
    """Parts of arrays: what is beside them is not read, nor written."""
    wide = np.full((2, 9, 10, 48), np.nan, np.float16)
    view = wide[:, 1:8, 2:9, off : off + 32]
    view[...] = whole(rng, view.shape)
    x, weight = np.moveaxis(view, -1, 1), whole(rng, (40, 32, 3, 3))
    out = np.full((2, 41, 9, 9), 7, np.float32)
    kernels.convolution(x, weight, None, out[:, :40, 1:8, 1:8], padding=1, out_dtype="float32")
    np.testing.assert_array_equal(out[:, :40, 1:8, 1:8], convolved(x, weight, padding=(1, 1)))
    out[:, :40, 1:8, 1:8] = 7
    assert (out == 7).all()
    copied = [each is not None for each in launched[0].copies]
    assert copied == [off > 0 and device == "cpu", True]  # others copy arrays of the host


def test_infinite_numbers_of_other_groups(device, rng, launched):
    """A group sees its own channels alone, and taps beyond the images multiply zeros."""
    x, weight = whole(rng, (1, 32, 5, 5)), whole(rng, (32, 16, 3, 3))
    x[:, 16:], weight[16:] = np.inf, np.nan
    got = kernels.convolution(x, weight, groups=2, padding=1)
    want = convolved(x[:, :16], weight[:16], padding=(1, 1))
    np.testing.assert_array_equal(got[:, :16], want)
    assert np.isnan(got[:, 16:]).all() and launched[0] is not None


@pytest.mark.parametrize(
    ("shape", "filters", "options"),
    [
        ((1, 8, 9, 9), 64, {}),  # fewer channels than an instruction multiplies
        ((1, 32, 9, 8), 32, {"stride": 2}),  # a line more than steps
        ((1, 40, 8, 8), 32, {"stride": 2}),  # channels of the next column behind a step
        ((1, 40, 9, 9), 10, {"groups": 5}),  # a step would read another group's channels
        ((1, 32, 9, 9), 1, {}),  # copies would take longer
    ],
)
def test_without_descriptors(device, rng, launched, shape, filters, options):
    x = whole(rng, shape)
    weight = whole(rng, (filters, shape[1] // options.get("groups", 1), 3, 3))
    got = kernels.convolution(x, weight, **options, out_dtype="float32")
    options = {key: (value, value) if key == "stride" else value for key, value in options.items()}
    np.testing.assert_array_equal(got, convolved(x, weight, **options))
    assert launched == [None]


def test_calls_like_one_before(device, rng, launched):
    """They go to the launches of the first, with other memory."""
    for number in range(3):
        x, weight = whole(rng, (2, 16, 9, 8)), whole(rng, (24, 16, 3, 3))
        got = kernels.convolution(*map(cuda.to_device, (x, weight)), padding=np.array([1, 1]))
        want = convolved(x, weight, padding=(1, 1))
        np.testing.assert_array_equal(got.copy_to_host(), want.astype(np.float16))
        assert len(launched) == 1, number


@pytest.mark.parametrize("images_last, results_last", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("shape", [(3, 40, 4, 6), (1, 24, 8, 1), (2, 16, 1, 40)])
def test_one_tap(device, rng, launched, monkeypatch, shape, has_bias, images_last, results_last):
    """A product of matrices, but for a bias of rows; places of images may follow each other."""
    monkeypatch.setattr(products, "is_hopper", lambda: True)
    x, weight = whole(rng, shape), whole(rng, (72, shape[1], 1, 1))
    bias = rng.integers(-9, 9, 72).astype(np.float32) if has_bias else None
    want = convolved(x, weight) + (bias[:, None, None] if has_bias else 0)
    x = last(x) if images_last else x
    out = np.full(want.shape, 7, np.float32)
    out = last(out) if results_last else out
    for _ in range(2):
        kernels.convolution(x, weight, bias, out, activation="relu", out_dtype="float32")
        np.testing.assert_array_equal(out, np.maximum(want, 0))
    assert len(launched) == 2 * (has_bias and not results_last)


@pytest.mark.parametrize("turned", [False, True])
def test_tiles_cover_the_results(turned):
    """Boxes of common extents have no places beside them, and stay below what maps take."""
    for extents in ((32, 56, 56), (32, 28, 28), (32, 14, 14), (16, 112, 112), (1, 1, 4096)):
        box, count = described_convolutions._box(extents, 128, turned)
        assert count * 128 == np.prod(extents) and np.prod(box) == 128 and max(box) <= 256
    assert described_convolutions._box((1, 7, 7), 64, turned) == ((1, 8, 8), 1)


@pytest.mark.parametrize("images_last, results_last", [(0, 0), (1, 1)])
@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((2, 12, 9, 8), {"padding": (1, 1)}),
        ((1, 32, 8, 12), {"stride": (2, 2), "padding": (1, 1)}),
        ((2, 8, 7, 6), {"padding": (0, 2), "dilation": (1, 2)}),
    ],
)
def test_floats_of_32_bits(device, rng, launched, shape, options, images_last, results_last):
    """By tensor maps where the caller permits TF32 alone; whole numbers are exact there."""
    x, weight = whole(rng, shape, "float32"), whole(rng, (24, shape[1], 3, 3), "float32")
    want = convolved(x, weight, **options)
    if images_last:
        x, weight = last(x), last(weight)
    for precision in ("ieee", "tf32"):
        out = np.full(want.shape, 7, np.float32)
        out = last(out) if results_last else out
        kernels.convolution(x, weight, None, out, precision=precision, **options)
        np.testing.assert_array_equal(out, want)
    assert [each is not None for each in launched] == [False, True]
