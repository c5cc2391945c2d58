# ruff: noqa: F821  # extents are names that annotations define
"""Orders of isl's scheduler: which loops they leave parallel, and that they keep dependences."""

from __future__ import annotations

import islpy as isl
import numpy as np
import pytest
from tests.compute.polybench import PROGRAMS

import gridlane
from gridlane.compute import Tensor, compute, f64, grid, i32, parallel
from gridlane.compute.choosing import SMALL, choose
from gridlane.compute.programs import Program
from gridlane.compute.schedules import orders_of, text_order
from gridlane.compute.strides import GPU, PROCESSOR


@compute
def alignment(one: Tensor[i32, "M"], other: Tensor[i32, "N"], best: Tensor[i32, "M", "N"]):
    for i in range(1, M):
        for j in range(1, N):
            pair = 3 if one[i] == other[j] else -3
            best[i, j] = max(best[i - 1, j - 1] + pair, max(best[i - 1, j], best[i, j - 1]) - 2)
            best[i, j] = max(best[i, j], 0)


def emitted_for(nest, rates):
    return choose(nest._polyhedra, nest._typing, rates)[0]


def test_wavefronts():
    """Smith and Waterman's table: diagonals in turn, whose elements are threads."""
    emitted = emitted_for(alignment, GPU)
    assert [len(each.spans) for each in emitted.kernels] == [1]
    assert "\n    for " in emitted.host
    rng = np.random.default_rng(4)
    one, other = rng.integers(0, 4, 37, dtype=np.int32), rng.integers(0, 4, 53, dtype=np.int32)
    best, wanted = np.zeros((37, 53), np.int32), np.zeros((37, 53), np.int32)
    program = Program(
        alignment.nest, alignment._typing, emitted, {}, alignment.metadata, alignment.fastmath
    )
    program.run({"one": one, "other": other, "best": best}, {"M": 37, "N": 53})
    for i in range(1, 37):
        for j in range(1, 53):
            up = wanted[i - 1, j - 1] + (3 if one[i] == other[j] else -3)
            wanted[i, j] = max(up, wanted[i - 1, j] - 2, wanted[i, j - 1] - 2, 0)
    assert (best == wanted).all() and best.max() > 3


@pytest.mark.parametrize(
    ("name", "spans"),
    [
        ("syrk", [2]), ("syr2k", [2]), ("atax", [1, 1]),
        ("bicg", [1, 1]), ("seidel-2d", [2]), ("nussinov", [1]), ("correlation", [1, 2, 1]),
        ("doitgen", [3, 3]),
    ],
)  # fmt: skip
def test_parallel_loops_that_the_text_hides(name, spans):
    for rates in (PROCESSOR.of_lanes, GPU):
        emitted = emitted_for(PROGRAMS[name].nest, rates)
        assert [len(each.spans) for each in emitted.kernels] == spans
        assert emitted.order.name.startswith("isl's order")


def test_explain_has_the_orders():
    lines = [each for each in PROGRAMS["syrk"].nest.explain().splitlines() if "cost" in each]
    assert lines[0].startswith("# isl's order, loops together: cost ")
    assert lines[1].startswith("# not the text's order: cost ")


@pytest.mark.parametrize("name", ["syrk", "trmm", "cholesky", "ludcmp", "seidel-2d", "nussinov"])
def test_all_orders_keep_the_dependences(name):
    polyhedra = PROGRAMS[name].nest._polyhedra
    orders = [*orders_of(polyhedra)]
    assert len(orders) > 1
    assert all(polyhedra.keeps(each.map) for each in orders)


def test_an_order_that_breaks_a_dependence():
    @compute
    def sums(x: Tensor[f64, "N"]):
        for i in range(1, N):
            x[i] += x[i - 1]

    polyhedra = sums._polyhedra
    assert polyhedra.keeps(text_order(polyhedra).map)
    assert not polyhedra.keeps(isl.UnionMap("[N] -> { S0[i] -> [0, -i, 0] }"))
    assert not polyhedra.keeps(isl.UnionMap("[N] -> { S0[i] -> [0, 0, 0] }"))
    assert not polyhedra.keeps(isl.UnionMap("[N] -> { S0[i] -> [0, i, 0] : i > 1 }"))


def test_a_variable_of_each_iteration_stays_one():
    """Its statements are not apart: a thread has one variable for all of its iterations."""

    @compute
    def squares(x: Tensor[f64, "M", "N"], y: Tensor[f64, "N"]):
        for i in range(M):
            for j in range(N):
                s = x[i, j] + i
                y[j] = y[j] / 2 + s * s

    x, y = np.random.default_rng(3).random((20, 70)), np.zeros(70)
    wanted = y.copy()
    for i in range(20):
        wanted = wanted / 2 + (x[i] + i) ** 2
    with gridlane.device("interp"):
        squares(x, y)
    emitted = emitted_for(squares, PROCESSOR.of_lanes)
    assert [each.loops for each in emitted.kernels] == [("j",)]
    assert emitted.host.count("for ") == 0
    assert np.allclose(y, wanted, rtol=1e-14)


def test_the_users_word_holds_for_one_loop():
    """Iterations of other loops keep their order."""

    @compute
    def steps(order: Tensor[i32, "N"], x: Tensor[f64, "N"], times: int):
        for t in range(times):
            for i in parallel(N):
                x[order[i]] = x[order[i]] * 2 + t

    x = np.ones(40)
    steps(np.random.default_rng(1).permutation(40).astype(np.int32), x, 5)
    wanted = 1.0
    for t in range(5):
        wanted = wanted * 2 + t
    assert (x == wanted).all()
    assert [each.loops for each in steps.emitted.kernels] == [("i",)]


def test_an_element_stays_in_a_register_along_a_loop():
    """Unless another access of the loop may be to the same array."""

    @compute
    def shifted(a: Tensor[f64, "N", "M"], x: Tensor[f64, "N"], b: Tensor[f64, "M"]):
        for i in range(N):
            for k in range(M):
                x[i] += a[i, k]
        for i in range(M):
            for k in range(i, M):
                b[i] += b[k] * 2

    first = shifted.emitted.kernels[0].text
    assert "c_x_0 = (c_x_0 + a[i, k])" in first and "x[i] = c_x_0" in first
    assert "c_b" not in shifted.explain()
    a, x, b = np.random.default_rng(5).random((9, 4)), np.ones(9), np.ones(4)
    wanted = b.copy()
    for i in range(4):
        for k in range(i, 4):
            wanted[i] += wanted[k] * 2
    shifted(a, x, b)
    assert np.allclose(x, 1 + a.sum(1)) and np.allclose(b, wanted)
    y = np.ones(9)
    shifted(np.zeros((9, 1)), y, y[:1].copy())  # no iteration but one
    assert (y == 1).all()


def test_one_block_of_small_arrays():
    """Its threads take turns at each parallel loop, with a barrier behind it; large ones launch."""
    nest = PROGRAMS["durbin"].nest
    for rates in (PROCESSOR.of_lanes, GPU):
        small = emitted_for(nest, rates).small
        assert small is not None
        (kernel,) = small.kernels
        assert kernel.threads == rates.block and kernel.spans == ()
        assert kernel.text.count("cuda.syncthreads()") == kernel.text.count("cuda.threadIdx.x")
        assert kernel.text.count("cuda.syncthreads()") >= 4
    assert emitted_for(PROGRAMS["gemm"].nest, GPU).small is None


@compute
def waves(x: Tensor[f64, "N"], y: Tensor[f64, "N"], times: int):
    for _t in range(times):
        for i in range(1, N):
            y[i] = x[i - 1] + 1
        for i in range(1, N):
            x[i] = y[i]


@pytest.mark.parametrize("size", [2, 33, 1000, SMALL, SMALL + 1])
def test_sizes_around_one_block(size):
    emitted = emitted_for(waves, PROCESSOR.of_lanes)
    assert emitted.small is not None
    x, y = np.zeros(size), np.zeros(size)
    program = Program(waves.nest, waves._typing, emitted, {}, waves.metadata, waves.fastmath)
    program.run({"x": x, "y": y, "times": 20}, {"N": size, "times": 20})
    assert (x == np.minimum(np.arange(size), 20)).all()


@compute
def lower(a: Tensor[f64, "N", "M"], out: Tensor[f64, "N", "N"]):
    for i in range(N):
        for j in range(i + 1):
            s = 1.0
            for k in range(M):
                s += a[i, k] * a[j, k]
            out[i, j] = s


@pytest.mark.parametrize("size", [1, 3, 4, 5, 8, 37])
def test_threads_of_several_rows(size):
    """A processor's threads have four rows at once, and those at a border one after the other."""
    a, out = np.random.default_rng(size).random((size, 3)), np.full((size, size), -1.0)
    lower(a, out)
    wanted = np.where(np.tri(size, dtype=bool), 1 + a @ a.T, -1)
    assert np.allclose(out, wanted, rtol=1e-14)
    assert sorted(each.step for each in lower.emitted.kernels[0].spans) == [1, 4]
    assert [each.step for each in emitted_for(lower, GPU).kernels[0].spans] == [1, 1]


def test_rows_whose_variables_have_names_already():
    @compute
    def named(a: Tensor[f64, "N", "M"], s_c1: Tensor[f64, "N", "N"], c_s: Tensor[f64, "N", "N"]):
        for i, j in grid(N, N):
            s = 1.0
            for k in range(M):
                s += a[i, k] * a[j, k]
            s_c1[i, j] = s
        for i, j in grid(N, N):
            for k in range(M):
                c_s[i, j] += a[i, k] * a[j, k]

    a, first, second = np.random.default_rng(8).random((9, 3)), np.zeros((9, 9)), np.ones((9, 9))
    named(a, first, second)
    assert np.allclose(first, 1 + a @ a.T) and np.allclose(second, first)


@compute
def around(a: Tensor[f64, "N", "N"], b: Tensor[f64, "N", "M"], out: Tensor[f64, "N", "M"]):
    for i in range(N):
        for j in range(M):
            s = 0.0
            for k in range(i):
                s = s * 0.5 + a[i, k] * b[k, j]
            for k in range(max(i + 1, 3), min(N, 2 * i)):
                for _n in range(k, k + 2):
                    s = s * 0.5 + a[k, i] * b[k, j]
            out[i, j] = s


@pytest.mark.parametrize("size", [1, 4, 7, 8, 21])
def test_rows_with_loops_of_their_own_bounds(size):
    """What all rows have they run at once, and each its own iterations in front and behind."""
    rng = np.random.default_rng(size)
    a, b = rng.random((size, size)), rng.random((size, 40))
    out, plain = np.zeros((size, 40)), np.zeros((size, 40))
    around(a, b, out)
    around.plain(a, b, plain)
    for i in range(size):
        s = np.zeros(40)
        for k in range(i):
            s = s * 0.5 + a[i, k] * b[k]
        for k in range(max(i + 1, 3), min(size, 2 * i)):
            for _ in range(2):
                s = s * 0.5 + a[k, i] * b[k]
        np.testing.assert_allclose(plain[i], s, 1e-12)
    assert (out == plain).all() or np.allclose(out, plain, rtol=1e-15)
    assert "_first = max(" in around.emitted.kernels[0].text
