"""The kernels in Taichi, on its CPU backend, over numpy arrays."""

import numpy as np
import taichi as ti

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

ti.init(arch=ti.cpu, fast_math=True, log_level=ti.ERROR)

# Taichi reads these annotations as objects, so this file has no `from __future__` line.
FLOATS = ti.types.ndarray(dtype=ti.f32, ndim=1)
FLOATS_2D = ti.types.ndarray(dtype=ti.f32, ndim=2)
INTS = ti.types.ndarray(dtype=ti.i32, ndim=1)
INTS_2D = ti.types.ndarray(dtype=ti.i32, ndim=2)


@ti.kernel
def vecadd(a: FLOATS, b: FLOATS, c: FLOATS):
    for i in range(c.shape[0]):
        c[i] = a[i] + b[i]


@ti.kernel
def nbody(bodies: FLOATS_2D, acc: FLOATS_2D):
    for i in range(bodies.shape[0]):
        x, y, z = bodies[i, 0], bodies[i, 1], bodies[i, 2]
        ax, ay, az = 0.0, 0.0, 0.0
        for j in range(bodies.shape[0]):
            dx = bodies[j, 0] - x
            dy = bodies[j, 1] - y
            dz = bodies[j, 2] - z
            inv = 1.0 / ti.sqrt(dx * dx + dy * dy + dz * dz + 1e-3)
            w = bodies[j, 3] * inv * inv * inv
            ax += dx * w
            ay += dy * w
            az += dz * w
        acc[i, 0] = ax
        acc[i, 1] = ay
        acc[i, 2] = az
        acc[i, 3] = 0.0


@ti.kernel
def mandelbrot(counts: INTS_2D, width: ti.i32, limit: ti.i32):
    for y, x in ti.ndrange(width, width):
        cr = -2.0 + 3.0 * x / width
        ci = -1.5 + 3.0 * y / width
        zr = 0.0
        zi = 0.0
        i = 0
        while i < limit:
            rr = zr * zr
            ii = zi * zi
            if rr + ii > 4.0:
                break
            zi = 2.0 * zr * zi + ci
            zr = rr - ii + cr
            i += 1
        counts[y, x] = i


@ti.func
def normal_cdf(d):
    k = 1.0 / (1.0 + 0.2316419 * ti.abs(d))
    poly = 1.781477937 + k * (-1.821255978 + k * 1.330274429)
    poly = 0.31938153 + k * (-0.356563782 + k * poly)
    tail = 0.39894228 * ti.exp(-0.5 * d * d) * k * poly
    return ti.select(d > 0.0, 1.0 - tail, tail)


@ti.kernel
def blackscholes(spot: FLOATS, strike: FLOATS, out: FLOATS_2D):
    for i in range(spot.shape[0]):
        s, k = spot[i], strike[i]
        spread = 0.3
        d1 = (ti.log(s / k) + (0.02 + 0.5 * 0.3 * 0.3)) / spread
        d2 = d1 - spread
        n1 = normal_cdf(d1)
        n2 = normal_cdf(d2)
        discounted = k * ti.exp(-0.02)
        out[0, i] = s * n1 - discounted * n2
        out[1, i] = discounted * (1.0 - n2) - s * (1.0 - n1)


@ti.kernel
def matmul(a: FLOATS_2D, b: FLOATS_2D, c: FLOATS_2D):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            c[i, j] = 0.0
        for k in range(a.shape[1]):
            factor = a[i, k]
            for j in range(b.shape[1]):
                c[i, j] += factor * b[k, j]


@ti.kernel
def reduction(values: FLOATS, out: FLOATS):
    total = 0.0
    for i in range(values.shape[0]):
        total += values[i]
    out[0] = total


@ti.kernel
def histogram(values: INTS, out: INTS):
    for i in range(values.shape[0]):
        ti.atomic_add(out[values[i] & 255], 1)


_OUTPUTS: dict[str, tuple] = {
    "vecadd": (VECTOR, np.float32),
    "nbody": ((BODIES, 4), np.float32),
    "mandelbrot": ((PICTURE, PICTURE), np.int32),
    "blackscholes": ((2, OPTIONS), np.float32),
    "matmul": ((MATRIX, MATRIX), np.float32),
    "reduction": (1, np.float32),
    "histogram": (BINS, np.int32),
}


def version() -> str:
    return ".".join(str(part) for part in ti.__version__)


def prepare(name: str, inputs: Inputs) -> Prepared:
    out = np.zeros(*_OUTPUTS[name])
    kernel = globals()[name]
    integers = (PICTURE, ITERATIONS) if name == "mandelbrot" else ()
    arguments = (*inputs.values(), out, *integers)

    def result() -> np.ndarray:
        if name == "histogram":
            out[:] = 0
            kernel(*arguments)
        return out.copy()

    return lambda: kernel(*arguments), result
