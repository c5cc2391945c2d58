# ruff: noqa: F821  # extents are names that annotations define
"""Kinds of nests: which one each is, and the refusal of others at the line that is against it."""

from __future__ import annotations

import pytest
from tests.compute.test_nests import ahead, downward, jacobi, product, running, triangle

from gridlane.compute import Tensor, compute, f32, f64, grid, i32
from gridlane.compute.kinds import Kind, products_of
from gridlane.core.errors import ArgumentError, TypingError


def transposed(a: Tensor[f32, "K", "M"], b: Tensor[f32, "N", "K"], out: Tensor[f32, "M", "N"]):
    for j, i in grid(N, M):
        out[i, j] = 0.0
        for k in range(K):
            out[i, j] += a[k, i] * b[j, k]


def swapped(a: Tensor[f32, "K", "M"], b: Tensor[f32, "N", "K"], out: Tensor[f32, "N", "M"]):
    for j, i in grid(N, M):
        s = 0.0
        for k in range(K):
            s = s + a[k, i] * b[j, k]
        out[j, i] = s + 1.0


def batched(
    a: Tensor[f32, "B", "M", "K"], b: Tensor[f32, "B", "K", "N"], out: Tensor[f32, "B", "M", "N"]
):
    for z, i, j in grid(B, M, N):
        s = 0.0
        for k in range(K):
            s += a[z, i, k] * b[z, k, j]
        out[z, i, j] = s


def summed(a: Tensor[f32, "M", "N"], out: Tensor[f32, "M"]):
    for i in range(M):
        out[i] = 0.0
        for j in range(N):
            out[i] += a[i, j]


def convolved(x: Tensor[f32, "H", "W"], w: Tensor[f32, 3, 3], out: Tensor[f32, "H", "W"]):
    for i, j in grid(H - 2, W - 2):
        s = 0.0
        for r, c in grid(3, 3):
            s += x[i + r, j + c] * w[r, c]
        out[i, j] = s


def prefixes(x: Tensor[i32, "N"], out: Tensor[i32, "N"]):
    for i in range(1, N):
        out[i] = out[i - 1] + x[i]


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (product.function, Kind.MATMUL), (transposed, Kind.MATMUL), (swapped, Kind.MATMUL),
        (batched, Kind.MATMUL), (summed, Kind.REDUCE), (triangle.function, Kind.REDUCE),
        (convolved, Kind.CONVOLUTION), (prefixes, Kind.SCAN), (running.function, Kind.SCAN),
        (downward.function, Kind.ELEMENTWISE), (ahead.function, Kind.ELEMENTWISE),
        (jacobi.function, Kind.CUSTOM),
    ],
)  # fmt: skip
def test_kinds(function, kind):
    assert compute(function).kind is kind
    assert compute(kernel=kind)(function).kind is kind


def test_which_factor_is_the_left_one():
    def facts(function):
        (found,) = products_of(compute(function)._polyhedra)
        names = found.left.name, found.right.name
        return *names, found.rows, found.columns, found.inner, found.batches

    assert facts(product.function) == ("a", "b", "i", "j", "k", ())
    assert facts(transposed) == ("a", "b", "i", "j", "k", ())
    assert facts(swapped) == ("b", "a", "j", "i", "k", ())
    assert facts(batched) == ("a", "b", "i", "j", "k", ("z",))


def refused(function, kind, message, line):
    with pytest.raises(TypingError, match=message) as caught:
        compute(kernel=kind)(function)
    assert line in str(caught.value)


def test_bodies_of_another_kind():
    refused(summed, "matmul", r"this is no sum of left\[i, k\]", "out[i] += a[i, j]")
    refused(summed, "elementwise", "it adds up", "out[i] += a[i, j]")
    refused(convolved, "matmul", "this is no sum of left", "s += x[i + r, j + c]")
    refused(prefixes, "matmul", "an iteration depends on an earlier", "out[i] = out[i - 1] + x[i]")
    refused(prefixes, "reduce", "an iteration depends on an earlier", "out[i] = out[i - 1] + x[i]")
    refused(downward.function, "reduce", "nothing is added up", "y[r, i]")
    refused(summed, "scan", "no iteration depends on the one before", "out[i] = 0.0")
    refused(jacobi.function, "elementwise", "an iteration depends on an earlier one", "b[i, j]")


def test_a_product_of_three_is_no_matmul():
    def three(a: Tensor[f64, "N", "N"], x: Tensor[f64, "N"], out: Tensor[f64, "N", "N"]):
        for i, j in grid(N, N):
            for k in range(N):
                out[i, j] += a[i, k] * x[k] * a[k, j]

    refused(three, "matmul", "this is no sum of left", "out[i, j] +=")


def test_an_index_that_depends_on_data_is_no_matmul():
    def gathered(
        a: Tensor[f32, "M", "K"], at: Tensor[i32, "K"], b: Tensor[f32, "K", "N"],
        out: Tensor[f32, "M", "N"],
    ):  # fmt: skip
        for i, j in grid(M, N):
            s = 0.0
            for k in range(K):
                s += a[i, at[k]] * b[k, j]
            out[i, j] = s

    def scattered(a: Tensor[f32, "M", "K"], at: Tensor[i32, "M"], out: Tensor[f32, "M", "K"]):
        for i in range(M):
            for k in range(K):
                out[at[i], k] = a[i, k]

    refused(gathered, "matmul", "this is no sum of left", "s += a[i, at[k]] * b[k, j]")
    refused(gathered, "conv2d", "this is no sum of products with", "s += a[i, at[k]] * b[k, j]")
    refused(scattered, "elementwise", "an iteration depends on an earlier one", "out[at[i], k]")


def test_a_body_that_reads_what_another_iteration_writes():
    def smoothed(x: Tensor[f32, "N"]):
        for i in range(1, N - 1):
            x[i] = 0.5 * (x[i - 1] + x[i + 1])

    refused(smoothed, "elementwise", "an iteration depends on an earlier one", "x[i] = 0.5 *")
    refused(smoothed, "conv2d", "an iteration depends on an earlier one", "x[i] = 0.5 *")
    refused(smoothed, "scan", "this is no out", "x[i] = 0.5 *")
    refused(smoothed, "attention", "this is no step of attention", "x[i] = 0.5 *")


def test_unknown_words():
    with pytest.raises(ArgumentError, match="kernel='gemm'; it must be one of flash_attention"):
        compute(kernel="gemm")(summed)
