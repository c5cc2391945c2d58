# ruff: noqa: F821  # extents are names that annotations define
"""Counts of values by blocks in shared memory: those of the loops, and of NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.devices import DEVICES
from tests.effort import examples

import gridlane
from gridlane import cuda
from gridlane.compute import Tensor, compute, f32, i32, i64, parallel, scanning, u8, u32
from gridlane.compute.counting import Counts

RNG = np.random.default_rng(17)


@pytest.fixture
def counts(monkeypatch):
    """The launches that count; those of few values included."""
    seen, whole = [], Counts.run

    def run(self, given, out):
        seen.append(self.target)
        whole(self, given, out)

    monkeypatch.setattr(Counts, "run", run)
    for name in ("SMALLEST", "SMALLEST_ON_GPU"):
        monkeypatch.setattr(scanning, name, 1)
    return seen


@compute
def of_rows(x: Tensor[i32, "M", "N"], bins: Tensor[i32, "M", "B"]):
    for i in parallel(M):
        for j in range(N):
            bins[i, x[i, j]] += 1


@compute
def of_pictures(x: Tensor[u8, "M", "N"], bins: Tensor[u32, "B"]):
    for i in range(M):
        for j in range(N - 1, -1, -1):
            bins[x[i, j]] = bins[x[i, j]] + 3


@compute
def of_line(x: Tensor[i64, "N"], bins: Tensor[i64, 300]):
    for i in range(N):
        bins[x[i]] += 2_000_000_011


@compute
def of_rows_from(x: Tensor[i32, "M", "N"], bins: Tensor[i32, "M", "B"]):
    for i in parallel(M):
        for b in range(B):
            bins[i, b] = -4
        for j in range(N):
            bins[i, x[i, j]] += 1


@compute
def of_picture_from(x: Tensor[u8, "M", "N"], bins: Tensor[u32, 256]):
    for b in range(256):
        bins[b] = 0
    for i in range(M):
        for j in range(N):
            bins[x[i, j]] += 5


def by_numpy(x, bins, weight):
    wanted = bins.reshape(-1, bins.shape[-1]).copy()
    for row, own in zip(x.reshape(len(wanted), -1), wanted, strict=True):
        np.add.at(own, row, np.int64(weight).astype(bins.dtype))
    return wanted.reshape(bins.shape)


CASES = [
    (of_rows, (3, 5000), (3, 256), np.int32, np.int32, 1),
    (of_rows, (2, 70), (2, 4096), np.int32, np.int32, 1),
    (of_rows, (5, 40), (5, 1), np.int32, np.int32, 1),
    (of_pictures, (9, 31), (256,), np.uint8, np.uint32, 3),
    (of_line, (4099,), (300,), np.int64, np.int64, 2_000_000_011),
]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("nest", "shape", "size", "dtype", "kind", "weight"), CASES)
def test_counts(nest, shape, size, dtype, kind, weight, device, counts):
    """Bins keep what they have; negative places count from the end, as in the loops."""
    is_signed = np.issubdtype(dtype, np.signedinteger)
    x = RNG.integers(-size[-1] if is_signed else 0, size[-1], shape).astype(dtype)
    x[..., : shape[-1] // 2] = x.flat[0]  # many of one value
    for run in (nest.plain, nest):
        bins = RNG.integers(0, 1 << 31, size).astype(kind)
        wanted = by_numpy(x, bins, weight)
        with gridlane.device(device):
            run(x, bins)
        assert (bins == wanted).all()
    assert counts == ([] if device == "cpu" else ["bins"])


@settings(max_examples=examples(10, 100), deadline=None)
@given(st.integers(1, 4), st.integers(1, 6000), st.integers(1, 4097), st.integers(0, 99))
def test_any_shape_counts(rows, columns, size, seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, size, (rows, columns)).astype(np.int32)
    bins = rng.integers(-9, 9, (rows, size)).astype(np.int32)
    wanted = by_numpy(x, bins, 1)
    with gridlane.device("interp"):
        of_rows(x, bins)
    assert (bins == wanted).all()


def test_calls_for_other_arrays_repeat_the_launches(counts):
    """Of arrays of the device, which the first call's are like."""
    with gridlane.device("interp"):
        for nest, weight, size, start in (
            (of_line, 2_000_000_011, (300,), None),
            (of_rows_from, 1, (3, 40), -4),
        ):
            kind = np.int64 if start is None else np.int32
            for _ in range(4):
                x = RNG.integers(0, size[-1], (*size[:-1], 4000)).astype(kind)
                before = RNG.integers(0, 99, size).astype(kind)
                bins = cuda.to_device(before)
                nest(cuda.to_device(x), bins)
                first = before if start is None else np.full(size, start, kind)
                assert (bins.copy_to_host() == by_numpy(x, first, weight)).all()
    assert 2 <= len(counts) < 8  # the others are repeated launches


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_bins_that_start_with_a_number(device, counts):
    x = RNG.integers(0, 50, (3, 900)).astype(np.int32)
    for nest, values, start, weight, kind, size in (
        (of_rows_from, x, -4, 1, np.int32, (3, 50)),
        (of_picture_from, x.astype(np.uint8), 0, 5, np.uint32, (256,)),
    ):
        for run in (nest.plain, nest):
            bins = np.full(size, 9, kind)
            wanted = by_numpy(values, np.full(size, start, kind), weight)
            with gridlane.device(device):
                run(values, bins)
            assert (bins == wanted).all()
    assert len(counts) == 2 * (device == "interp")


def test_bins_that_start_anew_are_loops(counts):
    """Within the loop of the counts, or not all of them."""

    @compute
    def anew(x: Tensor[i32, "N"], bins: Tensor[i32, "N", "B"]):
        for i in range(N):
            for b in range(B):
                bins[i, b] = 2
            bins[i, x[i]] += 1

    @compute
    def some(x: Tensor[i32, "N"], bins: Tensor[i32, "B"]):
        for b in range(1, B):
            bins[b] = 2
        for i in range(N):
            bins[x[i]] += 1

    x = RNG.integers(0, 9, 40).astype(np.int32)
    with gridlane.device("interp"):
        for nest, size in ((anew, (40, 9)), (some, (9,))):
            bins, wanted = np.ones(size, np.int32), np.ones(size, np.int32)
            nest.plain(x, wanted)
            nest(x, bins)
            assert (bins == wanted).all()
    assert not counts


def test_arrays_in_another_order_are_loops(counts):
    x = RNG.integers(0, 20, (3, 800)).astype(np.int32)
    wanted = by_numpy(x, np.zeros((3, 20), np.int32), 1)
    for values, order, known in ((np.asfortranarray(x), "C", []), (x, "F", []), (x, "C", ["bins"])):
        bins = np.zeros((3, 20), np.int32, order)
        with gridlane.device("interp"):
            of_rows(values, bins)
        assert (bins == wanted).all()
        assert counts == known


def test_what_is_no_count_is_loops(counts):
    """Floats, whose order is that of the loops; the values' neighbours; bins that are read."""

    @compute
    def of_floats(x: Tensor[i32, "N"], bins: Tensor[f32, "B"]):
        for i in range(N):
            bins[x[i]] += 1

    @compute
    def of_neighbours(x: Tensor[i32, "N"], bins: Tensor[i32, "B"]):
        for i in range(N - 1):
            bins[x[i + 1]] += 1

    @compute
    def of_columns(x: Tensor[i32, "M", "N"], bins: Tensor[i32, "N", "B"]):
        for j in range(N):
            for i in range(M):
                bins[j, x[i, j]] += 1

    x = RNG.integers(0, 9, 40).astype(np.int32)
    with gridlane.device("interp"):
        for nest, kind, values in ((of_floats, np.float32, x), (of_neighbours, np.int32, x[1:])):
            bins = np.zeros(9, kind)
            nest(x, bins)
            assert (bins == np.bincount(values, minlength=9)).all()
        bins = np.zeros((8, 9), np.int32)
        of_columns(x.reshape(5, 8), bins)
        assert (bins == by_numpy(np.ascontiguousarray(x.reshape(5, 8).T), bins * 0, 1)).all()
    assert not counts
    assert of_floats._library[1] == ("loops: the order of sums of floats is that of the loops",)
