# ruff: noqa: F821  # extents are names that annotations define
"""Products of matrices by the tile library: bit for bit those of the loops in order."""

import ml_dtypes
import numpy as np
import pytest
from tests.devices import DEVICES

import gridlane
from gridlane.compute import Hints, Tensor, bf16, compute, f16, f32, f64, grid

RNG = np.random.default_rng(5)


@pytest.fixture
def products(monkeypatch):
    """The shapes of the library's products."""
    from gridlane.tiles import kernels

    seen, whole = [], kernels.matmul

    def counted(a, b, out, **options):
        seen.append((tuple(a.shape), tuple(b.shape)))
        return whole(a, b, out, **options)

    monkeypatch.setattr(kernels, "matmul", counted)
    return seen


def of_variables(kind):
    @compute
    def nest(a: Tensor[kind, "M", "K"], b: Tensor[kind, "K", "N"], out: Tensor[kind, "M", "N"]):
        for i, j in grid(M, N):
            s = 0.0
            for k in range(K):
                s += a[i, k] * b[k, j]
            out[i, j] = s

    return nest


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", [f32, f64])
def test_the_order_is_that_of_the_loops(kind, device, products):
    if kind is f64 and device != "cpu":
        pytest.skip("binary64 is emulated here")
    dtype = {f32: np.float32, f64: np.float64}[kind]
    a, b = (RNG.standard_normal(shape).astype(dtype) for shape in ((50, 70), (70, 40)))
    out, plain = np.zeros((2, 50, 40), dtype)
    nest = of_variables(kind)
    with gridlane.device(device):
        nest(a, b, out)
    assert products == [((50, 70), (70, 40))]
    with gridlane.device("cpu"):
        nest.plain(a, b, plain)
    np.testing.assert_allclose(out, plain, rtol=0, atol=0 if device == "cpu" else 1e-4)


@pytest.mark.parametrize("device", DEVICES)
def test_transposed_and_batched_ones(device, products):
    @compute
    def nest(
        a: Tensor[f32, "K", "M", "B"],
        b: Tensor[f32, "B", "N", "K"],
        out: Tensor[f32, "N", "B", "M"],
    ):
        for n, z, m in grid(N, B, M):
            out[n, z, m] = 0
            for k in range(K):
                out[n, z, m] += a[k, m, z] * b[z, n, k]

    a, b = RNG.random((40, 33, 3), np.float32), RNG.random((3, 35, 40), np.float32)
    out, plain = np.zeros((2, 35, 3, 33), np.float32)
    with gridlane.device(device):
        nest(a, b, out)
    nest.plain(a, b, plain)
    assert products == [((3, 35, 40), (3, 40, 33))]
    np.testing.assert_allclose(out, plain, rtol=0 if device == "cpu" else 1e-5)


def test_what_reads_the_sums(products):
    @compute
    def nest(
        a: Tensor[f32, "M", "K"], b: Tensor[f32, "K", "N"], bias: Tensor[f32, "N"],
        out: Tensor[f32, "N", "M"], doubled: Tensor[f32, "M", "N"], by: float,
    ):  # fmt: skip
        for i, j in grid(M, N):
            s = 0.0
            for k in range(K):
                s += a[i, k] * b[k, j]
            out[j, i] = max(s + bias[j], 0.0)
            doubled[i, j] = by * s

    a, b, bias = RNG.random((50, 60), np.float32), RNG.random((60, 40), np.float32), np.arange(40)
    results = []
    for run in (nest, nest.plain):
        out, doubled = np.zeros((40, 50), np.float32), np.zeros((50, 40), np.float32)
        run(a, b, bias.astype(np.float32), out, doubled, 2.5)
        results.append((out, doubled))
    assert products == [((50, 60), (60, 40))]
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    assert np.allclose(results[0][1], 2.5 * (a @ b), rtol=1e-5)


def test_matrix_instructions_are_the_users_wish(products):
    """Sums of halves in float32 may be added in their order only where the user says so."""

    def body(a: Tensor[bf16, "M", "K"], b: Tensor[bf16, "K", "N"], out: Tensor[f32, "M", "N"]):
        for i, j in grid(M, N):
            s = f32(0)
            for k in range(K):
                s += f32(a[i, k]) * f32(b[k, j])
            out[i, j] = s

    a, b = (RNG.random((64, 64)).astype(ml_dtypes.bfloat16) for _ in range(2))
    wanted = a.astype(np.float32) @ b.astype(np.float32)
    for hints, count in ((None, 0), (Hints(tensor_cores=True), 1)):
        out = np.zeros((64, 64), np.float32)
        compute(hints=hints)(body)(a, b, out)
        assert len(products) == count
        np.testing.assert_allclose(out, wanted, rtol=1e-3)


def test_a_result_of_other_extents(products):
    """What is added to the result, and a result with more columns, are not the product's."""

    @compute
    def added(a: Tensor[f32, "M", "K"], b: Tensor[f32, "K", "N"], out: Tensor[f32, "M", "N"]):
        for i, j in grid(M, N):
            s = 0.0
            for k in range(K):
                s += a[i, k] * b[k, j]
            out[i, j] += s

    @compute
    def wide(a: Tensor[f32, "M", "K"], b: Tensor[f32, "K", "N"], out: Tensor[f32, "M", "P"]):
        for i, j in grid(M, N):
            s = 0.0
            for k in range(K):
                s += a[i, k] * b[k, j]
            out[i, j] = s

    a, b = RNG.random((40, 50), np.float32), RNG.random((50, 44), np.float32)
    out = np.ones((40, 44), np.float32)
    added(a, b, out)
    assert np.allclose(out, a @ b + 1, rtol=1e-5)
    out = np.ones((40, 48), np.float32)
    wide(a, b, out)
    assert np.allclose(out[:, :44], a @ b, rtol=1e-5)
    assert (out[:, 44:] == 1).all()


def test_a_start_elsewhere_is_no_product(products):
    @compute
    def nest(a: Tensor[f32, "N", "N"], b: Tensor[f32, "N", "N"], out: Tensor[f32, "N", "N"]):
        for i, j in grid(N, N):
            out[j, i] = 0.0
            for k in range(N):
                out[i, j] += a[i, k] * b[k, j]

    a, b = RNG.random((40, 40), np.float32), RNG.random((40, 40), np.float32)
    out, plain = np.ones((2, 40, 40), np.float32)
    nest(a, b, out)
    nest.plain(a, b, plain)
    assert not products
    assert (out == plain).all()


@pytest.mark.parametrize("change", ["part", "start", "other reader", "small", "same"])
def test_what_stays_loops(change, products):
    if change == "part":

        def body(a: Tensor[f32, "M", "K"], b: Tensor[f32, "K", "N"], out: Tensor[f32, "M", "N"]):
            for i, j in grid(M, N):
                s = 0.0
                for k in range(K - 1):
                    s += a[i, k] * b[k, j]
                out[i, j] = s
    elif change == "start":

        def body(a: Tensor[f32, "M", "K"], b: Tensor[f32, "K", "N"], out: Tensor[f32, "M", "N"]):
            for i, j in grid(M, N):
                s = 1.0
                for k in range(K):
                    s += a[i, k] * b[k, j]
                out[i, j] = s
    elif change == "other reader":

        def body(a: Tensor[f32, "M", "K"], b: Tensor[f32, "K", "N"], out: Tensor[f32, "M", "N"]):
            for i, j in grid(M, N):
                s = 0.0
                for k in range(K):
                    s += a[i, k] * b[k, j]
                    out[i, j] = s
    else:
        body = of_variables(f32).function
    size = 20 if change == "small" else 40
    nest, results = compute(body), []
    for run in (nest, nest.plain):
        a, b = (np.random.default_rng(3).random((size, size), np.float32) for _ in range(2))
        out = a if change == "same" else np.zeros((size, size), np.float32)
        if change == "same":
            b = np.eye(size, dtype=np.float32)
        run(a, b, out)
        results.append(out)
    assert not products
    assert (results[0] == results[1]).all()


def test_halves_that_add_halves_are_loops(products):
    nest = of_variables(f16)
    a = np.ones((40, 40), np.float16)
    out = np.zeros((40, 40), np.float16)
    nest(a, a, out)
    assert not products
    assert (out == 40).all()
