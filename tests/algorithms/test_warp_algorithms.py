"""Algorithms of warps, called in kernels, on every device, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from tests.algorithms.on_devices import ALL, room, up

import gridlane
from gridlane import cuda
from gridlane.algorithms import gpu_struct
from gridlane.algorithms.coop import warp

THREADS = 80
"""Two warps and a half."""


def numbers(count, dtype=np.int32):
    return np.random.default_rng(count).integers(-50, 50, count).astype(dtype)


def runs(width, count=THREADS):
    """The threads of each logical warp."""
    for first in range(0, count, 32):
        for low in range(first, min(first + 32, count), width):
            yield slice(low, min(low + width, first + 32, count))


@gpu_struct
class Span:
    first: np.int16
    last: np.int64
    weight: np.complex64


def joined(a, b):
    """An operator that keeps the order: the first's first, the second's last."""
    return Span(a.first, b.last, a.weight + b.weight)


@pytest.mark.parametrize("device", ALL)
def test_reductions(device):
    for width in (32, 12, 8) if device == "cpu" else (12,):
        total = warp.make_sum(np.float32, width)
        largest = warp.make_max(np.int8, width)
        spans = warp.make_reduce(Span, joined, width)
        kind = Span.dtype

        @cuda.jit
        def kernel(x, y, sums, few, most, out):
            t = cuda.threadIdx.x
            memory = cuda.shared.array(total.temp_storage_bytes, np.uint8)
            sums[t] = total(memory, np.float32(x[t]))
            few[t] = total(np.float32(x[t]), 3)
            most[t] = largest(np.int8(x[t]))
            out[t] = spans(y[t])

        x, y = numbers(THREADS), np.zeros(THREADS, kind)
        y["first"] = y["last"] = np.arange(THREADS)
        y["weight"] = x * 1j
        with gridlane.device(device):
            outs = [room(THREADS, each) for each in ("f4", "f4", "i1", kind)]
            kernel[1, THREADS](up(x), up(y), *outs)
            sums, few, most, out = (each.copy_to_host() for each in outs)
        for run in runs(width):
            assert sums[run][0] == x[run].sum()
            assert few[run][0] == x[run][:3].sum()
            assert most[run][0] == x[run].max()
            assert out[run][0].tolist() == (run.start, run.stop - 1, 1j * x[run].sum())


@pytest.mark.parametrize("device", ALL)
def test_scans(device):
    for width in (32, 5) if device == "cpu" else (32,):
        sums = warp.make_inclusive_sum(np.int64, width)
        before = warp.make_exclusive_sum(np.uint32, width)
        first = warp.make_inclusive_scan(np.int32, lambda a, b: a, threads_in_warp=width)
        least = warp.make_exclusive_scan(np.int32, "min", 20, width)

        @cuda.jit
        def kernel(x, out, ones, firsts, lows, other):
            t = cuda.threadIdx.x
            out[t] = sums(x[t])
            ones[t] = before(np.uint32(x[t]))
            firsts[t] = first(x[t])
            lows[t] = least(x[t])
            other[t] = least(x[t], 10)

        x = numbers(THREADS)
        with gridlane.device(device):
            outs = [room(THREADS, each) for each in ("i8", "u4", "i4", "i4", "i4")]
            kernel[1, THREADS](up(x), *outs)
            out, ones, firsts, lows, other = (each.copy_to_host() for each in outs)
        for run in runs(width):
            part = x[run]
            assert (out[run] == np.cumsum(part)).all()
            assert (ones[run] == (np.cumsum(part) - part).astype(np.uint32)).all()
            assert (firsts[run] == part[0]).all()
            assert (lows[run] == np.minimum.accumulate(np.append(20, part))[:-1]).all()
            assert (other[run] == np.minimum.accumulate(np.append(10, part))[:-1]).all()


@pytest.mark.parametrize("device", ALL)
def test_merge_sorts(device):
    items = 3
    for width in (32, 8) if device == "cpu" else (16,):
        keys = warp.make_merge_sort_keys(np.int32, items, lambda a, b: a < b, width)
        pairs = warp.make_merge_sort_pairs(
            np.int16, np.int64, items, lambda a, b: a % 4 > b % 4, width
        )
        size = pairs.temp_storage_bytes

        @cuda.jit
        def kernel(x, out, out_keys, out_values):
            t = cuda.threadIdx.x
            memories = cuda.shared.array((-(-THREADS // width), size), np.uint8)
            few, short = cuda.local.array(items, np.int32), cuda.local.array(items, np.int16)
            values = cuda.local.array(items, np.int64)
            for e in range(items):
                few[e] = short[e] = x[t * items + e]
                values[e] = t * items + e
            keys(few)
            pairs(memories[t // width], short, values)
            for e in range(items):
                out[t * items + e] = few[e]
                out_keys[t * items + e] = short[e]
                out_values[t * items + e] = values[e]

        x = numbers(THREADS * items)
        with gridlane.device(device):
            outs = [room(THREADS * items, each) for each in ("i4", "i2", "i8")]
            kernel[1, THREADS](up(x), *outs)
            out, out_keys, out_values = (each.copy_to_host() for each in outs)
        for run in runs(width):
            wide = slice(run.start * items, run.stop * items)
            order = wide.start + np.argsort(-(x[wide] % 4), kind="stable")
            assert (out[wide] == np.sort(x[wide])).all()
            assert (out_keys[wide] == x[order]).all()
            assert (out_values[wide] == order).all()


def test_refusals():
    with pytest.raises(ValueError, match="threads_in_warp is 33; a warp has 1 to 32"):
        warp.make_sum(np.int32, 33)
    with pytest.raises(ValueError, match="items_per_thread must be greater than or equal to 1"):
        warp.make_merge_sort_keys(np.int32, 0, lambda a, b: a < b)
    with pytest.raises(TypeError, match="compare_op has 1 parameters; it takes two items"):
        warp.make_merge_sort_keys(np.int32, 1, lambda a: a)
