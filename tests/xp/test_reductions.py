"""Reductions of arrays, against NumPy and exact sums."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.devices import DEVICES
from tests.effort import examples

from gridlane import xp
from gridlane.xp import computing, groups
from gridlane.xp.nodes import Node

ANYWHERE = pytest.mark.parametrize("device", ["interp", *DEVICES])
DTYPES = [bool, np.int8, np.uint8, np.int32, np.int64, np.uint64, np.float16, np.float32]
DTYPES += [np.float64, np.complex64]
ORDERED = ["min", "max", "argmin", "argmax"]
KINDS = ["sum", "prod", "any", "all", "count_nonzero", "mean", *ORDERED]
FORMS = [
    ((20,), None),  # a thread
    ((700,), None),  # a warp
    ((20_000,), None),  # blocks, and their states
    ((3, 9_000), 1),
    ((5, 30), 1),
    ((600, 5), 0),  # columns, and their states
    ((3, 40, 7), 1),
    ((4, 5, 6), (0, 2)),
    ((2, 3), ()),
]
"""Shapes and axes for each form of kernels."""


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[groups.Group]:
    """The groups that are launched in a test."""
    seen: list[groups.Group] = []
    launch = computing._launch

    def noting(device: Any, group: groups.Group, leaves: list[Node]) -> None:
        seen.append(group)
        launch(device, group, leaves)

    monkeypatch.setattr(computing, "_launch", noting)
    return seen


def same(got: Any, expected: Any) -> None:
    """Compare dtypes, shapes and elements; floats to a few units of their last place."""
    host, expected = np.asarray(got), np.asarray(expected)
    assert (host.dtype, host.shape) == (expected.dtype, expected.shape)
    if expected.dtype.kind in "fc":
        error = 64 * np.finfo(expected.dtype).eps
        np.testing.assert_allclose(host, expected, rtol=error, atol=error)
    else:
        np.testing.assert_array_equal(host, expected)


def elements(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> np.ndarray:
    """Small numbers of both signs, many of them equal; sums of them are exact."""
    return np.random.default_rng(seed).integers(-2, 3, shape).astype(dtype)


@ANYWHERE
@pytest.mark.parametrize(("shape", "axis"), FORMS)
def test_every_form_of_kernels(device: str, shape: tuple[int, ...], axis: Any) -> None:
    x = elements(shape, np.float32)
    array = xp.asarray(x, device=device)
    assert np.array_equal(xp.sum(array, axis=axis), x.sum(axis=axis))
    if not isinstance(axis, tuple):
        assert np.array_equal(xp.argmax(array, axis=axis), x.argmax(axis=axis))


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, np.ndarray, Any, bool]:
    """A kind of reduction, an array, axes, and whether they stay as dimensions of one element."""
    kind, dtype = draw(st.sampled_from(KINDS)), draw(st.sampled_from(DTYPES))
    shape = tuple(draw(st.lists(st.sampled_from((1, 2, 3, 7, 40)), max_size=3)))
    rank = len(shape)
    axes: list[Any] = [None, *range(-rank, rank)]
    if kind not in ("argmin", "argmax") and rank > 1:
        axes += [(0, -1), (), (1,)]
    x = elements(shape, dtype, draw(st.integers(0, 99)))
    if x.dtype.kind == "c":
        x.imag = elements(shape, np.float32, draw(st.integers(0, 99)))
    if x.dtype.kind in "fc" and x.size and draw(st.booleans()):
        x[tuple([draw(st.integers(0, extent - 1)) for extent in shape])] = np.nan
    return kind, x, draw(st.sampled_from(axes)), draw(st.booleans())


@ANYWHERE
@settings(max_examples=examples(12, 300), deadline=None)
@given(cases())
def test_results_are_numpys(device: str, case: tuple[str, np.ndarray, Any, bool]) -> None:
    kind, x, axis, keepdims = case
    got = getattr(xp, kind)(xp.asarray(x, device=device), axis=axis, keepdims=keepdims)
    with np.errstate(all="ignore"):
        same(got, getattr(np, kind)(x, axis=axis, keepdims=keepdims))


def test_methods_and_numpys_functions():
    x = np.arange(24.0).reshape(4, 6)
    array = xp.asarray(x)
    assert np.array_equal(array.sum(axis=0), x.sum(axis=0))
    assert np.array_equal(array.max(-1, keepdims=True), x.max(-1, keepdims=True))
    result = np.sum(array, axis=1)
    assert isinstance(result, xp.Array)
    assert np.array_equal(result, x.sum(axis=1))
    assert np.array_equal(np.add.reduce(array), x.sum(axis=0))
    out = xp.asarray(np.zeros(6))
    assert xp.sum(array, axis=0, out=out) is out
    assert np.array_equal(out, x.sum(axis=0))
    with pytest.raises(ValueError, match=r"out has the shape \(6,\)"):
        xp.sum(array, out=out)


def test_an_expression_and_its_reduction_are_one_kernel(launched: list[groups.Group]) -> None:
    x, y = elements((30, 100), np.float32), elements((30, 100), np.float32, 1)
    result = xp.sum(xp.asarray(x) * xp.asarray(y) + 1, axis=1)
    assert np.array_equal(result, (x * y + 1).sum(axis=1))
    (group,) = launched
    assert [step[0] for step in group.form.steps if step[0] not in ("leaf", "number")] == [
        "multiply",
        "add",
    ]
    assert not group.stored


def test_what_an_array_refers_to_is_stored_by_the_reduction(launched: list[groups.Group]) -> None:
    x = elements((3, 9_001), np.float32)
    product = xp.asarray(x) * 3
    for axis in (0, 1):
        part = product + axis
        assert np.array_equal(xp.sum(part, axis=axis), (x * 3 + axis).sum(axis=axis))
        count = len(launched)
        assert np.array_equal(part, x * 3 + axis)
        assert len(launched) == count
    assert np.array_equal(product, x * 3)
    assert [len(each.stored) for each in launched] == [2, 1, 0]


def test_a_reduction_inside_of_an_expression(launched: list[groups.Group]) -> None:
    x = np.arange(12.0).reshape(3, 4)
    array = xp.asarray(x)
    centred = array - xp.sum(array * 2, axis=1, keepdims=True)
    assert np.array_equal(centred, x - (x * 2).sum(axis=1, keepdims=True))
    assert [each.form.fold is not None for each in launched] == [True, False]
    alone = xp.asarray(x[:, :1]) * 2
    assert np.array_equal(xp.sum(alone, axis=1, keepdims=True) + 1, x[:, :1] * 2 + 1)
    nested = array
    for _ in range(100):
        nested = nested - xp.max(nested) * 0
    assert np.array_equal(nested, x)


def bits(array: Any) -> bytes:
    return np.asarray(array).tobytes()


def test_the_same_bits_on_every_device_and_for_every_layout():
    x = np.random.default_rng(3).normal(size=(300, 70)).astype(np.float32)
    for axis in (None, 0, 1):
        expected = bits(xp.sum(xp.asarray(x, device="interp"), axis=axis))
        for device in DEVICES:
            array = xp.asarray(x, device=device)
            assert bits(xp.sum(array, axis=axis)) == expected, device
        array = xp.asarray(x)
        assert bits(xp.sum(xp.asarray(x.T.copy()).T, axis=axis)) == expected
        assert bits(xp.sum(xp.asarray(np.repeat(x, 2, axis=0))[::2], axis=axis)) == expected
        assert bits(xp.sum(array * 1, axis=axis)) == expected


def test_the_same_bits_with_any_number_of_threads():
    program = (
        "import numpy as np; from gridlane import xp\n"
        "x = np.random.default_rng(3).normal(size=300_000).astype(np.float32)\n"
        "print(float(xp.sum(xp.asarray(x))).hex())"
    )
    lines = set()
    for threads in ("1", "3"):
        environment = {**os.environ, "GRIDLANE_THREADS": threads, "GRIDLANE_DEVICE": "cpu"}
        command = [sys.executable, "-c", program]
        lines.add(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)
    assert len(lines) == 1


def additions(length: int) -> int:
    """The most additions between an element of a contiguous row and its sum."""
    count = 0
    while length > 1:
        width = 1 if length <= 32 else 32 if length <= 1024 else 256
        serial = -(-min(length, width * 32) // width)
        count += serial // 4 + 3 + 2 + {1: 0, 32: 5, 256: 8}[width]
        length = -(-length // (width * 32))
    return count


@pytest.mark.parametrize("length", [31, 1000, 20_000, 1_000_003])
def test_sums_are_within_their_bound(length: int) -> None:
    x = np.random.default_rng(length).normal(size=length).astype(np.float32)
    exact, magnitude = math.fsum(x.tolist()), math.fsum(np.abs(x).tolist())
    error = abs(float(xp.sum(xp.asarray(x))) - exact)
    assert error <= additions(length) * 2.0**-24 * magnitude
    assert (
        error
        <= 4 * math.sqrt(additions(length)) * 2.0**-24 * np.sqrt(np.sum(x**2))
        + abs(exact) * 2.0**-23
    )


def test_narrow_floats_are_summed_in_float32():
    x = np.full(10_000, 0.1, np.float16)
    assert np.array_equal(xp.sum(xp.asarray(x)), np.float16(np.float32(x[0]) * 10_000))
    big = xp.asarray(np.full(64, 2000, np.float16))
    assert float(xp.mean(big)) == 2000


def test_integers_wrap_in_numpys_dtype():
    x = np.full(300, 100, np.int8)
    same(xp.sum(xp.asarray(x)), x.sum())
    same(xp.sum(xp.asarray(x), dtype=np.int8), x.sum(dtype=np.int8))
    same(xp.prod(xp.asarray(x[:5]), dtype=np.uint8), x[:5].prod(dtype=np.uint8))
    big = np.full(3, 2**63 - 1, np.int64)
    same(xp.sum(xp.asarray(big)), big.sum())
    same(xp.sum(xp.asarray([True, True]), dtype=bool), np.True_)


def test_nan_and_ties():
    x = np.array([1, np.nan, 3, np.nan, 3], np.float32)
    for kind in ORDERED:
        same(getattr(xp, kind)(xp.asarray(x)), getattr(np, kind)(x))
        ties = np.array([[-np.inf, -np.inf], [np.inf, np.inf], [2, 2]])
        same(getattr(xp, kind)(xp.asarray(ties), axis=1), getattr(np, kind)(ties, axis=1))
    same(xp.argmax(xp.asarray(np.full(5000, 7, np.uint8))), np.int64(0))
    assert math.copysign(1, float(xp.sum(xp.asarray([-0.0, -0.0])))) == -1


def test_no_elements():
    empty = np.zeros((3, 0, 2), np.float32)
    array = xp.asarray(empty)
    for kind in ("sum", "prod", "any", "all"):
        for axis in (0, 1, None):
            got, expected = (getattr(each, kind) for each in (array, empty))
            same(got(axis=axis), expected(axis=axis))
    for kind in ORDERED:
        with pytest.raises(ValueError, match=r"no elements|empty sequence"):
            getattr(xp, kind)(array, axis=1)
        assert getattr(xp, kind)(array, axis=2).shape == (3, 0)


def test_axes_that_are_not_there():
    array = xp.asarray(np.zeros((2, 3)))
    for axis in (2, -3, (0, 5)):
        with pytest.raises(np.exceptions.AxisError):
            xp.sum(array, axis=axis)
    with pytest.raises(ValueError, match="duplicate"):
        xp.sum(array, axis=(0, -2))
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        xp.sum(array, axis=1.0)
    with pytest.raises(TypeError, match=r"not ndarray; copy others with xp\.asarray"):
        xp.sum(np.zeros(3))


@pytest.mark.parametrize(
    "device", ["interp", *[each for each in DEVICES if each not in ("webgpu", "opengl")]]
)
def test_extremes_of_complex_numbers_are_numpys(device: str) -> None:
    parts = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf])
    rng = np.random.default_rng(2)
    x = np.empty((4, 300), np.complex64)
    x.real, x.imag = rng.choice(parts, (2, *x.shape))
    x[1, 70], x[1, 200] = complex(1, np.nan), complex(np.nan, 5)
    x[2], x[3] = complex(-np.inf, -np.inf), complex(np.nan, 1)
    array = xp.asarray(x, device=device)
    for name in ("min", "max", "nanmin", "nanmax"):
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            expected = getattr(np, name)(x, axis=1)
        got = np.asarray(getattr(xp, name)(array, axis=1))
        is_nan = np.isnan(expected)
        np.testing.assert_array_equal(np.isnan(got), is_nan)
        np.testing.assert_array_equal(got[~is_nan], expected[~is_nan])
    for name in ("argmin", "argmax"):
        same(getattr(xp, name)(array, axis=1), getattr(np, name)(x, axis=1))
        same(getattr(xp, name)(array[:, :20], axis=0), getattr(np, name)(x[:, :20], axis=0))
    start = complex(2, 0)
    same(xp.max(array[0, 1:3], initial=start), np.max(x[0, 1:3], initial=start))


def test_elements_that_take_part():
    x = elements((40, 50), np.float32)
    mask = x > 0
    array, where = xp.asarray(x), xp.asarray(mask)
    same(xp.sum(array, axis=1, where=where), x.sum(axis=1, where=mask))
    row = xp.asarray(mask[:1])
    same(xp.prod(array, axis=0, where=row), x.prod(axis=0, where=mask[:1]))
    same(xp.any(array, where=where), x.any(where=mask))
    for nothing in (False, xp.asarray(np.zeros((40, 50), bool))):
        total = xp.sum(array, where=nothing)
        assert float(total) == 0
        assert not np.signbit(np.asarray(total))
    with pytest.raises(TypeError, match="where is an array of bool"):
        xp.sum(array, where=array)
    with pytest.raises(ValueError, match="where has the shape"):
        xp.sum(array[0], where=where)
    with pytest.raises(ValueError, match="initial is the result"):
        xp.max(array, where=where)
    same(xp.sum(array, initial=5), x.sum(initial=5))


def test_where_with_a_start():
    x = elements((40, 50), np.float32)
    mask = x > 0
    array, where = xp.asarray(x), xp.asarray(mask)
    same(xp.max(array, axis=1, initial=-3, where=where), x.max(axis=1, initial=-3, where=mask))
    same(xp.min(array, initial=-5.0), x.min(initial=-5.0))
    same(xp.mean(array, axis=0, where=where), x.mean(axis=0, where=mask))
    same(xp.max(xp.asarray(x[:0]), axis=0, initial=4), x[:0].max(axis=0, initial=4))


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.float64, np.complex64])
def test_variances(dtype: Any) -> None:
    x = np.random.default_rng(1).integers(-9, 9, (40, 70)).astype(dtype)
    if x.dtype.kind == "c":
        x += 3j * x[::-1]
    array = xp.asarray(x)
    wide = x.astype(np.float32) if dtype is np.float16 else x  # where NumPy's sums do not overflow
    real = x.real.dtype if x.dtype.kind in "fc" else np.dtype(float)
    for axis, ddof in ((None, 0), (0, 1), (1, 2.5)):
        expected = wide.var(axis=axis, ddof=ddof)
        same(xp.var(array, axis=axis, correction=ddof), expected.astype(real))
    same(array.std(0, ddof=1, keepdims=True), wide.std(0, ddof=1, keepdims=True).astype(real))
    same(np.std(array), wide.std().astype(real))


def test_a_variance_far_from_zero_is_right():
    x = (1e4 + np.random.default_rng(2).normal(size=100_000)).astype(np.float32)
    exact = x.astype(np.float64).var()
    assert float(xp.var(xp.asarray(x))) == pytest.approx(exact, rel=1e-5)
    mask = x > 1e4
    masked = xp.var(xp.asarray(x), where=xp.asarray(mask))
    assert float(masked) == pytest.approx(x.astype(np.float64).var(where=mask), rel=1e-5)
    assert math.isnan(float(xp.var(xp.asarray(x[:1]), correction=1)))
