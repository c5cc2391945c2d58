"""Selections, partitions, unique keys, segmented reductions and histograms, on every device."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.algorithms.on_devices import ALL, MANY, room, sizes, up
from tests.effort import examples

import gridlane
from gridlane import algorithms, cuda
from gridlane.algorithms import CountingIterator, OpKind, TransformIterator
from gridlane.algorithms.caching import clear_all_caches
from gridlane.algorithms.inner import one_pass_compaction


def odd(x):
    return x % 2 == 1


def low(x):
    return x < 3


def items(count):
    return np.random.default_rng(count).integers(0, 20, count).astype(np.int32)


@pytest.mark.parametrize("device", ALL)
def test_select(device):
    with gridlane.device(device):
        for count in sizes(device):
            x, out, total = items(count), room(count, np.int32), room(1, np.int64)
            algorithms.select(
                d_in=up(x), d_out=out, d_num_selected_out=total, cond=odd, num_items=count
            )
            expected = x[x % 2 == 1]
            assert total.copy_to_host()[0] == len(expected)
            assert np.array_equal(out.copy_to_host()[: len(expected)], expected)


@settings(max_examples=examples(25, 300), deadline=None)
@given(count=st.integers(0, 9000))
def test_three_way_partition(count):
    x = items(count)
    outs, totals = [np.full(count, -1, np.int32) for _ in range(3)], np.zeros(2, np.int32)
    algorithms.three_way_partition(
        d_in=x,
        d_first_part_out=outs[0],
        d_second_part_out=outs[1],
        d_unselected_out=outs[2],
        d_num_selected_out=totals,
        select_first_part_op=low,
        select_second_part_op=odd,
        num_items=count,
    )
    masks = [x < 3, (x >= 3) & (x % 2 == 1), (x >= 3) & (x % 2 == 0)]
    assert totals.tolist() == [masks[0].sum(), masks[1].sum()]
    for out, mask in zip(outs, masks, strict=True):
        assert np.array_equal(out[: mask.sum()], x[mask])
        assert (out[mask.sum() :] == -1).all()


@pytest.mark.parametrize("device", ALL)
def test_three_way_partition_on_devices(device):
    with gridlane.device(device):
        x, totals = items(3000), room(2, np.int32)
        outs = [room(3000, np.int32) for _ in range(3)]
        algorithms.three_way_partition(
            d_in=up(x),
            d_first_part_out=outs[0],
            d_second_part_out=outs[1],
            d_unselected_out=outs[2],
            d_num_selected_out=totals,
            select_first_part_op=low,
            select_second_part_op=odd,
            num_items=3000,
        )
        first, second = totals.copy_to_host()
        parts = [outs[0].copy_to_host()[:first], outs[1].copy_to_host()[:second]]
        parts.append(outs[2].copy_to_host()[: 3000 - first - second])
        assert np.array_equal(parts[0], x[x < 3])
        assert np.array_equal(parts[1], x[(x >= 3) & (x % 2 == 1)])
        assert np.array_equal(parts[2], x[(x >= 3) & (x % 2 == 0)])


@pytest.mark.parametrize("device", ALL)
def test_unique_by_key(device):
    with gridlane.device(device):
        for count in sizes(device)[:-1]:
            keys = np.sort(items(count)) // 4
            out_keys, out_items = room(count, np.int32), room(count, np.int64)
            total = room(1, np.int32)
            algorithms.unique_by_key(
                d_in_keys=up(keys),
                d_in_items=CountingIterator(np.int64(0)),
                d_out_keys=out_keys,
                d_out_items=out_items,
                d_out_num_selected=total,
                op=OpKind.EQUAL_TO,
                num_items=count,
            )
            expected, places = np.unique(keys, return_index=True)
            assert total.copy_to_host()[0] == len(expected)
            assert np.array_equal(out_keys.copy_to_host()[: len(expected)], expected)
            assert np.array_equal(out_items.copy_to_host()[: len(expected)], places)


def test_a_condition_is_called_once_for_each_item():
    calls = cuda.to_device(np.zeros(1, np.int32))

    def counts(x):
        cuda.atomic.add(calls, 0, 1)
        return x > 5

    x, out, total = items(4000), np.zeros(4000, np.int32), np.zeros(1, np.int32)
    for n in (1, 2):
        algorithms.select(d_in=x, d_out=out, d_num_selected_out=total, cond=counts, num_items=4000)
        assert calls.copy_to_host()[0] == n * 4000
        assert total[0] == (x > 5).sum()


def test_an_output_over_the_input_is_refused():
    x = items(10)
    with pytest.raises(ValueError, match="select: an output is in the memory of an input"):
        algorithms.select(
            d_in=x, d_out=x, d_num_selected_out=np.zeros(1, np.int32), cond=odd, num_items=10
        )


@pytest.mark.parametrize("device", ALL)
def test_segmented_reduce(device):
    repeats = 2 if device == "interp" else 70  # of the second, a block has several segments
    with gridlane.device(device):
        lengths = np.tile(np.array([0, 1, 63, 64, 65, 0, 700, 129], np.int32), repeats)
        ends = np.cumsum(lengths).astype(np.int32)
        x, out = items(ends[-1]), room(len(lengths), np.int32)
        algorithms.segmented_reduce(
            d_in=up(x),
            d_out=out,
            num_segments=len(lengths),
            start_offsets_in=up(ends - lengths),
            end_offsets_in=up(ends),
            op=OpKind.PLUS,
            h_init=np.int32(2),
        )
        parts = np.split(x, ends[:-1])
        assert out.copy_to_host().tolist() == [part.sum() + 2 for part in parts]


@pytest.mark.parametrize("device", ALL)
def test_histogram(device):
    with gridlane.device(device):
        x, bins = items(5000), up(np.full(7, 99, np.int32))
        algorithms.histogram_even(
            d_samples=up(x),
            d_histogram=bins,
            num_output_levels=8,
            lower_level=np.int32(2),
            upper_level=np.int32(16),
            num_samples=5000,
        )
        expected = np.bincount((x[(x >= 2) & (x < 16)] - 2) // 2, minlength=7)
        assert np.array_equal(bins.copy_to_host(), expected)


@pytest.mark.parametrize("device", ALL)
def test_histogram_of_levels(device):
    with gridlane.device(device):
        x = np.random.default_rng(1).normal(size=3000).astype(np.float32)
        x[::100] = np.nan
        levels, bins = np.array([-1, -0.5, 0, 0, 2], np.float32), up(np.full(4, 99, np.int32))
        x[7], x[8], x[9] = -1, 0, 2
        algorithms.histogram_range(
            d_samples=up(x),
            d_histogram=bins,
            num_output_levels=5,
            d_levels=up(levels),
            num_samples=3000,
        )
        expected = [((x >= a) & (x < b)).sum() for a, b in pairwise(levels)]
        assert bins.copy_to_host().tolist() == expected


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_compaction_in_one_pass(monkeypatch, device):
    """As on GPUs, by blocks that wait for those before; on the CPU device several at once."""
    launches, whole = [], one_pass_compaction.compact

    def compact(*args):
        launches.append(args[-3])
        whole(*args)

    monkeypatch.setattr(one_pass_compaction, "compact", compact)
    monkeypatch.setattr(one_pass_compaction, "is_one_pass", lambda count: True)
    clear_all_caches()
    counts = (1, 8191, 8192, 8193, 20_001) if device == "interp" else (8193, MANY, 10 * MANY)
    try:
        with gridlane.device(device):
            for count in counts:
                x = items(count)
                outs, totals = [room(count, np.int32) for _ in range(3)], room(2, np.int32)
                algorithms.three_way_partition(
                    d_in=up(x), d_first_part_out=outs[0], d_second_part_out=outs[1],
                    d_unselected_out=outs[2], d_num_selected_out=totals,
                    select_first_part_op=low, select_second_part_op=odd, num_items=count,
                )  # fmt: skip
                masks = [x < 3, (x >= 3) & (x % 2 == 1), (x >= 3) & (x % 2 == 0)]
                assert totals.copy_to_host().tolist() == [each.sum() for each in masks[:2]]
                for out, mask in zip(outs, masks, strict=True):
                    assert np.array_equal(out.copy_to_host()[: mask.sum()], x[mask])
                runs, total = np.sort(x), room(1, np.int64)
                algorithms.unique(
                    d_in=up(runs), d_out=outs[0], d_num_selected_out=total, num_items=count
                )
                expected = np.unique(x)
                assert total.copy_to_host()[0] == expected.size
                assert np.array_equal(outs[0].copy_to_host()[: expected.size], expected)
        assert launches == [each for each in counts for _ in range(2)]
    finally:
        clear_all_caches()


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_histograms_at_the_levels(device, dtype):
    """Samples at levels and next to them, whether levels are as far apart or not, or the last is
    infinite: as NumPy's search has it."""
    even, uneven = np.linspace(-1, 3, 302), np.geomspace(1, 900, 301)
    rng = np.random.default_rng(4)
    for levels in (even * 1000, np.append(uneven, np.inf), np.sort(rng.integers(0, 99, 302))):
        if np.issubdtype(dtype, np.integer):
            levels = np.nan_to_num(levels, posinf=1e18)
        levels = levels.astype(dtype)
        with np.errstate(over="ignore"):
            near = [levels, levels + dtype(1), levels - dtype(1)]
        if dtype is not np.int64:
            near += [np.nextafter(levels, dtype(9e9)), np.nextafter(levels, dtype(-9e9))]
        x = np.concatenate(near)
        places = np.searchsorted(levels, x, "right") - 1
        expected = np.bincount(places[(places >= 0) & (places < 301)], minlength=301)
        with gridlane.device(device):
            bins = up(np.full(301, 99, np.int32))
            algorithms.histogram_range(
                d_samples=up(x), d_histogram=bins, num_output_levels=302, d_levels=up(levels),
                num_samples=x.size,
            )  # fmt: skip
            assert bins.copy_to_host().tolist() == expected.tolist()


@settings(max_examples=examples(20, 200), deadline=None)
@given(bins=st.sampled_from([1, 3, 2048, 2049]), count=st.integers(0, 3000))
def test_histograms_of_floats(bins, count):
    x = np.random.default_rng(count).normal(size=count)
    out = np.zeros(bins, np.uint64)
    algorithms.histogram_even(
        d_samples=TransformIterator(x, lambda v: v * 2.0),
        d_histogram=out,
        num_output_levels=bins + 1,
        lower_level=-1.5,
        upper_level=2.0,
        num_samples=count,
    )
    inside = (x * 2)[(x * 2 >= -1.5) & (x * 2 < 2)]
    places = np.minimum(((inside + 1.5) * (bins / 3.5)).astype(int), bins - 1)
    assert np.array_equal(out, np.bincount(places, minlength=bins))


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"num_output_levels": 1}, ValueError, "one bin has two levels"),
        (
            {"num_output_levels": 4},
            ValueError,
            "d_histogram has 2 items; num_output_levels=4 makes 3",
        ),
        ({"lower_level": np.int64(9)}, ValueError, "lower_level 9 must be below upper_level 8"),
        ({"lower_level": np.float32(0)}, TypeError, "must have the same dtype"),
        ({"d_histogram": np.zeros(2, np.float32)}, TypeError, "32 or 64-bit integers count"),
        ({"lower_level": np.int64(-(2**62)), "upper_level": np.int64(2**62)}, ValueError, "64-bit"),
    ],
    ids=str,
)
def test_histograms_that_are_refused(changes, error, message):
    arguments = {
        "d_samples": np.arange(9), "d_histogram": np.zeros(2, np.int32), "num_output_levels": 3,
        "lower_level": np.int64(0), "upper_level": np.int64(8), "num_samples": 9,
    }  # fmt: skip
    with pytest.raises(error) as caught:
        algorithms.histogram_even(**(arguments | changes))
    assert message in str(caught.value)
