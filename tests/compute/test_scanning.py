# ruff: noqa: F821  # extents are names that annotations define
"""Scans by the library of algorithms: those of the loops, and of NumPy."""

import numpy as np
import pytest
from tests.devices import DEVICES

import gridlane
from gridlane import algorithms, cuda
from gridlane.compute import Tensor, compute, f32, f64, grid, i32, i64, scanning
from gridlane.core.errors import ArgumentError

RNG = np.random.default_rng(9)
LOW = -(2**31)


@pytest.fixture
def scans(monkeypatch):
    """The library's scans; those of few elements and on few cores included."""
    seen = []
    for name in ("inclusive_scan", "exclusive_scan"):
        whole = getattr(algorithms, name)

        def counted(*, _whole=whole, _name=name, **options):
            seen.append((_name, options["op"].name))
            _whole(**options)

        monkeypatch.setattr(algorithms, name, counted)
    monkeypatch.setattr(scanning, "SMALLEST", 2)
    monkeypatch.setattr(scanning, "CORES", 1)
    return seen


@compute(kernel="scan")
def inclusive(x: Tensor[i32, "N"], out: Tensor[i32, "N"]):
    total = 0
    for i in range(N):
        total += x[i]
        out[i] = total


@compute(kernel="scan")
def exclusive(x: Tensor[i32, "N"], out: Tensor[i32, "N"]):
    total = 7
    for i in range(N):
        out[i] = total
        total = total + x[i]


@compute(kernel="scan")
def largest(x: Tensor[i32, "B", "N"], out: Tensor[i32, "B", "N"]):
    for b in range(B):
        most = LOW
        for i in range(N):
            most = max(most, x[b, i])
            out[b, i] = most


@compute(kernel="scan")
def products(x: Tensor[i64, "N"], out: Tensor[i64, "N"]):
    out[0] = x[0]
    for i in range(1, N):
        out[i] = out[i - 1] * x[i]


@compute(kernel="scan")
def in_place(x: Tensor[i32, "B", "N"]):
    for b, i in grid(B, N):
        if i > 0:
            x[b, i] += x[b, i - 1]


def numbers(*shape, dtype=np.int32):
    return RNG.integers(-9, 10, shape).astype(dtype)


CASES = [
    (inclusive, (numbers(999),), lambda x: np.cumsum(x), "inclusive_scan", "PLUS"),
    (exclusive, (numbers(77),), lambda x: 7 + np.cumsum(x) - x, "exclusive_scan", "PLUS"),
    (largest, (numbers(3, 50),), lambda x: np.maximum.accumulate(x, 1), "inclusive_scan",
     "MAXIMUM"),
    (products, (numbers(60, dtype=np.int64),), np.cumprod, "inclusive_scan", "MULTIPLIES"),
    (in_place, (numbers(4, 70),), lambda x: np.cumsum(x, 1), "inclusive_scan", "PLUS"),
]  # fmt: skip


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("nest", "args", "wanted", "name", "op"), CASES)
def test_scans(nest, args, wanted, name, op, device, scans):
    with gridlane.device(device):
        check_scan(nest, args, wanted, name, op, scans)


def check_scan(nest, args, wanted, name, op, scans):
    for run, count in ((nest.plain, 0), (nest, args[0].size // args[0].shape[-1])):
        scans.clear()
        x = args[0].copy()
        out = x if nest is in_place else np.zeros_like(x)
        run(*(x,) if out is x else (x, out))
        assert (out == wanted(args[0])).all()
        assert scans == [(name, op)] * count


def test_integers_wrap(scans):
    x, out = np.full(9, 2**30, np.int32), np.zeros(9, np.int32)
    inclusive(x, out)
    assert scans
    assert (out == np.cumsum(x, dtype=np.int32)).all()


@pytest.mark.parametrize("fastmath", [False, True])
def test_floats_are_the_users_wish(fastmath, scans):
    @compute(kernel="scan", fastmath=fastmath)
    def nest(x: Tensor[f32, "N"], out: Tensor[f32, "N"]):
        total = 0.0
        for i in range(N):
            total += x[i]
            out[i] = total

    x = RNG.random(500).astype(np.float32)
    out = np.zeros_like(x)
    nest(x, out)
    np.testing.assert_allclose(out, np.cumsum(x, dtype=np.float64), rtol=1e-5)
    assert len(scans) == fastmath
    assert ("another order" in nest.explain()) is not fastmath


WORDS = ["part", "backward", "other", "column", "twice", "before", "index"]


@pytest.mark.parametrize("change", WORDS)
def test_what_stays_loops(change, scans):
    if change == "part":

        def body(x: Tensor[i32, "N"], out: Tensor[i32, "N"]):
            total = 0
            for i in range(N - 1):
                total += x[i]
                out[i] = total
    elif change == "backward":

        def body(x: Tensor[i32, "N"], out: Tensor[i32, "N"]):
            total = 0
            for i in range(N - 1, -1, -1):
                total += x[i]
                out[i] = total
    elif change == "other":

        def body(x: Tensor[i32, "N"], out: Tensor[i32, "N"]):
            total = 0
            for i in range(N):
                total += x[N - 1 - i]
                out[i] = total
    elif change == "column":

        def body(x: Tensor[i32, "N", "N"], out: Tensor[i32, "N", "N"]):
            for b in range(N):
                total = 0
                for i in range(N):
                    total += x[i, b]
                    out[i, b] = total
    elif change == "index":

        def body(x: Tensor[i32, "N"], out: Tensor[i32, "N"]):
            total = 0
            for i in range(N):
                total += x[i]
                out[i] = i
    elif change == "twice":

        def body(x: Tensor[i32, "N"], out: Tensor[i32, "N"]):
            out[0] = x[0]
            for i in range(1, N):
                out[i] = out[i - 1] + out[i - 1]
    else:

        def body(x: Tensor[i32, "N"], out: Tensor[i32, "N"]):
            total = 0
            for i in range(N):
                out[i] = total
                total += out[i]

    nest, results = compute(body), []
    for run in (nest, nest.plain):
        shape = (20, 20) if change == "column" else (20,)
        x, out = np.arange(np.prod(shape), dtype=np.int32).reshape(shape), np.zeros(shape, np.int32)
        run(x, out)
        results.append(out)
    assert not scans
    assert (results[0] == results[1]).all()


def test_strided_rows_are_loops(scans):
    x, out = numbers(40), np.zeros(20, np.int32)
    inclusive(x[::2], out)
    assert not scans
    assert (out == np.cumsum(x[::2])).all()


def test_interp_agrees(scans):
    x, out = numbers(50), np.zeros(50, np.int32)
    with gridlane.device("interp"):
        inclusive(x, out)
    assert (out == np.cumsum(x)).all()


def test_tensors_of_torch_on_the_host(scans):
    torch = pytest.importorskip("torch")
    x, out = torch.arange(300, dtype=torch.int32), torch.zeros(300, dtype=torch.int32)
    with gridlane.device("cpu"):
        inclusive(x, out)
    assert scans
    assert (out == torch.cumsum(x, 0)).all()


def test_calls_for_like_arrays_check_nothing_again(monkeypatch):
    """The second call, for other arrays of the same shape; others are checked as before."""
    monkeypatch.setattr("gridlane.compute.scanning.SMALLEST", 1)
    monkeypatch.setattr("gridlane.compute.scanning.is_wide", lambda: True)

    @compute(kernel="scan")
    def sums(x: Tensor[i64, "N"], out: Tensor[i64, "N"]):
        total = 0
        for i in range(N):
            total += x[i]
            out[i] = total

    with gridlane.device("cpu"):
        x = np.arange(5000)
        memory, out = cuda.to_device(x), cuda.to_device(np.zeros_like(x))
        sums(memory, out)
        with monkeypatch.context() as patch:
            patch.setattr(type(sums), "_values", None)
            again = cuda.to_device(np.zeros_like(x))
            sums(cuda.to_device(x[::-1].copy()), again)
            with monkeypatch.context() as more:  # the third one repeats launches alone
                more.setattr(scanning.Scan, "run", None)
                third = cuda.to_device(np.zeros_like(x))
                sums(cuda.to_device(x * 3), third)
        assert np.array_equal(again.copy_to_host(), np.cumsum(x[::-1]))
        assert np.array_equal(third.copy_to_host(), np.cumsum(x * 3))
        sums(memory, memory)  # the same array: loops
        assert np.array_equal(memory.copy_to_host(), np.cumsum(x))
        with pytest.raises(ArgumentError, match="share memory"):
            sums(again[:4000], again[1000:])
        with pytest.raises(ArgumentError, match="N is 5000 in x and 4999 in out"):
            sums(memory, again[1:])


@compute(kernel="scan", fastmath=True)
def converted(x: Tensor[f32, "N"], out: Tensor[f32, "N"]):
    total = f32(0.5)
    for i in range(N):
        total += x[i]
        out[i] = total


@compute(kernel="scan", fastmath=True)
def rounded(x: Tensor[f64, "N"], out: Tensor[f64, "N"]):
    total = f64(f32(0.1))
    for i in range(N):
        total += x[i]
        out[i] = total


@compute(kernel="scan")
def cut(x: Tensor[i32, "N"], out: Tensor[i32, "N"]):
    total = i32(2.5)
    for i in range(N):
        total += x[i]
        out[i] = total


def test_starts_that_are_converted(scans):
    x = RNG.integers(-9, 10, 99)
    for nest, dtype, start in (
        (converted, np.float32, 0.5),
        (rounded, np.float64, np.float32(0.1)),
    ):
        out = np.zeros(99, dtype)
        nest(x.astype(dtype), out)
        assert np.allclose(
            out, np.cumsum(x) + np.float64(start), rtol=1e-6 if start == 0.5 else 1e-15
        )
    assert len(scans) == 2
    out = np.zeros(99, np.int32)
    cut(x.astype(np.int32), out)
    assert np.array_equal(out, np.cumsum(x) + 2) and len(scans) == 2


def test_the_fewest_elements_depend_on_the_device():
    with gridlane.device("interp"):
        assert scanning.smallest() == scanning.SMALLEST_ON_GPU
    with gridlane.device("cpu"):
        assert scanning.smallest() == scanning.SMALLEST


def test_repeated_scans_of_several_rows(scans):
    with gridlane.device("cpu"):
        for _ in range(4):
            x = numbers(3, 5000)
            out = cuda.to_device(np.zeros_like(x))
            largest(cuda.to_device(x), out)
            assert np.array_equal(out.copy_to_host(), np.maximum.accumulate(x, 1))
    assert len(scans) == 2 * 3
