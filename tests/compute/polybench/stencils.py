# ruff: noqa: F821  # extents are names that annotations define
"""Stencils, and filters that run along lines."""

from __future__ import annotations

import math

import numpy as np
from tests.compute.polybench.inputs import Program

from gridlane.compute import Tensor, compute, f64, grid


@compute
def jacobi_1d(a: Tensor[f64, "N"], b: Tensor[f64, "N"], times: int):
    for _t in range(times):
        for i in range(1, N - 1):
            b[i] = 0.33333 * (a[i - 1] + a[i] + a[i + 1])
        for i in range(1, N - 1):
            a[i] = 0.33333 * (b[i - 1] + b[i] + b[i + 1])


@compute
def jacobi_2d(a: Tensor[f64, "N", "N"], b: Tensor[f64, "N", "N"], times: int):
    for _t in range(times):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                b[i, j] = 0.2 * (a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + a[i - 1, j])
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                a[i, j] = 0.2 * (b[i, j] + b[i, j - 1] + b[i, j + 1] + b[i + 1, j] + b[i - 1, j])


@compute
def seidel_2d(a: Tensor[f64, "N", "N"], times: int):
    for _t in range(times):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                above = a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1]
                here = a[i, j - 1] + a[i, j] + a[i, j + 1]
                below = a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]
                a[i, j] = (above + here + below) / 9.0


@compute
def fdtd_2d(
    ex: Tensor[f64, "X", "Y"], ey: Tensor[f64, "X", "Y"], hz: Tensor[f64, "X", "Y"],
    fict: Tensor[f64, "T"],
):  # fmt: skip
    for t in range(T):
        for j in range(Y):
            ey[0, j] = fict[t]
        for i in range(1, X):
            for j in range(Y):
                ey[i, j] -= 0.5 * (hz[i, j] - hz[i - 1, j])
        for i in range(X):
            for j in range(1, Y):
                ex[i, j] -= 0.5 * (hz[i, j] - hz[i, j - 1])
        for i, j in grid(X - 1, Y - 1):
            hz[i, j] -= 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])


@compute
def heat_3d(a: Tensor[f64, "N", "N", "N"], b: Tensor[f64, "N", "N", "N"], times: int):
    for _t in range(times):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                for k in range(1, N - 1):
                    x = 0.125 * (a[i + 1, j, k] - 2.0 * a[i, j, k] + a[i - 1, j, k])
                    y = 0.125 * (a[i, j + 1, k] - 2.0 * a[i, j, k] + a[i, j - 1, k])
                    z = 0.125 * (a[i, j, k + 1] - 2.0 * a[i, j, k] + a[i, j, k - 1])
                    b[i, j, k] = x + y + z + a[i, j, k]
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                for k in range(1, N - 1):
                    x = 0.125 * (b[i + 1, j, k] - 2.0 * b[i, j, k] + b[i - 1, j, k])
                    y = 0.125 * (b[i, j + 1, k] - 2.0 * b[i, j, k] + b[i, j - 1, k])
                    z = 0.125 * (b[i, j, k + 1] - 2.0 * b[i, j, k] + b[i, j, k - 1])
                    a[i, j, k] = x + y + z + b[i, j, k]


@compute
def adi(
    u: Tensor[f64, "N", "N"], v: Tensor[f64, "N", "N"], p: Tensor[f64, "N", "N"],
    q: Tensor[f64, "N", "N"], times: int, a: float, d: float,
):  # fmt: skip
    for _t in range(times):
        for i in range(1, N - 1):
            v[0, i] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = v[0, i]
            for j in range(1, N - 1):
                w = a * p[i, j - 1] + 1.0 - 2.0 * a
                p[i, j] = -a / w
                s = (1.0 + 2.0 * d) * u[j, i] - d * u[j, i - 1] - d * u[j, i + 1]
                q[i, j] = (s - a * q[i, j - 1]) / w
            v[N - 1, i] = 1.0
            for j in range(N - 2, 0, -1):
                v[j, i] = p[i, j] * v[j + 1, i] + q[i, j]
        for i in range(1, N - 1):
            u[i, 0] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = u[i, 0]
            for j in range(1, N - 1):
                w = d * p[i, j - 1] + 1.0 - 2.0 * d
                p[i, j] = -d / w
                s = (1.0 + 2.0 * a) * v[i, j] - a * v[i - 1, j] - a * v[i + 1, j]
                q[i, j] = (s - d * q[i, j - 1]) / w
            u[i, N - 1] = 1.0
            for j in range(N - 2, 0, -1):
                u[i, j] = p[i, j] * u[i, j + 1] + q[i, j]


@compute
def deriche(
    image: Tensor[f64, "W", "H"], out: Tensor[f64, "W", "H"], y1: Tensor[f64, "W", "H"],
    y2: Tensor[f64, "W", "H"], alpha: float,
):  # fmt: skip
    e = math.exp(-alpha)
    k = (1.0 - e) * (1.0 - e) / (1.0 + 2.0 * alpha * e - math.exp(2.0 * alpha))
    a2 = k * e * (alpha - 1.0)
    a3 = k * e * (alpha + 1.0)
    b1 = math.pow(2.0, -alpha)
    for i in range(W):
        ym1 = ym2 = xm1 = 0.0
        for j in range(H):
            y1[i, j] = k * image[i, j] + a2 * xm1 + b1 * ym1 - e * e * ym2
            xm1 = image[i, j]
            ym2 = ym1
            ym1 = y1[i, j]
    for i in range(W):
        yp1 = yp2 = xp1 = xp2 = 0.0
        for j in range(H - 1, -1, -1):
            y2[i, j] = a3 * xp1 - k * e * e * xp2 + b1 * yp1 - e * e * yp2
            xp2 = xp1
            xp1 = image[i, j]
            yp2 = yp1
            yp1 = y2[i, j]
    for i, j in grid(W, H):
        out[i, j] = y1[i, j] + y2[i, j]
    for j in range(H):
        xm1 = ym1 = ym2 = 0.0
        for i in range(W):
            y1[i, j] = k * out[i, j] + a2 * xm1 + b1 * ym1 - e * e * ym2
            xm1 = out[i, j]
            ym2 = ym1
            ym1 = y1[i, j]
    for j in range(H):
        xp1 = xp2 = yp1 = yp2 = 0.0
        for i in range(W - 1, -1, -1):
            y2[i, j] = a3 * xp1 - k * e * e * xp2 + b1 * yp1 - e * e * yp2
            xp2 = xp1
            xp1 = out[i, j]
            yp2 = yp1
            yp1 = y2[i, j]
    for i, j in grid(W, H):
        out[i, j] = y1[i, j] + y2[i, j]


def _jacobi_1d(v):
    a, b = v["a"].copy(), v["b"].copy()
    for _ in range(v["times"]):
        b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.33333 * (b[:-2] + b[1:-1] + b[2:])
    return {"a": a, "b": b}


def _cross(a):
    return 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])


def _jacobi_2d(v):
    a, b = v["a"].copy(), v["b"].copy()
    for _ in range(v["times"]):
        b[1:-1, 1:-1] = _cross(a)
        a[1:-1, 1:-1] = _cross(b)
    return {"a": a, "b": b}


def _fdtd_2d(v):
    ex, ey, hz = v["ex"].copy(), v["ey"].copy(), v["hz"].copy()
    for value in v["fict"]:
        ey[0] = value
        ey[1:] -= 0.5 * np.diff(hz, axis=0)
        ex[:, 1:] -= 0.5 * np.diff(hz, axis=1)
        hz[:-1, :-1] -= 0.7 * (np.diff(ex, axis=1)[:-1] + np.diff(ey, axis=0)[:, :-1])
    return {"ex": ex, "ey": ey, "hz": hz}


def _moved(a):
    inside, total = a[1:-1, 1:-1, 1:-1], a[1:-1, 1:-1, 1:-1].copy()
    for axis in range(3):
        total += (
            0.125
            * np.diff(a, 2, axis=axis)[
                tuple([slice(None) if n == axis else slice(1, -1) for n in range(3)])
            ]
        )
    return total if inside.size else inside


def _heat_3d(v):
    a, b = v["a"].copy(), v["b"].copy()
    for _ in range(v["times"]):
        b[1:-1, 1:-1, 1:-1] = _moved(a)
        a[1:-1, 1:-1, 1:-1] = _moved(b)
    return {"a": a, "b": b}


def _both(rng, times, *shape):
    return {"a": rng.random(shape), "b": rng.random(shape), "times": times}


def _adi(rng, times, n):
    squares = {name: rng.random((n, n)) for name in ("u", "v", "p", "q")}
    return {**squares, "times": times, "a": -n * n / times, "d": -n * n / times / 2}


PROGRAMS = {
    "jacobi-1d": Program(
        jacobi_1d, lambda rng, times, n: _both(rng, times, n), (6, 30), (500, 2000), _jacobi_1d
    ),
    "jacobi-2d": Program(
        jacobi_2d, lambda rng, times, n: _both(rng, times, n, n), (4, 12), (100, 1300), _jacobi_2d
    ),
    "seidel-2d": Program(
        seidel_2d, lambda rng, times, n: {"a": rng.random((n, n)), "times": times},
        (4, 12), (20, 1000),
    ),
    "fdtd-2d": Program(
        fdtd_2d,
        lambda rng, times, x, y: {
            **{name: rng.random((x, y)) for name in ("ex", "ey", "hz")}, "fict": rng.random(times),
        },
        (4, 9, 11), (100, 1000, 1200), _fdtd_2d,
    ),
    "heat-3d": Program(
        heat_3d, lambda rng, times, n: _both(rng, times, n, n, n), (3, 8), (50, 120), _heat_3d
    ),
    "adi": Program(adi, _adi, (4, 12), (20, 1000)),
    "deriche": Program(
        deriche,
        lambda rng, w, h: {
            "image": rng.random((w, h)),
            **{name: np.zeros((w, h)) for name in ("out", "y1", "y2")}, "alpha": 0.25,
        },
        (12, 14), (2000, 1100),
    ),
}  # fmt: skip
