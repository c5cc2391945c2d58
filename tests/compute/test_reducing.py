# ruff: noqa: F821  # extents are names that annotations define
"""Reductions by the library of algorithms: those of the loops, and of NumPy."""

import numpy as np
import pytest
from tests.devices import DEVICES

import gridlane
from gridlane import algorithms
from gridlane.compute import Tensor, compute, f32, i32, i64, scanning

RNG = np.random.default_rng(13)


@pytest.fixture
def reductions(monkeypatch):
    """The library's reductions; those of few elements and on few cores included."""
    seen, whole = [], algorithms.reduce_into

    def counted(**options):
        seen.append((options["op"].name, options["num_items"]))
        whole(**options)

    monkeypatch.setattr(algorithms, "reduce_into", counted)
    monkeypatch.setattr(scanning, "SMALLEST", 2)
    monkeypatch.setattr(scanning, "CORES", 1)
    return seen


@compute(kernel="reduce")
def total(x: Tensor[i32, "N"], out: Tensor[i32, 1]):
    s = 3
    for i in range(N):
        s += x[i]
    out[0] = s


@compute(kernel="reduce")
def rows(x: Tensor[i64, "M", "N"], out: Tensor[i64, "M"]):
    for r in range(M):
        out[r] = 1
        for i in range(N):
            out[r] *= x[r, i]


@compute(kernel="reduce")
def least(x: Tensor[i32, "A", "B", "N"], out: Tensor[i32, "A", "B"]):
    for a in range(A):
        for b in range(B):
            s = 99
            for i in range(N - 1, -1, -1):
                s = min(x[a, b, i], s)
            out[a, b] = s


CASES = [
    (total, (700,), (1,), np.int32, lambda x: 3 + x.sum(), [("PLUS", 700)]),
    (rows, (5, 33), (5,), np.int64, lambda x: x.prod(1), [("MULTIPLIES", 33)] * 5),
    (least, (2, 3, 50), (2, 3), np.int32, lambda x: x.min(2), [("MINIMUM", 50)] * 6),
]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("nest", "shape", "results", "dtype", "wanted", "calls"), CASES)
def test_reductions(nest, shape, results, dtype, wanted, calls, device, reductions):
    x = RNG.integers(-5, 6, shape).astype(dtype)
    for run, known in ((nest.plain, []), (nest, calls)):
        reductions.clear()
        out = np.zeros(results, dtype)
        with gridlane.device(device):
            run(x, out)
        assert (out == wanted(x)).all()
        assert reductions == known


@pytest.mark.parametrize("fastmath", [False, True])
def test_floats_are_the_users_wish(fastmath, reductions):
    @compute(kernel="reduce", fastmath=fastmath)
    def nest(x: Tensor[f32, "N"], out: Tensor[f32, 1]):
        out[0] = 0.0
        for i in range(N):
            out[0] += x[i]

    x, out = RNG.random(900).astype(np.float32), np.zeros(1, np.float32)
    nest(x, out)
    np.testing.assert_allclose(out, x.sum(dtype=np.float64), rtol=1e-5)
    assert len(reductions) == fastmath
    assert ("another order" in nest.explain()) is not fastmath


@pytest.mark.parametrize("change", ["part", "twice", "column", "wide", "same"])
def test_what_stays_loops(change, reductions):
    if change == "part":

        def body(x: Tensor[i32, "N", "N"], out: Tensor[i32, "N"]):
            for r in range(N):
                out[r] = 0
                for i in range(r):
                    out[r] += x[r, i]
    elif change == "twice":

        def body(x: Tensor[i32, "N", "N"], out: Tensor[i32, "N"]):
            for r in range(N):
                out[r] = 0
                for i in range(N):
                    out[r] += x[r, i] + x[r, i]
    elif change == "column":

        def body(x: Tensor[i32, "N", "N"], out: Tensor[i32, "N"]):
            for r in range(N):
                out[r] = 0
                for i in range(N):
                    out[r] += x[i, r]
    elif change == "wide":

        def body(x: Tensor[i32, "N", "N"], out: Tensor[i32, "N"]):
            for r in range(N):
                s = i64(0)
                for i in range(N):
                    s += x[r, i]
                out[r] = s % 7
    else:

        def body(x: Tensor[i32, "N", "N"], out: Tensor[i32, "N"]):
            for r in range(N):
                out[0] = 0
                for i in range(N):
                    out[r] += x[r, i]

    nest, results = compute(body), []
    for run in (nest, nest.plain):
        x, out = np.arange(144, dtype=np.int32).reshape(12, 12), np.ones(12, np.int32)
        run(x, out)
        results.append(out)
    assert not reductions
    assert (results[0] == results[1]).all()
