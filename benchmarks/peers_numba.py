"""The kernels as numba's njit(parallel=True, fastmath=True) takes them: loops over prange."""

from __future__ import annotations

import math

import numba
import numpy as np
from numba import njit, prange

from cases import (
    BINS,
    BODIES,
    ITERATIONS,
    MATRIX,
    OPTIONS,
    PICTURE,
    VECTOR,
    Inputs,
    Prepared,
)

F = np.float32


@njit(parallel=True, fastmath=True)
def vecadd(a, b, c):
    for i in prange(c.size):
        c[i] = a[i] + b[i]


@njit(parallel=True, fastmath=True)
def nbody(bodies, acc):
    for i in prange(bodies.shape[0]):
        x, y, z = bodies[i, 0], bodies[i, 1], bodies[i, 2]
        ax = ay = az = F(0.0)
        for j in range(bodies.shape[0]):
            dx = bodies[j, 0] - x
            dy = bodies[j, 1] - y
            dz = bodies[j, 2] - z
            inv = F(1.0) / math.sqrt(dx * dx + dy * dy + dz * dz + F(1e-3))
            w = bodies[j, 3] * inv * inv * inv
            ax += dx * w
            ay += dy * w
            az += dz * w
        acc[i, 0] = ax
        acc[i, 1] = ay
        acc[i, 2] = az
        acc[i, 3] = F(0.0)


@njit(parallel=True, fastmath=True)
def mandelbrot(counts, width, limit):
    for y in prange(width):
        for x in range(width):
            cr = F(-2.0) + F(3.0) * F(x) / F(width)
            ci = F(-1.5) + F(3.0) * F(y) / F(width)
            zr = zi = F(0.0)
            i = 0
            while i < limit:
                rr = zr * zr
                ii = zi * zi
                if rr + ii > F(4.0):
                    break
                zi = F(2.0) * zr * zi + ci
                zr = rr - ii + cr
                i += 1
            counts[y, x] = i


@njit(fastmath=True)
def normal_cdf(d):
    k = F(1.0) / (F(1.0) + F(0.2316419) * abs(d))
    poly = F(1.781477937) + k * (F(-1.821255978) + k * F(1.330274429))
    poly = F(0.31938153) + k * (F(-0.356563782) + k * poly)
    tail = F(0.39894228) * math.exp(F(-0.5) * d * d) * k * poly
    return F(1.0) - tail if d > F(0.0) else tail


@njit(parallel=True, fastmath=True)
def blackscholes(spot, strike, out):
    rate, volatility, t = F(0.02), F(0.3), F(1.0)
    spread = volatility * math.sqrt(t)
    for i in prange(spot.size):
        s, k = spot[i], strike[i]
        d1 = (math.log(s / k) + (rate + F(0.5) * volatility * volatility) * t) / spread
        d2 = d1 - spread
        n1 = normal_cdf(d1)
        n2 = normal_cdf(d2)
        discounted = k * math.exp(-rate * t)
        out[0, i] = s * n1 - discounted * n2
        out[1, i] = discounted * (F(1.0) - n2) - s * (F(1.0) - n1)


@njit(parallel=True, fastmath=True)
def matmul(a, b, c):
    n = a.shape[0]
    for i in prange(n):
        for j in range(n):
            c[i, j] = F(0.0)
        for k in range(n):
            factor = a[i, k]
            for j in range(n):
                c[i, j] += factor * b[k, j]


@njit(parallel=True, fastmath=True)
def reduction(values, out):
    total = F(0.0)
    for i in prange(values.size):
        total += values[i]
    out[0] = total


@njit(parallel=True, fastmath=True)
def histogram(values, out):
    """A histogram for each thread, then their sum."""
    parts = numba.get_num_threads()
    local = np.zeros((parts, BINS), np.int32)
    size = (values.size + parts - 1) // parts
    for part in prange(parts):
        for i in range(part * size, min(values.size, (part + 1) * size)):
            local[part, values[i] & 255] += 1
    out[:] = local.sum(0)


@njit
def tiny(a, b, c, n):
    for i in range(n):
        c[i] = a[i] + b[i]


_OUTPUTS: dict[str, tuple] = {
    "vecadd": (VECTOR, F),
    "nbody": ((BODIES, 4), F),
    "mandelbrot": ((PICTURE, PICTURE), np.int32),
    "blackscholes": ((2, OPTIONS), F),
    "matmul": ((MATRIX, MATRIX), F),
    "reduction": (1, F),
    "histogram": (BINS, np.int32),
}


def version() -> str:
    return numba.__version__


def prepare(name: str, inputs: Inputs) -> Prepared:
    out = np.zeros(*_OUTPUTS[name])
    function = globals()[name]
    integers = (np.int32(PICTURE), np.int32(ITERATIONS)) if name == "mandelbrot" else ()
    arguments = (*inputs.values(), out, *integers)
    return lambda: function(*arguments), out.copy


def launcher(size: int):
    """A call of a small compiled function with three arrays and an integer."""
    arrays = [np.ones(size, F) for _ in range(3)]
    return lambda: tiny(*arrays, size)
