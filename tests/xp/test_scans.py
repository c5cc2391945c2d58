"""Cumulative sums and products, and differences, against NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.devices import DEVICES
from tests.effort import examples

import gridlane
from gridlane import xp
from gridlane.xp import computing, groups
from gridlane.xp.computing import planned
from gridlane.xp.nodes import Node
from gridlane.xp.reductions import scans

ANYWHERE = pytest.mark.parametrize("device", ["interp", *DEVICES])
DTYPES = [bool, np.int8, np.uint16, np.int64, np.float16, np.float32, np.float64, np.complex64]


def same(got: Any, expected: Any) -> None:
    """Compare dtypes, shapes and elements."""
    host, expected = np.asarray(got), np.asarray(expected)
    assert host.dtype == expected.dtype
    np.testing.assert_array_equal(host, expected, strict=True)


@ANYWHERE
@pytest.mark.parametrize(
    ("shape", "axis"),
    [((20,), 0), ((700,), 0), ((9_000,), 0), ((3, 2_100), 1), ((300, 5), 0), ((3, 40, 7), 1)],
)
def test_every_form_of_kernels(device: str, shape: tuple[int, ...], axis: int) -> None:
    x = np.random.default_rng(0).integers(-2, 3, shape).astype(np.float32)
    same(xp.cumulative_sum(xp.asarray(x, device=device), axis=axis), x.cumsum(axis=axis))


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, np.ndarray, int, bool]:
    """A scan, an array, an axis, and whether the result starts with that of no elements."""
    shape = tuple(draw(st.lists(st.sampled_from((0, 1, 2, 7, 40)), min_size=1, max_size=3)))
    x = np.random.default_rng(draw(st.integers(0, 99))).integers(-1, 2, shape)
    dtype, axis = draw(st.sampled_from(DTYPES)), draw(st.integers(-len(shape), len(shape) - 1))
    kind = draw(st.sampled_from(("cumulative_sum", "cumulative_prod")))
    return kind, x.astype(dtype), axis, draw(st.booleans())


@ANYWHERE
@settings(max_examples=examples(8, 200), deadline=None)
@given(cases())
def test_results_are_numpys(device: str, case: tuple[str, np.ndarray, int, bool]) -> None:
    kind, x, axis, include = case
    got = getattr(xp, kind)(xp.asarray(x, device=device), axis=axis, include_initial=include)
    same(got, getattr(np, kind)(x, axis=axis, include_initial=include))


def test_an_expression_and_its_scan_are_one_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[groups.Group] = []
    launch = computing._launch

    def noting(device: Any, group: groups.Group, leaves: list[Node]) -> None:
        seen.append(group)
        launch(device, group, leaves)

    monkeypatch.setattr(computing, "_launch", noting)
    x = np.arange(5000, dtype=np.float32).reshape(50, 100) % 7
    product = xp.asarray(x) * 2
    same(xp.cumulative_sum(product + 1, axis=1) - 1, (x * 2 + 1).cumsum(axis=1) - 1)
    same(product, x * 2)
    assert [len(each.stored) for each in seen] == [1, 1]
    seen.clear()
    long = product.reshape(-1)
    result = xp.cumsum(long * long)
    same(result, (x * x * 4).reshape(-1).cumsum())
    assert [each.form.fold.scan for each in seen if each.form.fold] == [
        "totals",
        "results",
        "results",
    ]


def test_the_same_bits_on_every_device():
    x = np.random.default_rng(3).normal(size=(70, 300)).astype(np.float32)
    for axis in (0, 1):
        results = {
            np.asarray(xp.cumsum(xp.asarray(x, device=device), axis=axis)).tobytes()
            for device in ("interp", *DEVICES)
        }
        assert len(results) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.complex64])
@pytest.mark.parametrize("length", [9, 300, 2_048, 6_151])
def test_a_cpus_ways_have_the_order_of_a_block(dtype: Any, length: int) -> None:
    rng = np.random.default_rng(length)
    x = (rng.normal(size=(length, 2)) * [1, 3]).astype(dtype)
    if x.dtype.kind == "c":
        x.imag = rng.normal(size=x.shape)
    scans = [lambda x: xp.cumulative_sum(x * 3, axis=0), lambda x: xp.cumulative_sum(x[:, 0])]
    scans += [lambda x: xp.cumulative_prod(x[:, 1], dtype=x.dtype)]
    for scan in scans:
        got, expected = [np.asarray(scan(xp.asarray(x, device=each))) for each in ("cpu", "interp")]
        assert got.tobytes() == expected.tobytes()


def test_what_a_cpu_scans_in_series_is_stored_beside():
    x = np.arange(5_000, dtype=np.int32)
    whole = xp.asarray(x)
    product = whole * 3
    assert planned(xp.cumsum(product).node)[-1].form.fold.in_series
    same(xp.cumulative_sum(product, dtype=np.int32), np.cumsum(x * 3, dtype=np.int32))
    same(product, x * 3)


@pytest.mark.parametrize("columns", [70, 1_100])
def test_columns_of_a_cpu_in_step_have_the_order_of_a_thread(columns: int) -> None:
    x = np.random.default_rng(4).normal(size=(130, columns)).astype(np.float32)
    assert planned(xp.sum(xp.asarray(x), axis=0).node)[0].form.fold.in_step
    for name in ("sum", "argmin", "cumulative_sum"):
        got, expected = [
            np.asarray(getattr(xp, name)(xp.asarray(x, device=each), axis=0))
            for each in ("cpu", "interp")
        ]
        assert got.tobytes() == expected.tobytes(), name


def test_sums_are_within_their_bound():
    x = np.random.default_rng(1).normal(size=30_000).astype(np.float32)
    got = np.asarray(xp.cumsum(xp.asarray(x)))
    magnitude = np.cumsum(np.abs(x.astype(np.float64)))
    for place in (0, 9, 2047, 2048, 9_999, 29_999):
        error = abs(float(got[place]) - math.fsum(x[: place + 1].tolist()))
        assert error <= 2 * (8 + 16 + 16 + 3) * 2.0**-24 * magnitude[place]


def test_numpys_names_and_methods():
    x = np.arange(6.0).reshape(2, 3)
    array = xp.asarray(x)
    same(np.cumsum(array), x.cumsum())
    same(array.cumprod(axis=1), x.cumprod(axis=1))
    same(np.add.accumulate(array), np.add.accumulate(x))
    same(xp.cumulative_sum(array, axis=0, dtype=np.float32), x.cumsum(0, dtype=np.float32))
    same(xp.cumsum(xp.asarray(3)), np.cumsum(3))
    same(xp.diff(array), np.diff(x))
    same(np.diff(array, 2, axis=1), np.diff(x, 2, axis=1))
    same(
        xp.diff(array, axis=0, prepend=array[:1], append=array),
        np.diff(x, axis=0, prepend=x[:1], append=x),
    )
    same(xp.diff(xp.asarray([True, False, False])), np.diff([True, False, False]))


def test_axes_that_are_not_there():
    array = xp.asarray(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="needs axis"):
        xp.cumulative_sum(array)
    with pytest.raises(np.exceptions.AxisError):
        xp.cumulative_sum(array, axis=2)
    with pytest.raises(TypeError, match="no sum or product"):
        xp.cumsum(array + 1j, dtype=float)
    with pytest.raises(ValueError, match="non-negative"):
        xp.diff(array, n=-1)


def test_a_result_has_the_dtype_of_out():
    x = np.array([[100, 100, 100], [0, 1, 0]], np.int8)
    for name, dtype in (("cumsum", np.int8), ("cumprod", np.float32), ("sum", np.int8)):
        shape = (2,) if name == "sum" else x.shape
        out, expected = xp.zeros(shape, dtype), np.zeros(shape, dtype)
        assert getattr(xp, name)(xp.asarray(x), 1, out=out) is out
        getattr(np, name)(x, 1, out=expected)
        same(out, expected)
    same(xp.cumsum(xp.asarray(x), 1, bool), np.cumsum(x, 1, bool))
    same(xp.cumprod(xp.asarray(x), 1, bool), np.cumprod(x, 1, bool))
    out, expected = xp.zeros(3), np.zeros(3)
    xp.nancumsum(xp.asarray([1.0, np.nan, 2]), out=out)
    np.nancumsum([1.0, np.nan, 2], out=expected)
    same(out, expected)


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.uint64])
def test_long_scans_of_integers_take_one_pass(
    monkeypatch: pytest.MonkeyPatch, dtype: type[np.integer[Any]]
) -> None:
    """On the interpreter, whose blocks make progress alone, as those of an NVIDIA GPU do."""
    seen, one_pass = [], scans._in_one_pass
    monkeypatch.setattr(scans, "_in_one_pass", lambda *a: (seen.append(a[2]), one_pass(*a))[1])
    x = np.random.default_rng(3).integers(0, 250, (1 << 14) + 5).astype(dtype)
    with gridlane.device("interp"):
        a = xp.asarray(x)
        for got, expected in (
            (xp.cumsum(a), np.cumsum(x)),
            (xp.cumsum(a[3:]) * 2, np.cumsum(x[3:]) * 2),
            (xp.cumprod(a, dtype=np.int16), np.cumprod(x, dtype=np.int16)),
        ):
            assert np.array_equal(np.asarray(got), expected) and got.dtype == expected.dtype
        assert len(seen) == 3
        for other in (a[::2], a[: 1 << 10], a + 1):
            got = xp.cumulative_sum(other)
            assert np.array_equal(np.asarray(got), np.cumsum(np.asarray(other)))
        xp.cumsum(a, dtype=np.float32)
        assert len(seen) == 3
