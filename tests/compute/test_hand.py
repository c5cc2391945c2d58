# ruff: noqa: F821  # extents are names that annotations define
"""Schedules by hand: the results of the loops, or the dependence and its line."""

import numpy as np
import pytest
from tests.compute.test_nests import jacobi, product
from tests.devices import DEVICES

import gridlane
from gridlane.compute import Tensor, compute, f32, f64, grid, i64
from gridlane.core.errors import ArgumentError, UnsupportedError

EVERY = ["interp", *DEVICES]


@compute
def summed(a: Tensor[f32, "M", "K"], b: Tensor[f32, "K", "N"], out: Tensor[f32, "M", "N"]):
    for i, j in grid(M, N):
        out[i, j] = 0.0
        for k in range(K):
            out[i, j] += a[i, k] * b[k, j]


@compute
def table(x: Tensor[i64, "N"], y: Tensor[i64, "N"], cost: Tensor[i64, "N", "N"]):
    for i in range(1, N):
        for j in range(1, N):
            best = min(cost[i - 1, j] + x[i], cost[i, j - 1] + y[j])
            cost[i, j] = min(best, cost[i - 1, j - 1] + abs(x[i] - y[j]))


SHAPES = [
    (("i", "j", "k"), {"threads": ("j", "i"), "workgroup": (16, 8)}),
    (("j", "i", "k"), {"threads": ("i",)}),
    (("i/8", "j/16", "i", "j", "k"), {"threads": ("j/16", "i/8")}),
    (("i", "j", "k"), {"threads": ("j", "i"), "vector": 3, "unroll": {"k": 4}}),
    (("i/12", "i/4", "j", "i", "k"), {"threads": ("j", "i/4")}),
    (("i", "j", "k"), {"threads": ("j",)}),
]
TILED = [
    (("k/8", "i", "j", "k"), {"threads": ("j", "i")}),
    (("k", "i", "j"), {"threads": ("j", "i"), "vector": 4}),
    (("i/8", "j/4", "k/8", "i", "j", "k"), {"threads": ("j/4", "i/8"), "unroll": {"j": 4}}),
]


def run(nest, shape=(9, 5, 10)):
    rng = np.random.default_rng(3)
    a, b = rng.random(shape[:2], np.float32), rng.random(shape[1:], np.float32)
    out = np.full((shape[0], shape[2]), 9, np.float32)
    nest(a, b, out)
    return out, a @ b


@pytest.mark.parametrize("device", EVERY)
@pytest.mark.parametrize(("order", "words"), [*SHAPES, *TILED])
def test_products(order, words, device):
    with gridlane.device(device):
        plain = run(summed.plain)[0]
        out, wanted = run(summed.schedule(*order, **words))
        assert (out == plain).all()
        assert np.allclose(out, wanted, rtol=1e-5)
        if (order, words) in SHAPES:
            assert (run(product.schedule(*order, **words))[0] == run(product.plain)[0]).all()


@pytest.mark.parametrize(("order", "words"), TILED)
def test_a_variable_has_one_value(order, words):
    with pytest.raises(UnsupportedError, match="s is one variable of a thread") as caught:
        product.schedule(*order, **words)
    assert "s = 0.0" in str(caught.value)


@pytest.mark.parametrize(
    ("nest", "order", "threads", "message", "line"),
    [
        (summed, ("i", "j", "k"), ("k",), "out after another iteration, and k as", "out[i, j] +="),
        (summed, ("i", "k/4", "j", "k"), ("k/4",), "and k/4 as threads", "out[i, j] +="),
        (jacobi, ("i", "j", "_t"), ("j",), "the order i, j, _t would run it before", "b[i, j]"),
        (jacobi, ("_t", "i", "j"), ("_t",), "_t as threads would run both at once", "b[i, j]"),
        (table, ("i", "j"), ("i",), "cost after another iteration, and i as", "cost[i, j] = min"),
        (table, ("i", "j"), ("j",), "cost after another iteration, and j as", "best = min"),
    ],
)  # fmt: skip
def test_dependences(nest, order, threads, message, line):
    with pytest.raises(UnsupportedError, match=message) as caught:
        nest.schedule(*order, threads=threads)
    assert line in str(caught.value)
    assert caught.value.loc.line > 0


def test_stencils_by_hand():
    rng = np.random.default_rng(4)
    first = rng.random((2, 20, 20), np.float32)
    one, other = first.copy(), first.copy()
    jacobi.schedule("_t", "i", "j", threads=("j", "i"))(one[0], one[1], 5)
    jacobi.plain(other[0], other[1], 5)
    assert (one == other).all()


def test_one_array_twice_has_more_dependences():
    @compute
    def shifted(x: Tensor[f64, "N"], y: Tensor[f64, "N"]):
        for i in range(N - 1):
            y[i] = x[i + 1]

    nest = shifted.schedule("i", threads=("i",))
    x, y = np.arange(9.0), np.zeros(9)
    nest(x, y)
    assert (y[:-1] == x[1:]).all()
    with pytest.raises(UnsupportedError, match="after another iteration, and i as threads"):
        nest(x, x)


def test_reversed_loops_keep_their_direction():
    @compute
    def back(x: Tensor[i64, "N"], y: Tensor[i64, "M", "N"]):
        for i in range(N - 2, -1, -1):
            for r in range(M):
                y[r, i] = y[r, i + 1] + x[i]

    x = np.arange(10)
    y, plain = np.ones((2, 4, 10), np.int64)
    back.schedule("r", "i/4", "i", threads=("r",), unroll={"i": 2})(x, y)
    back.plain(x, plain)
    assert (y == plain).all()


def test_two_loops_of_a_name_keep_their_order():
    @compute
    def both(x: Tensor[f64, "M", "N"], out: Tensor[f64, "M", "N"]):
        for i in range(M):
            most = x[i, 0]
            for j in range(N):
                most = max(most, x[i, j])
            for j in range(N):
                out[i, j] = x[i, j] - most

    x = np.random.default_rng(1).random((9, 14))
    out = np.zeros_like(x)
    both.schedule("i", "j/4", "j", threads=("i",))(x, out)
    assert (out == x - x.max(1, keepdims=True)).all()


@pytest.mark.parametrize(
    ("order", "words", "message"),
    [
        (("i", "j"), {"threads": ("i",)}, "has not the loop k once"),
        (("i", "j", "k", "k/2"), {"threads": ("i",)}, "has not the loop k once"),
        (("i", "j", "k", "q"), {"threads": ("i",)}, "'q' in a schedule is no loop"),
        (("i/0", "i", "j", "k"), {"threads": ("i",)}, "'i/0' in a schedule is no loop"),
        (("i/2", "i/4", "i", "j", "k"), {"threads": ("j",)}, "from large to small"),
        (("i/8", "i/3", "i", "j", "k"), {"threads": ("j",)}, "tiles of 3 of i do not divide"),
        (("i", "j", "k"), {"threads": ("j/8",)}, "the thread j/8 is not in the order"),
        (("i", "j", "k"), {"threads": ()}, "one to three loops are threads"),
        (("i", "j", "k"), {"threads": ("j",), "vector": 99}, "vector=99; it must be 1 to 16"),
        (("j/4", "i", "j", "k"), {"threads": ("j/4",), "vector": 2}, "x is the tiles j/4"),
        (("i", "j", "k"), {"threads": ("j",), "unroll": {"j": 2}}, "unroll has j, which is a th"),
        (("i", "j", "k"), {"threads": ("j",), "unroll": {"z": 2}}, "unroll has 'z'"),
        (("i", "j", "k"), {"threads": ("j",), "unroll": {"k": 999}}, "unroll has 999 of k"),
        (("i", "j", "k"), {"threads": ("j",), "workgroup": (0,)}, "a workgroup has one to three"),
    ],
)
def test_words(order, words, message):
    with pytest.raises(ArgumentError, match=message):
        product.schedule(*order, **words)


def test_threads_stand_in_each_other():
    with pytest.raises(UnsupportedError, match="do not stand directly in each other"):
        summed.schedule("i", "k", "j", threads=("j", "i"))
