"""Algorithms of CUB beside those of ``cuda.compute``, on every device."""

from __future__ import annotations

import numpy as np
import pytest
from tests.algorithms.on_devices import ALL, room, up

import gridlane
from gridlane import algorithms
from gridlane.algorithms import SortOrder


def items(count):
    return np.random.default_rng(count).integers(0, 9, count).astype(np.int32)


@pytest.mark.parametrize("device", ALL)
def test_differences(device):
    with gridlane.device(device):
        for count in (0, 1, 700):
            x, out = items(count), room(count, np.int32)
            algorithms.adjacent_difference(d_in=up(x), d_out=out, num_items=count)
            assert np.array_equal(out.copy_to_host(), np.diff(x, prepend=0))


@pytest.mark.parametrize("device", ALL)
def test_partition(device):
    with gridlane.device(device):
        for count in (0, 1, 5000):
            x, out, total = items(count), room(count, np.int32), room(1, np.int32)
            algorithms.partition(
                d_in=up(x),
                d_out=out,
                d_num_selected_out=total,
                cond=lambda v: v > 2,
                num_items=count,
            )
            assert np.array_equal(out.copy_to_host(), np.concatenate([x[x > 2], x[x <= 2][::-1]]))
            assert total.copy_to_host()[0] == (x > 2).sum()


@pytest.mark.parametrize("device", ALL)
def test_unique(device):
    with gridlane.device(device):
        for count in (0, 1, 5000):
            x, out, total = items(count), room(count, np.int32), room(1, np.int32)
            algorithms.unique(d_in=up(x), d_out=out, d_num_selected_out=total, num_items=count)
            expected = x[np.diff(x, prepend=-1) != 0]
            assert total.copy_to_host()[0] == len(expected)
            assert np.array_equal(out.copy_to_host()[: len(expected)], expected)


@pytest.mark.parametrize("device", ALL)
def test_top_k(device):
    with gridlane.device(device):
        count = 300 if device == "interp" else 2000
        x = np.random.default_rng(5).normal(size=count).astype(np.float32)
        for k, order in ((0, SortOrder.DESCENDING), (7, SortOrder.ASCENDING), (3000, None)):
            used = min(k, count)
            keys, places = room(used, np.float32), room(used, np.int32)
            algorithms.top_k(
                d_in_keys=up(x),
                d_out_keys=keys,
                d_in_values=up(np.arange(count, dtype=np.int32)),
                d_out_values=places,
                num_items=count,
                k=k,
                **({"order": order} if order else {}),
            )
            expected = np.argsort(x if order is SortOrder.ASCENDING else -x, kind="stable")[:used]
            assert np.array_equal(places.copy_to_host(), expected)
            assert np.array_equal(keys.copy_to_host(), x[expected])
