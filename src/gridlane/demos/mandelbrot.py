"""The Mandelbrot set by a kernel: a thread a pixel."""

# pyright: reportMissingParameterType=false, reportPossiblyUnboundVariable=false

from __future__ import annotations

from argparse import Namespace

import numpy as np

from gridlane import cuda
from gridlane.demos import pictures
from gridlane.demos.checking import check, run

_LIMIT = 60


@cuda.jit
def escape_times(counts, step):
    """The iterations of z = z² + c until |z| exceeds 2. float64 ``step`` is a pixel's width."""
    x, y = cuda.grid(2)
    if x < counts.shape[1] and y < counts.shape[0]:
        re, im = -2.2 + step * x, -1.2 + step * y
        zr, zi, n = 0.0, 0.0, 0
        while n < _LIMIT and zr * zr + zi * zi <= 4.0:
            zr, zi = zr * zr - zi * zi + re, 2.0 * zr * zi + im
            n += 1
        counts[y, x] = n


def demo(options: Namespace) -> None:
    """Draw the set, ``size`` pixels high, and compare the counts of iterations with NumPy's."""
    height, width = options.size, options.size * 4 // 3
    step = 2.4 / height
    counts = cuda.device_array((height, width), np.int32)
    grid = -(-width // 16), -(-height // 16)
    escape_times[grid, (16, 16)](counts, step)
    got = counts.copy_to_host()

    c = (-2.2 + step * np.arange(width)) + 1j * (-1.2 + step * np.arange(height))[:, None]
    z, expected = np.zeros_like(c), np.zeros(c.shape, np.int32)
    for _ in range(_LIMIT):
        inside = z.real**2 + z.imag**2 <= 4.0
        expected += inside
        z = np.where(inside, z * z + c, z)

    print(pictures.text(np.log1p(got)))
    # At the edge one rounding decides, and a device may fuse a product and a sum.
    check("shares of pixels as NumPy's", [np.mean(got == expected)], [1.0], 0.01)
    if options.out:
        pictures.write(options.out, np.log1p(got))


if __name__ == "__main__":
    run(demo, size=240, draws=True)
