"""The kernels in Warp, on its CPU device, where one thread computes one output."""

from __future__ import annotations

import numpy as np
import warp as wp

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

wp.config.quiet = True
wp.config.verify_cuda = False
wp.init()
wp.set_module_options({"fast_math": True, "enable_backward": False})

FLOATS = wp.array(dtype=wp.float32)
INTS = wp.array(dtype=wp.int32)
MATRIX_OF_FLOATS = wp.array2d(dtype=wp.float32)


@wp.kernel
def vecadd(a: FLOATS, b: FLOATS, c: FLOATS):
    i = wp.tid()
    c[i] = a[i] + b[i]


@wp.kernel
def nbody(bodies: wp.array(dtype=wp.vec4), acc: wp.array(dtype=wp.vec4), n: int):
    i = wp.tid()
    me = bodies[i]
    ax = float(0.0)
    ay = float(0.0)
    az = float(0.0)
    for j in range(n):
        other = bodies[j]
        dx = other[0] - me[0]
        dy = other[1] - me[1]
        dz = other[2] - me[2]
        inv = 1.0 / wp.sqrt(dx * dx + dy * dy + dz * dz + 1.0e-3)
        w = other[3] * inv * inv * inv
        ax += dx * w
        ay += dy * w
        az += dz * w
    acc[i] = wp.vec4(ax, ay, az, 0.0)


@wp.kernel
def mandelbrot(counts: wp.array2d(dtype=wp.int32), width: int, limit: int):
    y, x = wp.tid()
    cr = -2.0 + 3.0 * float(x) / float(width)
    ci = -1.5 + 3.0 * float(y) / float(width)
    zr = float(0.0)
    zi = float(0.0)
    i = int(0)
    while i < limit:
        rr = zr * zr
        ii = zi * zi
        if rr + ii > 4.0:
            break
        zi = 2.0 * zr * zi + ci
        zr = rr - ii + cr
        i += 1
    counts[y, x] = i


@wp.func
def normal_cdf(d: float):
    k = 1.0 / (1.0 + 0.2316419 * wp.abs(d))
    poly = 1.781477937 + k * (-1.821255978 + k * 1.330274429)
    poly2 = 0.31938153 + k * (-0.356563782 + k * poly)
    tail = 0.39894228 * wp.exp(-0.5 * d * d) * k * poly2
    return wp.where(d > 0.0, 1.0 - tail, tail)


@wp.kernel
def blackscholes(spot: FLOATS, strike: FLOATS, out: MATRIX_OF_FLOATS):
    i = wp.tid()
    s = spot[i]
    k = strike[i]
    spread = 0.3
    d1 = (wp.log(s / k) + (0.02 + 0.5 * 0.3 * 0.3)) / spread
    d2 = d1 - spread
    n1 = normal_cdf(d1)
    n2 = normal_cdf(d2)
    discounted = k * wp.exp(-0.02)
    out[0, i] = s * n1 - discounted * n2
    out[1, i] = discounted * (1.0 - n2) - s * (1.0 - n1)


@wp.kernel
def matmul(a: MATRIX_OF_FLOATS, b: MATRIX_OF_FLOATS, c: MATRIX_OF_FLOATS, n: int):
    y, x = wp.tid()
    total = float(0.0)
    for k in range(n):
        total += a[y, k] * b[k, x]
    c[y, x] = total


@wp.kernel
def reduction(values: FLOATS, sums: FLOATS, n: int, stride: int):
    t = wp.tid()
    total = float(0.0)
    i = int(t)
    while i < n:
        total += values[i]
        i += stride
    sums[t] = total


@wp.kernel
def histogram(values: INTS, counts: INTS):
    i = wp.tid()
    wp.atomic_add(counts, values[i] & 255, 1)


@wp.kernel
def tiny(a: FLOATS, b: FLOATS, c: FLOATS, n: int):
    i = wp.tid()
    if i < n:
        c[i] = a[i] + b[i]


LANES = 1024  # of the reduction: partial sums, added up on the host
# Dimensions, output shape and dtype, the integers that the kernel takes last.
_LAUNCH: dict[str, tuple] = {
    "vecadd": (VECTOR, VECTOR, wp.float32, []),
    "nbody": (BODIES, BODIES, wp.vec4, [BODIES]),
    "mandelbrot": ((PICTURE, PICTURE), (PICTURE, PICTURE), wp.int32, [PICTURE, ITERATIONS]),
    "blackscholes": (OPTIONS, (2, OPTIONS), wp.float32, []),
    "matmul": ((MATRIX, MATRIX), (MATRIX, MATRIX), wp.float32, [MATRIX]),
    "reduction": (LANES, LANES, wp.float32, [VECTOR, LANES]),
    "histogram": (VECTOR, BINS, wp.int32, []),
}


def version() -> str:
    return wp.__version__


def prepare(name: str, inputs: Inputs) -> Prepared:
    dim, shape, dtype, integers = _LAUNCH[name]
    element = {"nbody": wp.vec4, "histogram": wp.int32}.get(name, wp.float32)
    ins = [wp.array(value, dtype=element, device="cpu") for value in inputs.values()]
    out = wp.zeros(shape, dtype=dtype, device="cpu")
    kernel = globals()[name]

    def run() -> None:
        wp.launch(kernel, dim=dim, inputs=[*ins, out, *integers], device="cpu")

    def result() -> np.ndarray:
        if name == "histogram":
            out.zero_()
            run()
        return out.numpy().sum(keepdims=True) if name == "reduction" else out.numpy()

    return run, result


def launcher(size: int):
    """A launch of a small kernel with three arrays and an integer."""
    arrays = [wp.ones(size, dtype=wp.float32, device="cpu") for _ in range(3)]
    return lambda: wp.launch(tiny, dim=size, inputs=[*arrays, size], device="cpu")
