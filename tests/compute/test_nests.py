# ruff: noqa: F821  # extents are names that annotations define
"""Loop nests on every device: results are those of the loops in order, and of NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.devices import DEVICES

import gridlane
from gridlane import cuda
from gridlane.compute import Tensor, compute, f32, f64, grid, i32, parallel
from gridlane.compute.choosing import choose
from gridlane.compute.strides import GPU
from gridlane.core.errors import ArgumentError, UnsupportedError

EVERY = ["interp", *DEVICES]


@compute
def product(a: Tensor[f32, "M", "K"], b: Tensor[f32, "K", "N"], out: Tensor[f32, "M", "N"]):
    for i, j in grid(M, N):
        s = 0.0
        for k in range(K):
            s += a[i, k] * b[k, j]
        out[i, j] = s


@compute
def jacobi(a: Tensor[f32, "N", "N"], b: Tensor[f32, "N", "N"], times: int):
    for _t in range(times):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                b[i, j] = 0.25 * (a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + a[i - 1, j])
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                a[i, j] = b[i, j]


@compute
def triangle(x: Tensor[i32, "N", "N"], out: Tensor[i32, "N"]):
    for i in range(N):
        out[i] = 0
        for j in range(i + 1):
            if x[i, j] > 3:
                out[i] += x[i, j] * (j % 3)
            else:
                out[i] -= min(x[i, j], 2)


@compute
def running(x: Tensor[i32, "N"], out: Tensor[i32, "N"]):
    total = 0
    for i in range(N):
        total += x[i]
        out[i] = total


@compute
def downward(x: Tensor[f32, "N"], y: Tensor[f32, "M", "N"]):
    for i in range(N - 1, 0, -2):
        for r in range(M):
            y[r, i] = x[i - 1] + y[r, i] * r


def matrices(*shape, dtype=np.float32):
    rng = np.random.default_rng(len(shape) + shape[0])
    return (rng.random(shape) * 9).astype(dtype)


@pytest.mark.parametrize("name", EVERY)
def test_products(name):
    a, b, out = matrices(9, 7), matrices(7, 11), np.zeros((9, 11), np.float32)
    with gridlane.device(name):
        product(a, b, out)
    assert np.allclose(out, a @ b, rtol=1e-5)


@pytest.mark.parametrize("name", EVERY)
def test_stencils(name):
    a, b = matrices(12, 12), matrices(12, 12)
    plain = a.copy(), b.copy()
    with gridlane.device(name):
        jacobi(a, b, 3)
    with gridlane.device("interp"):
        jacobi.plain(*plain, 3)
    assert (a == plain[0]).all() and (b == plain[1]).all()


@pytest.mark.parametrize("name", EVERY)
def test_triangles_and_conditions(name):
    x, out = matrices(13, 13, dtype=np.int32), np.full(13, 7, np.int32)
    with gridlane.device(name):
        triangle(x, out)
    wanted = [
        sum(v * (j % 3) if v > 3 else -min(v, 2) for j, v in enumerate(map(int, x[i, : i + 1])))
        for i in range(13)
    ]
    assert out.tolist() == wanted


@pytest.mark.parametrize("name", EVERY)
def test_carried_values(name):
    x, out = matrices(50, dtype=np.int32), np.zeros(50, np.int32)
    with gridlane.device(name):
        running(x, out)
    assert (out == np.cumsum(x)).all()


@pytest.mark.parametrize("name", EVERY)
def test_loops_that_count_down(name):
    x, y = matrices(10), matrices(4, 10)
    wanted = y.copy()
    for i in range(9, 0, -2):
        wanted[:, i] = x[i - 1] + wanted[:, i] * np.arange(4, dtype=np.float32)
    with gridlane.device(name):
        downward(x, y)
    assert np.allclose(y, wanted, rtol=1e-6)  # a product and a sum are one rounding on some devices


def test_which_loops_are_parallel():
    """Those without a dependence: of stencils all but time, of sums all but the sum's."""
    assert [len(each.spans) for each in product.emitted.kernels] == [2]
    stencil = choose(jacobi._polyhedra, jacobi._typing, GPU)[0]
    assert [len(each.spans) for each in stencil.kernels] == [2, 2]
    assert [each.loops for each in stencil.kernels] == [("j", "i"), ("j", "i")]
    assert [each.loops for each in triangle.emitted.kernels] == [("i",)]
    assert [len(each.spans) for each in running.emitted.kernels] == [0]


@compute
def ahead(x: Tensor[f64, "N"], y: Tensor[f64, "N"]):
    for i in range(N - 1):
        y[i] = x[i + 1] + 1


@compute
def behind(x: Tensor[f64, "N"], y: Tensor[f64, "N"]):
    for i in range(1, N):
        y[i] = x[i - 1] + 1


def test_one_array_twice():
    """The dependences are those of the one array, so the order is that of the loops."""
    x = np.zeros(300)
    behind(x, x)
    assert x.tolist() == [*range(300)]
    x = np.arange(300.0)
    ahead(x, x)
    assert x.tolist() == [*range(2, 301), 299]


def test_a_variable_of_several_kernels():
    @compute
    def shared(x: Tensor[f64, "N"], y: Tensor[f64, "N"]):
        for t in range(3):
            first = x[t] + t
            for i in range(N):
                y[i] = y[i] * 2 + first

    x, y, wanted = np.arange(40.0), np.ones(40), np.ones(40)
    for t in range(3):
        wanted = wanted * 2 + x[t] + t
    shared(x, y)
    assert shared.emitted.cells == ("first",)
    assert (y == wanted).all()


@compute
def nearest(x: Tensor[f64, "P"], c: Tensor[f64, "K"], label: Tensor[i32, "P"]):
    for p in range(P):
        best = 1e300
        which = 0
        for k in range(K):
            d = (x[p] - c[k]) ** 2
            if d < best:
                best = d
                which = k
            else:
                if which == k:
                    which = 0
        label[p] = which


@pytest.mark.parametrize("name", ["interp", "cpu"])
def test_a_condition_is_evaluated_once(name):
    """In front of its branches, which change what it reads."""
    x, c, label = matrices(40).astype(float), np.arange(9.0), np.zeros(40, np.int32)
    with gridlane.device(name):
        nearest(x, c, label)
    assert (label == abs(x[:, None] - c).argmin(1)).all()


def test_functions_and_outside_numbers():
    scale = 3

    @compute
    def many(x: Tensor[f32, "N"], out: Tensor[f32, "N"]):
        for i in range(N):
            out[i] = math.sqrt(abs(x[i])) + scale * x[i] ** 2 if x[i] > 0 else f32(i) / 2

    x, out = matrices(70) - np.float32(4), np.zeros(70, np.float32)
    many(x, out)
    wanted = np.where(x > 0, np.sqrt(abs(x)) + 3 * x**2, np.arange(70, dtype=np.float32) / 2)
    assert np.allclose(out, wanted, rtol=1e-6)


def test_the_users_word():
    @compute
    def scattered(order: Tensor[i32, "N"], x: Tensor[f64, "N"], out: Tensor[f64, "N"]):
        for i in parallel(N):
            out[order[i]] = x[i]

    order = np.random.default_rng(1).permutation(500).astype(np.int32)
    x, out = np.arange(500.0), np.zeros(500)
    scattered(order, x, out)
    assert (out[order] == x).all()
    assert [len(each.spans) for each in scattered.emitted.kernels] == [1]


def test_an_index_that_is_not_affine_keeps_the_order():
    @compute
    def histogram(x: Tensor[i32, "N"], out: Tensor[i32, "M"]):
        for i in range(N):
            out[x[i]] += 1

    x, out = matrices(200, dtype=np.int32), np.zeros(9, np.int32)
    histogram(x, out)
    assert (out == np.bincount(x, minlength=9)).all()
    assert [len(each.spans) for each in histogram.emitted.kernels] == [0]


def test_a_name_that_is_several_variables():
    """Loops that use a name in turn do not depend on each other by it, nor on names of the tree."""

    @compute
    def turns(c0: Tensor[f64, "M", "N"], launch: Tensor[f64, "M"], out: Tensor[f64, "M"]):
        for i in range(M):
            w = v = 0.0
            for j in range(N):
                w += c0[i, j]
                v = max(v, c0[i, j])
            launch[i] = w + v
        for i in range(M):
            w = launch[i]
            out[i] = w * w

    x, total, out = np.random.default_rng(2).random((40, 3)), np.zeros(40), np.zeros(40)
    turns(x, total, out)
    assert {each.loops for each in turns.emitted.kernels} == {("i",)}
    assert turns.emitted.cells == ()
    assert np.allclose(total, x.sum(1) + x.max(1)) and np.allclose(out, total**2)


def test_webs_have_the_type_of_the_name():
    @compute
    def widened(x: Tensor[i32, "N"], out: Tensor[f64, "N"]):
        for i in range(N):
            w = x[i]
            out[i] = w / 2
        for i in range(N):
            w = x[i] * 0.5
            out[i] += w

    out = np.zeros(9)
    widened(np.arange(9, dtype=np.int32), out)
    assert (out == np.arange(9.0)).all()


def test_loops_without_iterations():
    @compute
    def nothing(x: Tensor[f64, "N"], y: Tensor[f64, "N"]):
        for i in range(N):
            for j in range(i, i):
                x[j] = 1.0
        for i in range(3, 3):
            y[i] = 2.0

    x, y = np.zeros(9), np.zeros(9)
    nothing(x, y)
    nothing.plain(x, y)
    assert not x.any() and not y.any()


@pytest.mark.parametrize("name", ["cpu", "interp"])
def test_arrays_of_the_device(name):
    """Also where a device has no addresses that other libraries read."""

    @compute
    def doubled(x: Tensor[f32, "N"], out: Tensor[f32, "N"]):
        for i in range(N):
            out[i] = 2 * x[i]

    with gridlane.device(name):
        x, out = cuda.to_device(np.arange(9, dtype=np.float32)), cuda.device_array(9, np.float32)
        doubled(x, out)
        assert (out.copy_to_host() == 2 * np.arange(9)).all()


@pytest.mark.parametrize("name", EVERY)
def test_numbers_of_modules(name: str) -> None:
    @compute
    def largest(x: Tensor[f32, "N", "M"], out: Tensor[f32, "N"]):
        for i in range(N):
            m = f32(-math.inf)
            for j in range(M):
                m = max(m, x[i, j])
            out[i] = m * np.pi

    x = -np.arange(1, 13, dtype=np.float32).reshape(3, 4)
    out = np.zeros(3, np.float32)
    with gridlane.device(name):
        largest(x, out)
    np.testing.assert_array_equal(out, x.max(1) * np.float32(np.pi))


def test_what_is_no_number_of_a_module() -> None:
    @compute
    def wrong(out: Tensor[f32, "N"]):
        for i in range(N):
            out[i] = math.exp

    with pytest.raises(UnsupportedError, match=r"math\.exp is no number of a module"):
        wrong(np.zeros(3, np.float32))


def test_sums_beside_arrays_whose_names_end_alike() -> None:
    @compute
    def added(yy: Tensor[f64, "N"], x: Tensor[f64, "M"], y: Tensor[f64, "N"]):
        for i in range(N):
            for k in range(M):
                y[i] += yy[i] * x[k]

    yy, x, y = np.arange(1.0, 5), np.arange(6.0), np.ones(4)
    added(yy, x, y)
    assert (y == 1 + 15 * yy).all()


VIEWS = {
    "every second one": lambda x: x[::2],
    "downwards": lambda x: x[::-1],
    "a column": lambda x: x.reshape(-1, 2)[:, 1],
    "one element": lambda x: np.broadcast_to(x[3], 8),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", EVERY)
def test_strided_arrays_of_the_host(name: str, view: str) -> None:
    """As kernels take them, on each device; what is beside a result's elements stays."""

    @compute
    def doubled(x: Tensor[f32, "N"], out: Tensor[f32, "N"]):
        for i in grid(N):
            out[i] = 2 * x[i]

    x = VIEWS[view](np.arange(16, dtype=np.float32))
    memory = np.full(2 * len(x), -1, np.float32)
    with gridlane.device(name):
        for out in (memory[::2], memory[::-2]):
            memory[:] = -1
            doubled(x, out)
            assert (out == 2 * x).all() and (memory == -1).sum() == len(x)
        with pytest.raises((ArgumentError, ValueError), match="mask"):
            doubled(np.ma.masked_less(x, 4)[::-1], memory[::2])
