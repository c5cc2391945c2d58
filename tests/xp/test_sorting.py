"""Sorting, searching and sets of arrays, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.devices import DEVICES

import gridlane
from gridlane import xp
from gridlane.xp.sorting import searching, sets

ANYWHERE = pytest.mark.parametrize("device", DEVICES)
ONE_SHADER = pytest.mark.parametrize(
    "device", [each for each in DEVICES if each not in ("webgpu", "opengl")]
)
"""Code of several dtypes takes drivers of shaders seconds to compile."""
DTYPES = [np.int8, np.float16, np.float32, np.complex64, np.int64, bool]
SHAPES = [((9,), 0), ((1500,), -1), ((40, 5), 0), ((3, 4, 5), 1), ((1,), 0), ((0, 3), 1)]


def same(got: Any, expected: Any) -> None:
    """Compare dtypes, shapes and elements, bit by bit."""
    host, expected = np.asarray(got), np.asarray(expected)
    assert (host.dtype, host.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(host, expected)
    if host.dtype.kind == "f":
        is_number = ~np.isnan(host)
        signs = [np.signbit(each[is_number]) for each in (host, expected)]
        np.testing.assert_array_equal(*signs)


def elements(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Numbers many of which are equal, with NaN of both signs and both zeros among them."""
    x = np.random.default_rng(1).integers(-4, 4, shape).astype(dtype)
    if x.dtype.kind in "fc" and x.size > 8:
        x.flat[[0, 5, 2, 7]] = np.nan, -np.nan, -0.0, 0.0
        if x.dtype.kind == "c":
            x.flat[3] = complex(1, np.nan)
    return x


@pytest.mark.parametrize("dtype", DTYPES)
def test_sorts_are_numpys_stable_ones(dtype: Any) -> None:
    for shape, axis in SHAPES:
        x = elements(shape, dtype)
        array = xp.asarray(x)
        same(xp.argsort(array, axis=axis), np.argsort(x, axis=axis, kind="stable"))
        same(xp.sort(array, axis=axis), np.sort(x, axis=axis, kind="stable"))


@ANYWHERE
def test_sorts_of_devices(device: str) -> None:
    x = elements((3, 70), np.float32)
    array = xp.asarray(x, device=device)
    same(xp.argsort(array), np.argsort(x, kind="stable"))
    same(xp.sort(array, axis=None), np.sort(x, axis=None, kind="stable"))
    descending = np.asarray(xp.argsort(array, descending=True))
    same(descending, np.argsort(-x, kind="stable"))


def test_descending_integers_keep_the_order_of_equals():
    x = elements((300,), np.int8)
    same(xp.argsort(xp.asarray(x), descending=True), np.argsort(-x, kind="stable"))
    unsigned = x.astype(np.uint64)
    same(xp.sort(xp.asarray(unsigned), descending=True), np.sort(unsigned)[::-1])


def test_expressions_and_views_are_sorted():
    x = elements((40, 6), np.int8)
    array = xp.asarray(x)
    same(xp.sort((array * 3)[::-2, 1:], axis=0), np.sort((x * 3)[::-2, 1:], axis=0))
    same(np.sort(array), np.sort(x))
    same(array.argsort(), x.argsort(kind="stable"))
    same(array, x)


@pytest.mark.parametrize("dtype", [np.int8, np.float32, bool])
def test_sets(dtype: Any) -> None:
    for shape, _ in SHAPES:
        x = elements(shape, dtype)
        array = xp.asarray(x)
        got, expected = xp.unique_all(array), np.unique_all(x)
        for name in ("values", "indices", "inverse_indices", "counts"):
            same(getattr(got, name), getattr(expected, name))
        same(xp.unique_counts(array).counts, expected.counts)
        same(xp.unique_inverse(array).inverse_indices, expected.inverse_indices)
        same(xp.unique_values(array), expected.values)
        np.testing.assert_array_equal(xp.unique(array), np.unique(x))
        assert np.unique(array, return_counts=True)[1].dtype == np.int64
        some = np.array([1, 3, 9]).astype(dtype)
        same(xp.isin(array, xp.asarray(some)), np.isin(x, some))
        same(xp.isin(array, xp.asarray(some), invert=True), np.isin(x, some, invert=True))
    same(xp.isin(xp.asarray([1, 2]), 2), np.array([False, True]))


@ANYWHERE
def test_elements_that_are_not_zero(device: str) -> None:
    for shape in ((9,), (3, 70), (2, 0)):
        x = elements(shape, np.float32)
        array = xp.asarray(x, device=device)
        for got, expected in zip(xp.nonzero(array), np.nonzero(x), strict=True):
            same(got, expected)
        same(xp.argwhere(array), np.argwhere(x))
        same(xp.extract(array > 1, array), np.extract(x > 1, x))
    with pytest.raises(ValueError, match="needs a dimension"):
        xp.nonzero(xp.asarray(1))


@ONE_SHADER
def test_complex_numbers_are_ordered_by_their_real_parts_first(device: str) -> None:
    parts = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan])
    rng = np.random.default_rng(3)
    x, values = np.empty(120, np.complex64), np.empty((2, 15), np.complex64)
    for each in (x, values):
        each.real, each.imag = rng.choice(parts, (2, *each.shape))
    ordered = xp.sort(xp.asarray(x, device=device))
    wanted = xp.asarray(values, device=device)
    for side in ("left", "right"):
        got = xp.searchsorted(ordered, wanted, side=side)
        same(got, np.searchsorted(np.sort(x), values, side=side))
    same(xp.isin(wanted, ordered), np.isin(values, x))


@ONE_SHADER
@pytest.mark.parametrize(("shape", "axis"), [((40, 2), 0), ((3, 2, 30), -1), ((5, 0), 0)])
def test_distinct_subarrays(device: str, shape: tuple[int, ...], axis: int) -> None:
    x = np.random.default_rng(4).integers(0, 3, shape).astype(np.float32)
    if x.size:
        x[0, 1] = np.nan
    results = xp.unique(xp.asarray(x, device=device), True, True, True, axis=axis)
    for got, expected in zip(results, np.unique(x, True, True, True, axis=axis), strict=True):
        same(got, expected)


def test_distinct_subarrays_of_other_dtypes():
    for dtype in (np.int8, np.complex64, bool):
        x = np.random.default_rng(5).integers(0, 2, (30, 3)).astype(dtype)
        same(np.unique(xp.asarray(x), axis=0), np.unique(x, axis=0))
    with pytest.raises(np.exceptions.AxisError):
        xp.unique(xp.asarray([1]), axis=1)


@ONE_SHADER
@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.complex64, bool])
def test_segments_are_reduced_as_by_numpys_ufuncs(device: str, dtype: Any) -> None:
    x = np.random.default_rng(6).integers(-2, 3, (3, 50)).astype(dtype)
    if x.dtype.kind in "fc":
        x[1, 3] = np.nan
    array = xp.asarray(x, device=device)
    names = ("add", "multiply", "maximum", "minimum", "logical_and", "logical_or")
    for name in names if device == "cpu" else names[:3]:
        reduceat = getattr(np, name).reduceat
        for places, axis in (([0, 20, 5, 5, 49], 1), ([2, 0], 0)):
            same(getattr(xp, name).reduceat(array, places, axis=axis), reduceat(x, places, axis))
    if dtype is np.int8:
        same(np.add.reduceat(array, [1, 2], dtype=np.int8), np.add.reduceat(x, [1, 2], dtype=dtype))
        signed = xp.asarray([-0.0, 1.0], device=device)
        same(xp.add.reduceat(signed, [0, 1]), np.array([-0.0, 1.0]))
        with pytest.raises(IndexError, match=r"index 3 out-of-bounds in add.reduceat \[0, 3\)"):
            np.add.reduceat(array, [3])
        with pytest.raises(TypeError, match=r"np.subtract.reduceat: gridlane.xp has no function"):
            np.subtract.reduceat(array, [0])


@ANYWHERE
def test_places_in_sorted_arrays(device: str) -> None:
    x = np.sort(elements((50,), np.float32))
    values = np.array([[0, 2, np.nan], [-np.inf, np.inf, -0.0]], np.float32)
    array, wanted = xp.asarray(x, device=device), xp.asarray(values, device=device)
    for side in ("left", "right"):
        same(xp.searchsorted(array, wanted, side=side), np.searchsorted(x, values, side))
    order = np.arange(50)[::-1].copy()
    sorter = xp.asarray(order, device=device)
    same(xp.searchsorted(array[::-1], wanted, sorter=sorter), np.searchsorted(x, values))
    same(xp.searchsorted(array, 1), np.searchsorted(x, 1))
    with pytest.raises(ValueError, match="one dimension"):
        xp.searchsorted(wanted, array)
    with pytest.raises(ValueError, match="'left' or 'right'"):
        xp.searchsorted(array, wanted, side="middle")


def test_elements_at_indices_along_a_dimension():
    x = elements((4, 5), np.int8)
    indices = np.array([[0, -1, 3], [1, 1, -5], [4, 0, 0], [2, 2, 2]])
    same(
        xp.take_along_axis(xp.asarray(x), xp.asarray(indices), axis=1),
        np.take_along_axis(x, indices, axis=1),
    )
    same(
        xp.take_along_axis(xp.asarray(x)[:, ::2], xp.asarray(indices[:1]), axis=0),
        np.take_along_axis(x[:, ::2], indices[:1], axis=0),
    )
    for wrong in (5, -6):
        with pytest.raises(IndexError, match=f"index {wrong} is out of bounds for axis 1"):
            xp.take_along_axis(xp.asarray(x), xp.asarray(np.full((4, 1), wrong)), axis=1)


def test_the_largest_elements():
    x = elements((3, 40), np.float32)
    got = xp.top_k(xp.asarray(x), 5)
    same(got.indices, np.argsort(-x, kind="stable")[:, :5])
    same(got.values, np.take_along_axis(x, np.asarray(got.indices), axis=1))
    least = xp.top_k(xp.asarray(x), 2, axis=0, mode="smallest")
    same(least.values, np.sort(x, axis=0, kind="stable")[:2])
    same(xp.partition(xp.asarray(x), 3), np.sort(x, kind="stable"))
    with pytest.raises(ValueError, match="there are 40 elements"):
        xp.top_k(xp.asarray(x), 41)
    with pytest.raises(ValueError, match="out of bounds"):
        xp.partition(xp.asarray(x), 40)
    with pytest.raises(ValueError, match="kind is one of"):
        xp.sort(xp.asarray(x), kind="bubble")
    with pytest.raises(np.exceptions.AxisError):
        xp.sort(xp.asarray(x), axis=2)


def test_results_of_others_memory_keep_their_elements():
    host = np.array([3.0, 1, 2, 0, 5])
    array = xp.from_dlpack(host)
    places = xp.asarray([4, 0])
    results = {
        "sum": (xp.sum(array), 11.0),
        "cumsum": (xp.cumsum(array), [3, 4, 6, 6, 11]),
        "sort": (xp.sort(array), [0, 1, 2, 3, 5]),
        "argsort": (xp.argsort(array), [3, 1, 2, 0, 4]),
        "take_along_axis": (xp.take_along_axis(array, places), [5, 3]),
        "extract": (xp.extract(array > 2, array), [3, 5]),
        "unique": (xp.unique(array), [0, 1, 2, 3, 5]),
        "inverse": (xp.unique_inverse(array).inverse_indices, [3, 1, 2, 0, 4]),
        "median": (xp.median(array), 2),
        "searchsorted": (xp.searchsorted(xp.asarray([1.0, 4]), array), [1, 0, 1, 0, 2]),
        "isin": (xp.isin(array, 5.0), [False] * 4 + [True]),
        "top_k": (xp.top_k(array, 1).values, [5]),
        "softmax": (xp.softmax(array * 0), [0.2] * 5),
    }
    host[:] = -7
    for name, (got, expected) in results.items():
        np.testing.assert_array_equal(got, expected, err_msg=name)


def test_stores_after_a_result_is_asked_for():
    x = np.array([3, 1, 2])
    array = xp.asarray(x)
    taken, total, scanned = (
        xp.take_along_axis(array, xp.asarray([2])),
        xp.sum(array),
        xp.cumsum(array),
    )
    array[:] = 0
    assert taken.tolist() == [2]
    assert int(total) == 6
    assert scanned.tolist() == [3, 4, 6]


def test_methods_sort_in_place():
    x = np.random.default_rng(3).integers(0, 9, (4, 5))
    own = xp.asarray(x)
    view = own[1:]
    own.sort(0)
    assert np.array_equal(own, np.sort(x, 0))
    assert np.array_equal(view, np.sort(x, 0)[1:])
    own = xp.asarray(x)
    own.partition(2)
    assert np.array_equal(own[:, 2], np.sort(x)[:, 2])
    places = np.asarray(xp.asarray(x).argpartition(1))
    assert np.array_equal(np.take_along_axis(x, places, 1)[:, 1], np.sort(x)[:, 1])
    assert np.array_equal(xp.asarray(x * 1j).conjugate(), x * -1j)


@pytest.mark.parametrize("device", DEVICES)
def test_unique_integers_are_stored_by_their_groups(device):
    """Without the places of the first of each; also of no elements, and of one group."""
    for host in (np.array([3, 1, 3, 1, 2], np.int8), np.zeros(300, np.uint32), np.arange(0)):
        x = xp.asarray(host, device=device)
        for function in (xp.unique, xp.unique_values):
            result = np.asarray(function(x))
            assert np.array_equal(result, np.unique(host)) and result.dtype == host.dtype


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.int64])
def test_distinct_integers_in_one_pass(monkeypatch, dtype):
    """On devices whose blocks make progress independently, without the numbers of groups."""
    calls, whole = [], sets.first_of_runs

    def first_of_runs(**options):
        calls.append(options["num_items"])
        whole(**options)

    monkeypatch.setattr(sets, "first_of_runs", first_of_runs)
    monkeypatch.setattr(sets, "_LEAST", 2)
    rng = np.random.default_rng(8)
    with gridlane.device("interp"):
        for count, most in ((2, 3), (3100, 255)):
            x = rng.integers(0, most, count).astype(dtype) - dtype(most // 2)
            same(xp.unique(xp.asarray(x)), np.unique(x))
            same(xp.unique_values(xp.asarray(x[::-1])), np.unique(x))
            numbers, counts = xp.unique(xp.asarray(x), return_counts=True)
            same(numbers, np.unique(x))
            same(counts, np.unique(x, return_counts=True)[1])
    assert calls == [2, 2, 3100, 3100]


@pytest.mark.parametrize("dtype", [bool, np.int64, np.float32])
def test_places_in_one_pass(monkeypatch, dtype):
    """Of elements that are not zero, on devices whose blocks make progress independently."""
    calls, whole = [], searching.select

    def select(**options):
        calls.append(options["num_items"])
        whole(**options)

    monkeypatch.setattr(searching, "select", select)
    monkeypatch.setattr(searching, "_LEAST", 2)
    rng = np.random.default_rng(9)
    with gridlane.device("interp"):
        for shape, most in (((2,), 3), ((5, 700), 2), ((8300,), 40), ((4000,), 1)):
            x = np.where(rng.integers(0, most, shape) == most - 1, -1, 0).astype(dtype)
            x = np.zeros_like(x) if most == 1 else x
            for got, expected in zip(xp.nonzero(xp.asarray(x)), np.nonzero(x), strict=True):
                same(got, expected)
            turned = xp.asarray(x).T
            for got, expected in zip(xp.nonzero(turned), np.nonzero(x.T), strict=True):
                same(got, expected)
            for got, expected in zip(xp.nonzero(xp.asarray(x[::-1])), np.nonzero(x[::-1])):
                same(got, expected)
    assert 3500 in calls
    assert 8300 in calls
    assert 4000 not in calls
