# pyright: basic
"""PolyBench's programs for numba's parallel njit, by the same hand as ``polybench.c``.

``of(name)`` takes the arguments of the nest of that name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
from numba import prange

WIDE, NARROW = 256, 64

njit = numba.njit(parallel=True, fastmath=True, cache=False)
serial = numba.njit(fastmath=True)


@njit
def _product(a, b, c, alpha, beta):
    for i in prange(a.shape[0]):
        for j in range(b.shape[1]):
            c[i, j] *= beta
        for k in range(a.shape[1]):
            for j in range(b.shape[1]):
                c[i, j] += alpha * a[i, k] * b[k, j]


def gemm(a, b, c, alpha, beta):
    _product(a, b, c, alpha, beta)


def two_products(a, b, tmp, c, d, alpha, beta):
    _product(a, b, tmp, alpha, 0.0)
    _product(tmp, c, d, 1.0, beta)


def three_products(a, b, c, d, e, f, g):
    _product(a, b, e, 1.0, 0.0)
    _product(c, d, f, 1.0, 0.0)
    _product(e, f, g, 1.0, 0.0)


@njit
def symm(a, b, c, alpha, beta):
    m, n = c.shape
    for i in prange(m):
        for j in range(n):
            c[i, j] *= beta
        for k in range(i + 1):
            for j in range(n):
                c[i, j] += alpha * a[i, k] * b[k, j]
        for k in range(i + 1, m):
            for j in range(n):
                c[i, j] += alpha * a[k, i] * b[k, j]


@njit
def syrk(a, c, alpha, beta):
    for i in prange(len(c)):
        for j in range(i + 1):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * a[j, k]
            c[i, j] = beta * c[i, j] + alpha * s


@njit
def syr2k(a, b, c, alpha, beta):
    for i in prange(len(c)):
        for j in range(i + 1):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[j, k] * b[i, k] + b[j, k] * a[i, k]
            c[i, j] = beta * c[i, j] + alpha * s


@njit
def trmm(a, b, alpha):
    m, n = b.shape
    for i in range(m):
        for part in prange(-(-n // NARROW)):
            start, end = part * NARROW, min(part * NARROW + NARROW, n)
            for k in range(i + 1, m):
                for j in range(start, end):
                    b[i, j] += a[k, i] * b[k, j]
            for j in range(start, end):
                b[i, j] *= alpha


@njit
def doitgen(a, c4, total):
    for r in prange(a.shape[0]):
        for q in range(a.shape[1]):
            for p in range(a.shape[2]):
                total[r, q, p] = 0.0
            for s in range(a.shape[2]):
                for p in range(a.shape[2]):
                    total[r, q, p] += a[r, q, s] * c4[s, p]
            for p in range(a.shape[2]):
                a[r, q, p] = total[r, q, p]


@njit
def _means(data, mean, count):
    n, m = data.shape
    for part in prange(-(-m // NARROW)):
        start, end = part * NARROW, min(part * NARROW + NARROW, m)
        for j in range(start, end):
            mean[j] = 0.0
        for i in range(n):
            for j in range(start, end):
                mean[j] += data[i, j]
        for j in range(start, end):
            mean[j] /= count


@njit
def _pairs(data, out, first, by):
    n, m = data.shape
    for i in prange(m):
        for j in range(i + first, m):
            out[i, j] = 0.0
        for k in range(n):
            for j in range(i + first, m):
                out[i, j] += data[k, i] * data[k, j]
        for j in range(i + first, m):
            out[i, j] /= by
            out[j, i] = out[i, j]


@njit
def covariance(data, mean, cov, count):
    _means(data, mean, count)
    for i in prange(data.shape[0]):
        for j in range(data.shape[1]):
            data[i, j] -= mean[j]
    _pairs(data, cov, 0, count - 1.0)


@njit
def correlation(data, mean, stddev, corr, count):
    n, m = data.shape
    _means(data, mean, count)
    for part in prange(-(-m // NARROW)):
        start, end = part * NARROW, min(part * NARROW + NARROW, m)
        for j in range(start, end):
            stddev[j] = 0.0
        for i in range(n):
            for j in range(start, end):
                stddev[j] += (data[i, j] - mean[j]) * (data[i, j] - mean[j])
        for j in range(start, end):
            root = math.sqrt(stddev[j] / count)
            stddev[j] = 1.0 if root <= 0.1 else root
    for i in prange(n):
        for j in range(m):
            data[i, j] = (data[i, j] - mean[j]) / (math.sqrt(count) * stddev[j])
    _pairs(data, corr, 1, 1.0)
    for i in range(m):
        corr[i, i] = 1.0


@njit
def _by_columns(a, x, y, by):
    """y += by * a^T x."""
    m, n = a.shape
    for part in prange(-(-n // WIDE)):
        start, end = part * WIDE, min(part * WIDE + WIDE, n)
        for i in range(m):
            for j in range(start, end):
                y[j] += by * a[i, j] * x[i]


@njit
def _by_rows(a, x, y, by):
    """y += by * a x."""
    for i in prange(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i, j] * x[j]
        y[i] += by * s


@njit
def atax(a, x, y, tmp):
    y[:] = 0.0
    tmp[:] = 0.0
    _by_rows(a, x, tmp, 1.0)
    _by_columns(a, tmp, y, 1.0)


@njit
def bicg(a, s, q, p, r):
    s[:] = 0.0
    q[:] = 0.0
    _by_columns(a, r, s, 1.0)
    _by_rows(a, p, q, 1.0)


@serial
def mvt(x1, x2, y1, y2, a):
    _by_rows(a, y1, x1, 1.0)
    _by_columns(a, y2, x2, 1.0)


@njit
def gemver(a, u1, v1, u2, v2, w, x, y, z, alpha, beta):
    for i in prange(len(a)):
        for j in range(len(a)):
            a[i, j] += u1[i] * v1[j] + u2[i] * v2[j]
    _by_columns(a, y, x, beta)
    for i in range(len(a)):
        x[i] += z[i]
    _by_rows(a, x, w, alpha)


@njit
def gesummv(a, b, x, y, alpha, beta):
    for i in prange(len(a)):
        t = s = 0.0
        for j in range(len(a)):
            t += a[i, j] * x[j]
            s += b[i, j] * x[j]
        y[i] = alpha * t + beta * s


@njit
def floyd_warshall(path):
    for k in range(len(path)):
        for i in prange(len(path)):
            for j in range(len(path)):
                path[i, j] = min(path[i, j], path[i, k] + path[k, j])


@njit
def nussinov(seq, table):
    n = len(seq)
    for d in range(1, n):
        for i in prange(n - d):
            j = i + d
            best = max(table[i, j], table[i, j - 1], table[i + 1, j])
            pair = 1 if d > 1 and seq[i] + seq[j] == 3 else 0
            best = max(best, table[i + 1, j - 1] + pair)
            for k in range(i + 1, j):
                best = max(best, table[i, k] + table[k + 1, j])
            table[i, j] = best


@njit
def cholesky(a):
    n = len(a)
    for k in range(n):
        a[k, k] = math.sqrt(a[k, k])
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
        for i in prange(k + 1, n):
            for j in range(k + 1, i + 1):
                a[i, j] -= a[i, k] * a[j, k]


@njit
def lu(a):
    n = len(a)
    for k in range(n):
        for i in prange(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]


@serial
def ludcmp(a, b, x, y):
    n = len(a)
    lu(a)
    for i in range(n):
        w = b[i]
        for j in range(i):
            w -= a[i, j] * y[j]
        y[i] = w
    for i in range(n - 1, -1, -1):
        w = y[i]
        for j in range(i + 1, n):
            w -= a[i, j] * x[j]
        x[i] = w / a[i, i]


@serial
def trisolv(lower, x, b):
    for i in range(len(x)):
        s = b[i]
        for j in range(i):
            s -= lower[i, j] * x[j]
        x[i] = s / lower[i, i]


@serial
def durbin(r, y, z):
    y[0] = alpha = -r[0]
    beta = 1.0
    for k in range(1, len(r)):
        beta *= 1.0 - alpha * alpha
        s = 0.0
        for i in range(k):
            s += r[k - i - 1] * y[i]
        alpha = -(r[k] + s) / beta
        for i in range(k):
            z[i] = y[i] + alpha * y[k - i - 1]
        for i in range(k):
            y[i] = z[i]
        y[k] = alpha


@njit
def gramschmidt(a, r, q):
    m, n = a.shape
    for k in range(n):
        norm = 0.0
        for i in range(m):
            norm += a[i, k] * a[i, k]
        r[k, k] = math.sqrt(norm)
        for i in range(m):
            q[i, k] = a[i, k] / r[k, k]
        for part in prange(-(-(n - k - 1) // NARROW)):
            start = k + 1 + part * NARROW
            end = min(start + NARROW, n)
            for j in range(start, end):
                r[k, j] = 0.0
            for i in range(m):
                for j in range(start, end):
                    r[k, j] += q[i, k] * a[i, j]
            for i in range(m):
                for j in range(start, end):
                    a[i, j] -= q[i, k] * r[k, j]


@serial
def jacobi_1d(a, b, times):
    for _ in range(times):
        for i in range(1, len(a) - 1):
            b[i] = 0.33333 * (a[i - 1] + a[i] + a[i + 1])
        for i in range(1, len(a) - 1):
            a[i] = 0.33333 * (b[i - 1] + b[i] + b[i + 1])


@njit
def _cross(a, b):
    for i in prange(1, len(a) - 1):
        for j in range(1, len(a) - 1):
            b[i, j] = 0.2 * (a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + a[i - 1, j])


@serial
def jacobi_2d(a, b, times):
    for _ in range(times):
        _cross(a, b)
        _cross(b, a)


@serial
def seidel_2d(a, times):
    n = len(a)
    for _ in range(times):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                above = a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1]
                here = a[i, j - 1] + a[i, j] + a[i, j + 1]
                below = a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]
                a[i, j] = (above + here + below) / 9.0


@njit
def fdtd_2d(ex, ey, hz, fict):
    x, y = hz.shape
    for t in range(len(fict)):
        for j in range(y):
            ey[0, j] = fict[t]
        for i in prange(1, x):
            for j in range(y):
                ey[i, j] -= 0.5 * (hz[i, j] - hz[i - 1, j])
        for i in prange(x):
            for j in range(1, y):
                ex[i, j] -= 0.5 * (hz[i, j] - hz[i, j - 1])
        for i in prange(x - 1):
            for j in range(y - 1):
                hz[i, j] -= 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])


@njit
def _heated(a, b):
    n = len(a)
    for i in prange(1, n - 1):
        for j in range(1, n - 1):
            for k in range(1, n - 1):
                x = 0.125 * (a[i + 1, j, k] - 2.0 * a[i, j, k] + a[i - 1, j, k])
                y = 0.125 * (a[i, j + 1, k] - 2.0 * a[i, j, k] + a[i, j - 1, k])
                z = 0.125 * (a[i, j, k + 1] - 2.0 * a[i, j, k] + a[i, j, k - 1])
                b[i, j, k] = x + y + z + a[i, j, k]


@serial
def heat_3d(a, b, times):
    for _ in range(times):
        _heated(a, b)
        _heated(b, a)


@njit
def adi(u, v, p, q, times, a, d):
    n = len(u)
    for _ in range(times):
        for i in prange(1, n - 1):
            v[0, i] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = 1.0
            for j in range(1, n - 1):
                w = a * p[i, j - 1] + 1.0 - 2.0 * a
                p[i, j] = -a / w
                s = (1.0 + 2.0 * d) * u[j, i] - d * u[j, i - 1] - d * u[j, i + 1]
                q[i, j] = (s - a * q[i, j - 1]) / w
            v[n - 1, i] = 1.0
            for j in range(n - 2, 0, -1):
                v[j, i] = p[i, j] * v[j + 1, i] + q[i, j]
        for i in prange(1, n - 1):
            u[i, 0] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = 1.0
            for j in range(1, n - 1):
                w = d * p[i, j - 1] + 1.0 - 2.0 * d
                p[i, j] = -d / w
                s = (1.0 + 2.0 * a) * v[i, j] - a * v[i - 1, j] - a * v[i + 1, j]
                q[i, j] = (s - d * q[i, j - 1]) / w
            u[i, n - 1] = 1.0
            for j in range(n - 2, 0, -1):
                u[i, j] = p[i, j] * u[i, j + 1] + q[i, j]


@serial
def _filtered(x, y1, y2, k, a2, a3, a4, b1, b2):
    """The two passes of the filter along a line."""
    n = len(x)
    before = once = twice = 0.0
    for j in range(n):
        y1[j] = k * x[j] + a2 * before + b1 * once + b2 * twice
        before, twice, once = x[j], once, y1[j]
    behind = far = once = twice = 0.0
    for j in range(n - 1, -1, -1):
        y2[j] = a3 * behind + a4 * far + b1 * once + b2 * twice
        far, behind, twice, once = behind, x[j], once, y2[j]


@njit
def deriche(image, out, y1, y2, alpha):
    w, h = image.shape
    e = math.exp(-alpha)
    k = (1.0 - e) * (1.0 - e) / (1.0 + 2.0 * alpha * e - math.exp(2.0 * alpha))
    a2, a3, a4 = k * e * (alpha - 1.0), k * e * (alpha + 1.0), -k * e * e
    b1, b2 = math.pow(2.0, -alpha), -e * e
    for i in prange(w):
        _filtered(image[i], y1[i], y2[i], k, a2, a3, a4, b1, b2)
        for j in range(h):
            out[i, j] = y1[i, j] + y2[i, j]
    for j in prange(h):
        _filtered(out[:, j], y1[:, j], y2[:, j], k, a2, a3, a4, b1, b2)
    for i in prange(w):
        for j in range(h):
            out[i, j] = y1[i, j] + y2[i, j]


def of(name: str) -> Callable[..., Any]:
    """The program of a nest's name."""
    return globals()[name]
