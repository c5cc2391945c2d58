# ruff: noqa: F821  # extents are names that annotations define
"""Products of matrices, their sums and statistics."""

from __future__ import annotations

import math

import numpy as np
from tests.compute.polybench.inputs import Program

from gridlane.compute import Tensor, compute, f64, grid


@compute
def gemm(
    a: Tensor[f64, "I", "K"], b: Tensor[f64, "K", "J"], c: Tensor[f64, "I", "J"],
    alpha: float, beta: float,
):  # fmt: skip
    for i, j in grid(I, J):
        s = 0.0
        for k in range(K):
            s += a[i, k] * b[k, j]
        c[i, j] = alpha * s + beta * c[i, j]


@compute
def two_products(
    a: Tensor[f64, "I", "K"], b: Tensor[f64, "K", "J"], tmp: Tensor[f64, "I", "J"],
    c: Tensor[f64, "J", "L"], d: Tensor[f64, "I", "L"], alpha: float, beta: float,
):  # fmt: skip
    for i, j in grid(I, J):
        tmp[i, j] = 0.0
        for k in range(K):
            tmp[i, j] += alpha * a[i, k] * b[k, j]
    for i, j in grid(I, L):
        d[i, j] *= beta
        for k in range(J):
            d[i, j] += tmp[i, k] * c[k, j]


@compute
def three_products(
    a: Tensor[f64, "I", "K"], b: Tensor[f64, "K", "J"], c: Tensor[f64, "J", "M"],
    d: Tensor[f64, "M", "L"], e: Tensor[f64, "I", "J"], f: Tensor[f64, "J", "L"],
    g: Tensor[f64, "I", "L"],
):  # fmt: skip
    for i, j in grid(I, J):
        e[i, j] = 0.0
        for k in range(K):
            e[i, j] += a[i, k] * b[k, j]
    for i, j in grid(J, L):
        f[i, j] = 0.0
        for k in range(M):
            f[i, j] += c[i, k] * d[k, j]
    for i, j in grid(I, L):
        g[i, j] = 0.0
        for k in range(J):
            g[i, j] += e[i, k] * f[k, j]


@compute
def symm(
    a: Tensor[f64, "M", "M"], b: Tensor[f64, "M", "N"], c: Tensor[f64, "M", "N"],
    alpha: float, beta: float,
):  # fmt: skip
    for i, j in grid(M, N):
        s = a[i, i] * b[i, j]
        for k in range(i):
            s += a[i, k] * b[k, j]
        for k in range(i + 1, M):
            s += a[k, i] * b[k, j]
        c[i, j] = beta * c[i, j] + alpha * s


@compute
def syrk(a: Tensor[f64, "N", "M"], c: Tensor[f64, "N", "N"], alpha: float, beta: float):
    for i in range(N):
        for j in range(i + 1):
            c[i, j] *= beta
        for k in range(M):
            for j in range(i + 1):
                c[i, j] += alpha * a[i, k] * a[j, k]


@compute
def syr2k(
    a: Tensor[f64, "N", "M"], b: Tensor[f64, "N", "M"], c: Tensor[f64, "N", "N"],
    alpha: float, beta: float,
):  # fmt: skip
    for i in range(N):
        for j in range(i + 1):
            c[i, j] *= beta
        for k in range(M):
            for j in range(i + 1):
                c[i, j] += a[j, k] * alpha * b[i, k] + b[j, k] * alpha * a[i, k]


@compute
def trmm(a: Tensor[f64, "M", "M"], b: Tensor[f64, "M", "N"], alpha: float):
    for i, j in grid(M, N):
        for k in range(i + 1, M):
            b[i, j] += a[k, i] * b[k, j]
        b[i, j] = alpha * b[i, j]


@compute
def doitgen(
    a: Tensor[f64, "R", "Q", "P"], c4: Tensor[f64, "P", "P"], total: Tensor[f64, "R", "Q", "P"]
):
    for r, q in grid(R, Q):
        for p in range(P):
            total[r, q, p] = 0.0
            for s in range(P):
                total[r, q, p] += a[r, q, s] * c4[s, p]
        for p in range(P):
            a[r, q, p] = total[r, q, p]


@compute
def covariance(
    data: Tensor[f64, "N", "M"], mean: Tensor[f64, "M"], cov: Tensor[f64, "M", "M"], count: float
):
    for j in range(M):
        mean[j] = 0.0
        for i in range(N):
            mean[j] += data[i, j]
        mean[j] /= count
    for i, j in grid(N, M):
        data[i, j] -= mean[j]
    for i in range(M):
        for j in range(i, M):
            cov[i, j] = 0.0
            for k in range(N):
                cov[i, j] += data[k, i] * data[k, j]
            cov[i, j] /= count - 1.0
            cov[j, i] = cov[i, j]


@compute
def correlation(
    data: Tensor[f64, "N", "M"], mean: Tensor[f64, "M"], stddev: Tensor[f64, "M"],
    corr: Tensor[f64, "M", "M"], count: float,
):  # fmt: skip
    for j in range(M):
        mean[j] = 0.0
        for i in range(N):
            mean[j] += data[i, j]
        mean[j] /= count
    for j in range(M):
        stddev[j] = 0.0
        for i in range(N):
            stddev[j] += (data[i, j] - mean[j]) * (data[i, j] - mean[j])
        stddev[j] = math.sqrt(stddev[j] / count)
        stddev[j] = 1.0 if stddev[j] <= 0.1 else stddev[j]
    for i, j in grid(N, M):
        data[i, j] = (data[i, j] - mean[j]) / (math.sqrt(count) * stddev[j])
    for i in range(M):
        corr[i, i] = 1.0
        for j in range(i + 1, M):
            corr[i, j] = 0.0
            for k in range(N):
                corr[i, j] += data[k, i] * data[k, j]
            corr[j, i] = corr[i, j]


def _zeros(*shape):
    return np.zeros(shape)


def _lower(a):
    return np.tril(a) + np.tril(a, -1).T


def _statistics(rng, n, m):
    return {"data": rng.random((n, m)), "mean": _zeros(m)}


def _symmetric(v, product):
    lower = np.tril(v["beta"] * v["c"] + v["alpha"] * product)
    return {"c": lower + np.triu(v["c"], 1)}


def _doitgen(v):
    product = np.einsum("rqs,sp->rqp", v["a"], v["c4"])
    return {"a": product, "total": product}


PROGRAMS = {
    "gemm": Program(
        gemm,
        lambda rng, i, j, k: {
            "a": rng.random((i, k)), "b": rng.random((k, j)), "c": rng.random((i, j)),
            "alpha": 1.5, "beta": 1.2,
        },
        (10, 12, 14), (1000, 1100, 1200),
        lambda v: {"c": v["alpha"] * v["a"] @ v["b"] + v["beta"] * v["c"]},
    ),
    "2mm": Program(
        two_products,
        lambda rng, i, j, k, l: {
            "a": rng.random((i, k)), "b": rng.random((k, j)), "tmp": _zeros(i, j),
            "c": rng.random((j, l)), "d": rng.random((i, l)), "alpha": 1.5, "beta": 1.2,
        },
        (8, 9, 11, 12), (800, 900, 1100, 1200),
        lambda v: {"d": v["alpha"] * v["a"] @ v["b"] @ v["c"] + v["beta"] * v["d"]},
    ),
    "3mm": Program(
        three_products,
        lambda rng, i, j, k, l, m: {
            "a": rng.random((i, k)), "b": rng.random((k, j)), "c": rng.random((j, m)),
            "d": rng.random((m, l)), "e": _zeros(i, j), "f": _zeros(j, l), "g": _zeros(i, l),
        },
        (8, 9, 10, 11, 12), (800, 900, 1000, 1100, 1200),
        lambda v: {"g": (v["a"] @ v["b"]) @ (v["c"] @ v["d"])},
    ),
    "symm": Program(
        symm,
        lambda rng, m, n: {
            "a": rng.random((m, m)), "b": rng.random((m, n)), "c": rng.random((m, n)),
            "alpha": 1.5, "beta": 1.2,
        },
        (10, 12), (1000, 1200),
        lambda v: {"c": v["alpha"] * _lower(v["a"]) @ v["b"] + v["beta"] * v["c"]},
    ),
    "syrk": Program(
        syrk,
        lambda rng, m, n: {
            "a": rng.random((n, m)), "c": rng.random((n, n)), "alpha": 1.5, "beta": 1.2,
        },
        (10, 12), (1000, 1200),
        lambda v: _symmetric(v, v["a"] @ v["a"].T),
    ),
    "syr2k": Program(
        syr2k,
        lambda rng, m, n: {
            "a": rng.random((n, m)), "b": rng.random((n, m)), "c": rng.random((n, n)),
            "alpha": 1.5, "beta": 1.2,
        },
        (10, 12), (1000, 1200),
        lambda v: _symmetric(v, v["a"] @ v["b"].T + v["b"] @ v["a"].T),
    ),
    "trmm": Program(
        trmm,
        lambda rng, m, n: {"a": rng.random((m, m)), "b": rng.random((m, n)), "alpha": 1.5},
        (10, 12), (1000, 1200),
        lambda v: {"b": v["alpha"] * (np.tril(v["a"], -1) + np.eye(len(v["a"]))).T @ v["b"]},
    ),
    "doitgen": Program(
        doitgen,
        lambda rng, q, r, p: {
            "a": rng.random((r, q, p)), "c4": rng.random((p, p)), "total": _zeros(r, q, p),
        },
        (5, 6, 7), (140, 150, 160),
        _doitgen,
    ),
    "covariance": Program(
        covariance,
        lambda rng, m, n: {**_statistics(rng, n, m), "cov": _zeros(m, m), "count": float(n)},
        (10, 12), (1200, 1400),
        lambda v: {"cov": np.cov(v["data"].T), "mean": v["data"].mean(0)},
    ),
    "correlation": Program(
        correlation,
        lambda rng, m, n: {
            **_statistics(rng, n, m), "stddev": _zeros(m), "corr": _zeros(m, m),
            "count": float(n),
        },
        (10, 12), (1200, 1400),
        lambda v: {"corr": np.corrcoef(v["data"].T), "stddev": v["data"].std(0)},
    ),
}  # fmt: skip
