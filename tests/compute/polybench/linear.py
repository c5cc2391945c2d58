# ruff: noqa: F821  # extents are names that annotations define
"""Products of matrices and vectors, and dynamic programs of integers."""

from __future__ import annotations

import numpy as np
from tests.compute.polybench.inputs import Program

from gridlane.compute import Tensor, compute, f64, grid, i32, parallel


@compute
def atax(a: Tensor[f64, "M", "N"], x: Tensor[f64, "N"], y: Tensor[f64, "N"], tmp: Tensor[f64, "M"]):
    for j in range(N):
        y[j] = 0.0
    for i in range(M):
        tmp[i] = 0.0
        for j in range(N):
            tmp[i] += a[i, j] * x[j]
        for j in range(N):
            y[j] += a[i, j] * tmp[i]


@compute
def bicg(
    a: Tensor[f64, "N", "M"], s: Tensor[f64, "M"], q: Tensor[f64, "N"], p: Tensor[f64, "M"],
    r: Tensor[f64, "N"],
):  # fmt: skip
    for j in range(M):
        s[j] = 0.0
    for i in range(N):
        q[i] = 0.0
        for j in range(M):
            s[j] += r[i] * a[i, j]
            q[i] += a[i, j] * p[j]


@compute
def mvt(
    x1: Tensor[f64, "N"], x2: Tensor[f64, "N"], y1: Tensor[f64, "N"], y2: Tensor[f64, "N"],
    a: Tensor[f64, "N", "N"],
):  # fmt: skip
    for i, j in grid(N, N):
        x1[i] += a[i, j] * y1[j]
    for i, j in grid(N, N):
        x2[i] += a[j, i] * y2[j]


@compute
def gemver(
    a: Tensor[f64, "N", "N"], u1: Tensor[f64, "N"], v1: Tensor[f64, "N"], u2: Tensor[f64, "N"],
    v2: Tensor[f64, "N"], w: Tensor[f64, "N"], x: Tensor[f64, "N"], y: Tensor[f64, "N"],
    z: Tensor[f64, "N"], alpha: float, beta: float,
):  # fmt: skip
    for i, j in grid(N, N):
        a[i, j] += u1[i] * v1[j] + u2[i] * v2[j]
    for i, j in grid(N, N):
        x[i] += beta * a[j, i] * y[j]
    for i in range(N):
        x[i] += z[i]
    for i, j in grid(N, N):
        w[i] += alpha * a[i, j] * x[j]


@compute
def gesummv(
    a: Tensor[f64, "N", "N"], b: Tensor[f64, "N", "N"], x: Tensor[f64, "N"], y: Tensor[f64, "N"],
    alpha: float, beta: float,
):  # fmt: skip
    for i in range(N):
        t = 0.0
        s = 0.0
        for j in range(N):
            t += a[i, j] * x[j]
            s += b[i, j] * x[j]
        y[i] = alpha * t + beta * s


@compute
def floyd_warshall(path: Tensor[i32, "N", "N"]):
    for k in range(N):
        for i, j in parallel(N, N):  # a path from k to itself is no shorter
            path[i, j] = min(path[i, j], path[i, k] + path[k, j])


@compute
def nussinov(seq: Tensor[i32, "N"], table: Tensor[i32, "N", "N"]):
    for i in range(N - 1, -1, -1):
        for j in range(i + 1, N):
            table[i, j] = max(table[i, j], table[i, j - 1])
            table[i, j] = max(table[i, j], table[i + 1, j])
            if i < j - 1:
                pair = 1 if seq[i] + seq[j] == 3 else 0
                table[i, j] = max(table[i, j], table[i + 1, j - 1] + pair)
            else:
                table[i, j] = max(table[i, j], table[i + 1, j - 1])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])


def _gemver(v):
    a = v["a"] + np.outer(v["u1"], v["v1"]) + np.outer(v["u2"], v["v2"])
    x = v["x"] + v["beta"] * a.T @ v["y"] + v["z"]
    return {"a": a, "x": x, "w": v["w"] + v["alpha"] * a @ x}


def _floyd_warshall(v):
    path = v["path"]
    for k in range(len(path)):
        path = np.minimum(path, path[:, k : k + 1] + path[k])
    return {"path": path}


def _nussinov(v):
    """The most pairs of each part of the sequence, by its definition from short to long parts."""
    seq, n = v["seq"], len(v["seq"])
    best = np.zeros((n, n), np.int32)
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            inner = best[i + 1, j - 1] if i + 1 <= j - 1 else 0
            inner += int(length > 1 and seq[i] + seq[j] == 3)
            best[i, j] = max(inner, *(best[i, k] + best[k + 1, j] for k in range(i, j)))
    return {"table": best}


PROGRAMS = {
    "atax": Program(
        atax,
        lambda rng, m, n: {
            "a": rng.random((m, n)), "x": rng.random(n), "y": np.zeros(n), "tmp": np.zeros(m),
        },
        (10, 12), (1900, 2100),
        lambda v: {"y": v["a"].T @ (v["a"] @ v["x"])},
    ),
    "bicg": Program(
        bicg,
        lambda rng, m, n: {
            "a": rng.random((n, m)), "s": np.zeros(m), "q": np.zeros(n), "p": rng.random(m),
            "r": rng.random(n),
        },
        (10, 12), (1900, 2100),
        lambda v: {"s": v["a"].T @ v["r"], "q": v["a"] @ v["p"]},
    ),
    "mvt": Program(
        mvt,
        lambda rng, n: {
            **{name: rng.random(n) for name in ("x1", "x2", "y1", "y2")}, "a": rng.random((n, n)),
        },
        (14,), (2000,),
        lambda v: {"x1": v["x1"] + v["a"] @ v["y1"], "x2": v["x2"] + v["a"].T @ v["y2"]},
    ),
    "gemver": Program(
        gemver,
        lambda rng, n: {
            "a": rng.random((n, n)),
            **{name: rng.random(n) for name in ("u1", "v1", "u2", "v2", "w", "x", "y", "z")},
            "alpha": 1.5, "beta": 1.2,
        },
        (14,), (2000,),
        _gemver,
    ),
    "gesummv": Program(
        gesummv,
        lambda rng, n: {
            "a": rng.random((n, n)), "b": rng.random((n, n)), "x": rng.random(n),
            "y": np.zeros(n), "alpha": 1.5, "beta": 1.2,
        },
        (14,), (1300,),
        lambda v: {"y": (v["alpha"] * v["a"] + v["beta"] * v["b"]) @ v["x"]},
    ),
    "floyd-warshall": Program(
        floyd_warshall,
        lambda rng, n: {"path": rng.integers(1, 999, (n, n), dtype=np.int32)},
        (16,), (700,),
        _floyd_warshall,
    ),
    "nussinov": Program(
        nussinov,
        lambda rng, n: {
            "seq": rng.integers(0, 4, n, dtype=np.int32), "table": np.zeros((n, n), np.int32),
        },
        (20,), (800,),
        _nussinov,
    ),
}  # fmt: skip
