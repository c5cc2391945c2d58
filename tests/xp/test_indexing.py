"""Elements by arrays of integers and masks, beside NumPy's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps
from tests.devices import DEVICES
from tests.effort import examples

from gridlane import xp


@st.composite
def selections(draw: st.DrawFn) -> tuple[np.ndarray, tuple[Any, ...]]:
    """An array, and a key of integers, slices, ``None``, ``...``, arrays of integers and masks."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    array = np.arange(int(np.prod(shape)), dtype=draw(st.sampled_from(["i4", "f8", "i2", "c8"])))
    grid = tuple(draw(st.lists(st.integers(0, 3), max_size=2)))
    keys: list[Any] = []
    axis = 0
    while axis < len(shape):
        kind = draw(st.sampled_from(["integer", "slice", "array", "array", "mask", "none"]))
        extent = shape[axis]
        if kind == "none":
            keys.append(None)
            continue
        axis += 1
        if kind == "integer":
            keys.append(draw(st.integers(-extent, extent - 1)))
        elif kind == "slice":
            keys.append(draw(st.slices(extent)))
        elif kind == "array":
            own = tuple([each if draw(st.booleans()) else 1 for each in grid])
            indices = st.integers(-extent, extent - 1)
            keys.append(draw(nps.arrays(np.int64, own, elements=indices)))
        elif not any(isinstance(each, np.ndarray) for each in keys) and grid == ():
            keys.append(draw(nps.arrays(np.bool_, (extent,))))
        else:
            keys.append(slice(None))
    if draw(st.booleans()):
        keys = [*keys[: draw(st.integers(0, len(keys)))], ...]
    return array.reshape(shape), tuple(keys)


def placed(key: tuple[Any, ...], device: str) -> tuple[Any, ...]:
    """A key with its arrays on a device, every second one."""
    return tuple(
        xp.asarray(each, device=device) if isinstance(each, np.ndarray) and number % 2 else each
        for number, each in enumerate(key)
    )


@pytest.mark.parametrize("device", ["interp", *DEVICES])
@settings(max_examples=examples(30, 300), deadline=None)
@given(selections(), st.data())
def test_selections_are_numpys(
    device: str, selection: tuple[np.ndarray, tuple[Any, ...]], data: st.DataObject
) -> None:
    array, key = selection
    try:
        expected = array[key]
    except IndexError:
        with pytest.raises(IndexError):
            _ = xp.asarray(array, device=device)[placed(key, device)]
        return
    own = xp.asarray(array, device=device)
    selected = own[placed(key, device)]
    assert selected.shape == expected.shape
    assert np.array_equal(selected, expected)
    values = np.arange(expected.size, dtype=array.dtype).reshape(expected.shape) + 100
    if data.draw(st.booleans()):
        values = values[..., :1] if values.ndim and values.shape[-1] else values
    array[key] = values
    own[placed(key, device)] = xp.asarray(values, device=device)
    assert np.array_equal(own, array)
    if not isinstance(expected, np.generic):  # NumPy's elements are copies, and these are views
        assert np.array_equal(selected, expected)


def test_the_last_of_equal_indices_counts():
    array = np.zeros((2, 3))
    own = xp.asarray(array)
    values = np.arange(1.0, 11.0).reshape(2, 5)
    array[:, [0, 1, 0, -2, 0]] = values
    own[:, [0, 1, 0, -2, 0]] = xp.asarray(values)
    assert np.array_equal(own, array)


def test_a_mask_and_one_value_are_one_store():
    array = np.arange(24.0).reshape(2, 3, 4)
    own = xp.asarray(array)
    view, old = own[:, ::-1], own * 1
    view[view > 7] = xp.asarray([[-2.5]])
    own[own == 3] = np.float32(9)
    own[xp.isnan(own)] = 1
    assert np.array_equal(old, array)
    array[array > 7] = -2.5
    array[array == 3] = 9
    assert np.array_equal(own, array)
    with pytest.raises(ValueError, match="NaN"):
        xp.asarray([1])[xp.asarray([True])] = float("nan")


def test_masks_of_several_dimensions():
    array = np.arange(24).reshape(2, 3, 4)
    own, mask = xp.asarray(array), xp.asarray(array % 3 == 0)
    assert np.array_equal(own[mask], array[array % 3 == 0])
    own[mask] = -1
    array[array % 3 == 0] = -1
    assert np.array_equal(own, array)


@pytest.mark.parametrize("key", [True, False, np.True_, (None, True, 1), (..., [])])
def test_masks_of_no_dimensions_and_empty_lists(key: Any):
    array = np.arange(6).reshape(2, 3)
    assert np.array_equal(xp.asarray(array)[key], array[key])


def test_a_gather_fuses_and_keeps_old_elements():
    array = np.arange(10.0)
    own = xp.asarray(array)
    doubled = own[[3, -1, 3]] * 2 + 1
    own[3] = 50.0
    assert np.array_equal(doubled, array[[3, -1, 3]] * 2 + 1)


def test_a_store_by_arrays_that_reads_what_it_writes():
    array = np.arange(6.0)
    own = xp.asarray(array)
    order = [5, 4, 3, 2, 1, 0]
    own[order] = own
    array[order] = array.copy()
    assert np.array_equal(own, array)
    own[order] = own[[0, 0, 1, 1, 2, 2]] + own
    array[order] = array[[0, 0, 1, 1, 2, 2]] + array
    assert np.array_equal(own, array)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ([0, 4], "index 4 is out of bounds for axis 0 with size 4"),
        ((0, [-6]), "index -6 is out of bounds for axis 1 with size 5"),
        ([0.5], r"arrays used as indices must be of integer \(or boolean\) type"),
        ([True], "boolean index did not match indexed array along axis 0; size of axis is 4"),
        (([0, 1], [1, 2, 3]), "broadcast"),
        (([0], [0], [0]), "too many indices"),
    ],
)
def test_keys_that_are_refused(key: Any, text: str):
    array = xp.asarray(np.zeros((4, 5)))
    with pytest.raises((IndexError, ValueError), match=text):
        _ = array[key]
    with pytest.raises((IndexError, ValueError), match=text):
        array[key] = 1.0
    assert not np.asarray(array).any()


@pytest.mark.parametrize(
    ("shape", "key"),
    [
        ((4, 3), (slice(None), None, 2, ..., True)),
        ((1, 2, 1), (None, 0, ..., [-2, -1, 0], slice(0))),
        ((2, 3), (0, ..., [0, 1])),
        ((1, 0), ([], [7])),
        ((1, 0, 0), (slice(None), [], np.asarray([0]))),
        ((5,), (np.asarray([-1, 4], np.int8),)),
        ((300,), (np.asarray([-128, 127], np.int8),)),
    ],
)
def test_separated_arrays_and_empty_ones_are_numpys(shape: tuple[int, ...], key: Any):
    host = np.arange(math.prod(shape)).reshape(shape)
    expected = host[key]
    got = xp.asarray(host)[key]
    assert got.shape == expected.shape
    assert np.array_equal(got, expected)
    own, stored = xp.asarray(host), host.copy()
    own[key] = expected + 1
    stored[key] = expected + 1
    assert np.array_equal(own, stored)


def test_indices_that_do_not_broadcast_or_are_numbers_out_of_bounds():
    x = xp.zeros((4, 4))
    with pytest.raises(IndexError, match=r"indexing arrays could not be .* \(2,\) \(3,\)"):
        x[[0, 1], [0, 1, 2]]
    with pytest.raises(IndexError, match="index 9 is out of bounds for axis 1 with size 4"):
        x[[], np.asarray(9)]


def test_values_that_do_not_broadcast():
    array = xp.asarray(np.zeros((4, 5)))
    with pytest.raises(ValueError, match=r"from shape \(4,\) into shape \(4, 5\)"):
        array[...] = xp.asarray(np.zeros(4))
    with pytest.raises(ValueError, match=r"from shape \(2, 1\) into shape \(3, 5\)"):
        array[[0, 1, 2]] = xp.asarray(np.zeros((2, 1)))
    array[0] = xp.asarray(np.ones((1, 1, 5)))
    assert np.asarray(array).sum() == 5
    with pytest.raises(ValueError, match="read-only"):
        xp.broadcast_to(xp.asarray(1.0), (3,))[0] = 2
    with pytest.raises(OverflowError):
        xp.asarray([1], dtype="int8")[0] = 300


def test_places_of_no_elements_have_a_dtype():
    assert xp.nonzero(xp.zeros(3, dtype="uint64"))[0].dtype == np.int64
    assert xp.searchsorted(xp.arange(3), xp.zeros(0, dtype="int64")).dtype == np.int64
