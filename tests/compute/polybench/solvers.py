# ruff: noqa: F821  # extents are names that annotations define
"""Factors of matrices, and systems of equations."""

from __future__ import annotations

import math

import numpy as np
from tests.compute.polybench.inputs import Program, spread

from gridlane.compute import Tensor, compute, f64


@compute
def cholesky(a: Tensor[f64, "N", "N"]):
    for i in range(N):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[j, k]
            a[i, j] /= a[j, j]
        for k in range(i):
            a[i, i] -= a[i, k] * a[i, k]
        a[i, i] = math.sqrt(a[i, i])


@compute
def lu(a: Tensor[f64, "N", "N"]):
    for i in range(N):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[k, j]
            a[i, j] /= a[j, j]
        for j in range(i, N):
            for k in range(i):
                a[i, j] -= a[i, k] * a[k, j]


@compute
def ludcmp(a: Tensor[f64, "N", "N"], b: Tensor[f64, "N"], x: Tensor[f64, "N"], y: Tensor[f64, "N"]):
    for i in range(N):
        for j in range(i):
            w = a[i, j]
            for k in range(j):
                w -= a[i, k] * a[k, j]
            a[i, j] = w / a[j, j]
        for j in range(i, N):
            w = a[i, j]
            for k in range(i):
                w -= a[i, k] * a[k, j]
            a[i, j] = w
    for i in range(N):
        w = b[i]
        for j in range(i):
            w -= a[i, j] * y[j]
        y[i] = w
    for i in range(N - 1, -1, -1):
        w = y[i]
        for j in range(i + 1, N):
            w -= a[i, j] * x[j]
        x[i] = w / a[i, i]


@compute
def trisolv(l: Tensor[f64, "N", "N"], x: Tensor[f64, "N"], b: Tensor[f64, "N"]):
    for i in range(N):
        x[i] = b[i]
        for j in range(i):
            x[i] -= l[i, j] * x[j]
        x[i] = x[i] / l[i, i]


@compute
def durbin(r: Tensor[f64, "N"], y: Tensor[f64, "N"], z: Tensor[f64, "N"]):
    y[0] = -r[0]
    beta = 1.0
    alpha = -r[0]
    for k in range(1, N):
        beta = (1.0 - alpha * alpha) * beta
        s = 0.0
        for i in range(k):
            s += r[k - i - 1] * y[i]
        alpha = -(r[k] + s) / beta
        for i in range(k):
            z[i] = y[i] + alpha * y[k - i - 1]
        for i in range(k):
            y[i] = z[i]
        y[k] = alpha


@compute
def gramschmidt(a: Tensor[f64, "M", "N"], r: Tensor[f64, "N", "N"], q: Tensor[f64, "M", "N"]):
    for k in range(N):
        norm = 0.0
        for i in range(M):
            norm += a[i, k] * a[i, k]
        r[k, k] = math.sqrt(norm)
        for i in range(M):
            q[i, k] = a[i, k] / r[k, k]
        for j in range(k + 1, N):
            r[k, j] = 0.0
            for i in range(M):
                r[k, j] += q[i, k] * a[i, j]
            for i in range(M):
                a[i, j] -= q[i, k] * r[k, j]


def _cholesky(v):
    return {"a": np.tril(np.linalg.cholesky(v["a"])) + np.triu(v["a"], 1)}


def _eliminated(a):
    a = a.copy()
    for k in range(len(a)):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


def _toeplitz(v):
    """Yule-Walker's equations: the Toeplitz matrix of 1, r[0], r[1] ... by y is -r."""
    r = v["r"]
    n = len(r)
    row = np.concatenate([[1.0], r[:-1]])
    matrix = row[abs(np.arange(n)[:, None] - np.arange(n))]
    return {"y": np.linalg.solve(matrix, -r)}


def _gramschmidt(v):
    q, r = np.linalg.qr(v["a"])
    signs = np.sign(np.diag(r))
    return {"q": q * signs, "r": r * signs[:, None]}


PROGRAMS = {
    "cholesky": Program(cholesky, lambda rng, n: {"a": spread(rng, n)}, (14,), (800,), _cholesky),
    "lu": Program(
        lu, lambda rng, n: {"a": spread(rng, n)}, (14,), (800,),
        lambda v: {"a": _eliminated(v["a"])},
    ),
    "ludcmp": Program(
        ludcmp,
        lambda rng, n: {
            "a": spread(rng, n), "b": rng.random(n), "x": np.zeros(n), "y": np.zeros(n),
        },
        (14,), (800,),
        lambda v: {"x": np.linalg.solve(v["a"], v["b"]), "a": _eliminated(v["a"])},
    ),
    "trisolv": Program(
        trisolv,
        lambda rng, n: {
            "l": rng.random((n, n)) / n + np.eye(n), "x": np.zeros(n), "b": rng.random(n),
        },
        (14,), (2000,),
        lambda v: {"x": np.linalg.solve(np.tril(v["l"]), v["b"])},
    ),
    "durbin": Program(
        durbin,
        lambda rng, n: {"r": rng.random(n) / n, "y": np.zeros(n), "z": np.zeros(n)},
        (14,), (2000,),
        _toeplitz,
    ),
    "gramschmidt": Program(
        gramschmidt,
        lambda rng, m, n: {
            "a": rng.random((m, n)) + np.eye(m, n), "r": np.zeros((n, n)), "q": np.zeros((m, n)),
        },
        (14, 10), (700, 600),
        _gramschmidt,
    ),
}  # fmt: skip
