"""Sorts against numpy, on every device."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.algorithms.on_devices import ALL, MANY, room, sizes, up
from tests.effort import NIGHTLY, examples

import gridlane
from gridlane import algorithms, cuda
from gridlane.algorithms import CountingIterator, DoubleBuffer, OpKind, SortOrder
from gridlane.algorithms.caching import clear_all_caches
from gridlane.algorithms.inner import one_sweep, one_tile
from gridlane.algorithms.inner import radix_sort as inner
from gridlane.algorithms.item_types import item_type

DTYPES = [np.float32, np.int64]
"""Of which each takes the CPU device two compilations."""
if NIGHTLY:
    DTYPES += [np.uint8, np.int8, np.uint16, np.int16, np.float16, np.int32, np.uint64, np.float64]


def by_last_digit(a, b):
    return a % 10 < b % 10


def numbers(count, dtype, seed=0):
    bits = np.random.default_rng(seed).integers(0, 256, count * np.dtype(dtype).itemsize, np.uint8)
    return bits.view(dtype).copy()


@pytest.mark.parametrize(("device", "large"), [("cpu", False), ("cpu", True), ("interp", False)])
def test_one_sweep(monkeypatch, device, large):
    """On the CPU device, whose blocks make progress independently too, as on GPUs."""
    monkeypatch.setattr(inner, "_is_swept", lambda: True)
    monkeypatch.setattr(one_sweep, "_MOST_ITEMS", 2)  # of a thread: less code to compile
    monkeypatch.setattr(one_tile, "fits", lambda *args: False)
    if large:  # words that count more than 2**30 items
        monkeypatch.setattr(one_sweep, "SMALL_COUNT", 0)
        monkeypatch.setattr(one_sweep, "_TOGETHER", 1)
    clear_all_caches()
    try:
        with gridlane.device(device):
            for count in (1, 512, 513, 20_001 if device == "cpu" else 3001):
                keys = numbers(count, np.float32 if large else np.int16)
                check_radix(keys)
                check_radix(keys, 3, 13, descending=True)
    finally:
        clear_all_caches()


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_looks_back(device, dtype):
    """Counts of the tiles before, over several reads of words, back to a sum of all."""
    read_back, look_back = one_sweep._looking_back(item_type(dtype))
    own_tile, all_tiles = one_sweep._flags(item_type(dtype))

    @cuda.jit
    def look(states, out):
        found = cuda.local.array(one_sweep._SEEN, dtype)
        at, first = np.int64(cuda.blockIdx.x * one_sweep.DIGITS + 7), np.int64(7)
        read_back(states, found, at, first)
        out[cuda.blockIdx.x] = look_back(states, found, at, first)

    rng, tiles = np.random.default_rng(3), 30
    counts, has_sum = rng.integers(0, 9, tiles), rng.random(tiles) < 0.15
    has_sum[0] = True
    sums = np.cumsum(counts) + 100  # not the sum from the first tile on alone
    states = np.zeros((tiles, one_sweep.DIGITS), dtype)
    states[:, 7] = np.where(
        has_sum, sums.astype(dtype) | all_tiles, counts.astype(dtype) | own_tile
    )
    with gridlane.device(device):
        out = room(tiles, dtype)
        look[tiles, 1](up(states.ravel()), out)
        assert np.array_equal(out.copy_to_host(), sums)


@pytest.mark.parametrize(("key", "value"), [(np.uint8, np.float64), (np.int64, np.uint8)])
def test_values_in_the_memory_of_the_keys(monkeypatch, key, value):
    """In one sweep numbers of values take the place of keys, whichever are larger."""
    monkeypatch.setattr(inner, "_is_swept", lambda: True)
    monkeypatch.setattr(one_sweep, "_MOST_ITEMS", 2)
    clear_all_caches()
    try:
        with gridlane.device("cpu"):
            keys, values = numbers(20_001, key), np.arange(20_001).astype(value)
            out, moved = room(keys.size, key), room(keys.size, value)
            algorithms.radix_sort(
                d_in_keys=up(keys), d_out_keys=out, d_in_values=up(values), d_out_values=moved,
                num_items=keys.size, order=SortOrder.ASCENDING,
            )  # fmt: skip
            order = np.argsort(keys, kind="stable")
            assert np.array_equal(out.copy_to_host(), keys[order])
            assert np.array_equal(moved.copy_to_host(), values[order])
    finally:
        clear_all_caches()


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("dtype", [np.int16, np.float32])
def test_sorts_by_one_block(monkeypatch, device, dtype):
    seen, one = [], one_tile.sort
    monkeypatch.setattr(inner, "_is_swept", lambda: True)
    monkeypatch.setattr(one_tile, "sort", lambda *args: (seen.append(args[-2]), one(*args)))
    monkeypatch.setattr(one_tile, "_ITEMS", (1, 3))  # less code to compile
    clear_all_caches()
    try:
        with gridlane.device(device):
            for count in (1, 256, 257, 768):
                keys = numbers(count, dtype)
                check_radix(keys)
                check_radix(keys, 3, 13, descending=True)
                check_radix(keys, 5, 5)
            assert set(seen) == {1, 256, 257, 768}
            seen.clear()
            check_radix(numbers(769, dtype))
            assert not seen
    finally:
        clear_all_caches()


def test_values_beyond_the_shared_memory_of_one_sweep(monkeypatch):
    """A tile of 256 values of 200 bytes is more than a block's 48 KiB."""
    monkeypatch.setattr(inner, "_is_swept", lambda: True)
    tiles = one_sweep.sort
    sorted_by_tiles = []
    monkeypatch.setattr(
        one_sweep, "sort", lambda *args: (sorted_by_tiles.append(args[3]), tiles(*args))
    )
    keys = numbers(600, np.int16)
    for fields in (5, 25):
        values = np.zeros(keys.size, np.dtype([(f"f{n}", np.int64) for n in range(fields)]))
        values["f1"] = values[f"f{fields - 1}"] = np.arange(keys.size)
        with gridlane.device("cpu"):
            out, moved = room(keys.size, keys.dtype), room(keys.size, values.dtype)
            algorithms.radix_sort(
                d_in_keys=up(keys),
                d_out_keys=out,
                d_in_values=up(values),
                d_out_values=moved,
                num_items=keys.size,
                order=SortOrder.ASCENDING,
            )
            order = np.argsort(keys, kind="stable")
            assert np.array_equal(out.copy_to_host(), keys[order])
            assert np.array_equal(moved.copy_to_host(), values[order])
    assert [sum(each.size for each in items) for items in sorted_by_tiles] == [42]


@pytest.mark.parametrize("device", ALL)
def test_merge_sort_is_stable(device):
    with gridlane.device(device):
        for count in sizes(device)[: None if device == "cpu" else -1]:
            keys = np.random.default_rng(count).integers(0, 1000, count).astype(np.int32)
            out, places = room(count, np.int32), room(count, np.int32)
            algorithms.merge_sort(
                d_in_keys=up(keys),
                d_in_values=CountingIterator(np.int32(0)),
                d_out_keys=out,
                d_out_values=places,
                num_items=count,
                op=by_last_digit,
            )
            order = np.argsort(keys % 10, kind="stable")
            assert np.array_equal(places.copy_to_host(), order)
            assert np.array_equal(out.copy_to_host(), keys[order])


@settings(max_examples=examples(10, 200), deadline=None)
@given(count=st.integers(0, 9000))
def test_merge_sort_in_place(count):
    keys = numbers(count, np.int16)
    expected = np.sort(keys)
    algorithms.merge_sort(d_in_keys=keys, d_out_keys=keys, num_items=count, op=OpKind.LESS)
    assert np.array_equal(keys, expected)


def ordered(keys, begin, end):
    """Unsigned integers with CUB's order of the numbers' bits."""
    bits = keys.dtype.itemsize * 8
    word = keys.view(f"u{bits // 8}").astype(np.uint64)
    sign = np.uint64(1 << (bits - 1))
    if keys.dtype.kind == "i":
        word ^= sign
    if keys.dtype.kind == "f":
        word = np.where(word == sign, np.uint64(0), word)
        word = np.where(word & sign, ~word, word | sign)
    mask = np.uint64((1 << (end - begin)) - 1)
    return (word >> np.uint64(begin % 64)) & mask


def check_radix(keys, begin=None, end=None, descending=False):
    count, values = keys.size, np.arange(keys.size, dtype=np.int32)
    d_keys, d_values, out, places = (
        up(keys),
        up(values),
        room(count, keys.dtype),
        room(count, np.int32),
    )
    algorithms.radix_sort(
        d_in_keys=d_keys,
        d_out_keys=out,
        d_in_values=d_values,
        d_out_values=places,
        num_items=count,
        order=SortOrder.DESCENDING if descending else SortOrder.ASCENDING,
        begin_bit=begin,
        end_bit=end,
    )
    word = ordered(keys, begin or 0, keys.dtype.itemsize * 8 if end is None else end)
    order = np.argsort(~word if descending else word, kind="stable")
    assert np.array_equal(places.copy_to_host(), order)
    assert out.copy_to_host().tobytes() == keys[order].tobytes()


@pytest.mark.parametrize("device", ALL)
def test_radix_sort_of_pairs(device):
    with gridlane.device(device):
        for count in sizes(device)[: None if device == "cpu" else 5]:
            check_radix(numbers(count, np.float32), descending=bool(count % 2))


@settings(max_examples=examples(25, 400), deadline=None)
@given(
    dtype=st.sampled_from(DTYPES),
    count=st.one_of(
        st.integers(0, 2500), st.integers(MANY - 2, MANY) if NIGHTLY else st.just(2501)
    ),
    window=st.tuples(st.integers(0, 64), st.integers(0, 64)),
    descending=st.booleans(),
)
def test_radix_sort_of_all_bits(dtype, count, window, descending):
    bits = np.dtype(dtype).itemsize * 8
    begin, end = sorted(min(each, bits) for each in window)
    check_radix(numbers(count, dtype, count), begin, end, descending)


def test_signs_of_zeros_and_nans():
    keys = np.array([np.nan, 0.0, -0.0, -np.nan, np.inf, -np.inf, 0.0, -1.0, -0.0], np.float32)
    out = np.zeros_like(keys)
    algorithms.radix_sort(d_in_keys=keys, d_out_keys=out, num_items=9, order=SortOrder.ASCENDING)
    assert np.array_equal(out[1:8], [-np.inf, -1, 0, 0, 0, 0, np.inf])
    assert np.signbit(out[3:7]).tolist() == [False, True, False, True]
    assert np.isnan(out[[0, 8]]).all() and np.signbit(out[[0, 8]]).tolist() == [True, False]


def test_double_buffers_and_objects():
    x = numbers(3000, np.float32)
    keys = DoubleBuffer(up(x), room(3000, np.float32))
    values = DoubleBuffer(up(np.arange(3000, dtype=np.int32)), room(3000, np.int32))
    given = {"d_in_keys": keys, "d_out_keys": None, "d_in_values": values, "d_out_values": None}
    sorter = algorithms.make_radix_sort(**given, order=SortOrder.DESCENDING)
    assert sorter is algorithms.make_radix_sort(**given, order=SortOrder.DESCENDING)
    size = sorter(temp_storage=None, num_items=3000, **given)
    assert keys.selector == 0
    sorter(temp_storage=room(size, np.uint8), num_items=3000, **given)
    order = np.argsort(~ordered(x, 0, 32), kind="stable")
    assert keys.selector == values.selector == 1
    assert keys.current().copy_to_host().tobytes() == x[order].tobytes()
    assert np.array_equal(values.current().copy_to_host(), order)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            {"begin_bit": 9, "end_bit": 8},
            ValueError,
            "begin_bit=9 and end_bit=8; keys have the bits",
        ),
        ({"end_bit": 33}, ValueError, "keys have the bits 0 to 32"),
        ({"order": 0}, TypeError, "order is 0; it must be a SortOrder"),
        ({"d_out_keys": None}, TypeError, "only a DoubleBuffer has the output in it"),
        ({"d_out_keys": np.zeros(9)}, TypeError, "has the dtype float32, d_out_keys float64"),
        ({"d_in_keys": CountingIterator(np.float32(0))}, TypeError, "it must be an array"),
        (
            {"d_in_keys": np.zeros(9, complex), "d_out_keys": np.zeros(9, complex)},
            TypeError,
            "real",
        ),
    ],
)
def test_radix_sorts_that_are_refused(changes, error, message):
    arguments = {
        "d_in_keys": np.zeros(9, np.float32), "d_out_keys": np.zeros(9, np.float32),
        "num_items": 9, "order": SortOrder.ASCENDING,
    }  # fmt: skip
    with pytest.raises(error) as caught:
        algorithms.radix_sort(**(arguments | changes))
    assert message in str(caught.value)


@pytest.mark.parametrize("device", ALL)
def test_segmented_sort(device):
    count = 700 if device == "interp" else 3000
    with gridlane.device(device):
        ends = np.sort(np.random.default_rng(3).integers(0, count, 12)).astype(np.int64)
        starts = np.concatenate([[5], ends[:-1] + np.arange(11) % 2 * 3])
        starts = np.minimum(starts, ends)
        places = np.random.default_rng(4).permutation(12)
        x = numbers(count, np.float32)
        out, values = up(np.full(count, 7, np.float32)), up(np.full(count, -1, np.int16))
        algorithms.segmented_sort(
            d_in_keys=up(x),
            d_out_keys=out,
            d_in_values=up(np.arange(count, dtype=np.int16)),
            d_out_values=values,
            num_items=count,
            num_segments=12,
            start_offsets_in=up(starts[places]),
            end_offsets_in=up(ends[places]),
            order=SortOrder.DESCENDING,
        )
        expected, origins = np.full(count, 7, np.float32), np.full(count, -1, np.int16)
        for start, end in zip(starts, ends, strict=True):
            order = np.argsort(~ordered(x[start:end], 0, 32), kind="stable")
            expected[start:end], origins[start:end] = x[start:end][order], start + order
        assert out.copy_to_host().tobytes() == expected.tobytes()
        assert np.array_equal(values.copy_to_host(), origins)


@pytest.mark.parametrize("device", ALL)
def test_searches(device):
    with gridlane.device(device):
        data = np.sort(np.random.default_rng(1).integers(0, 300, 1000)).astype(np.int32)
        values = np.arange(-2, 303, dtype=np.int32)
        for search, side in ((algorithms.lower_bound, "left"), (algorithms.upper_bound, "right")):
            for count in (0, 1, 1000):
                out = room(values.size, np.uintp)
                search(
                    d_data=up(data),
                    num_items=count,
                    d_values=up(values),
                    num_values=values.size,
                    d_out=out,
                )
                assert np.array_equal(
                    out.copy_to_host(), np.searchsorted(data[:count], values, side)
                )


def test_searches_by_a_comparison():
    data, out = np.array([9, 7, 7, 3, 1], np.int32), np.zeros(3, np.uintp)
    algorithms.upper_bound(
        d_data=data,
        num_items=5,
        d_values=np.array([8, 7, 0], np.int32),
        num_values=3,
        d_out=out,
        comp=lambda a, b: a > b,
    )
    assert out.tolist() == [1, 3, 5]
    with pytest.raises(ValueError, match="pointer-sized"):
        algorithms.lower_bound(
            d_data=data, num_items=5, d_values=data, num_values=3, d_out=np.zeros(3, np.uint32)
        )
