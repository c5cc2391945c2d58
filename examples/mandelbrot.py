"""The Mandelbrot set: one thread a pixel, and neighbours leave the loop at different times."""

from __future__ import annotations

import argparse
import sys

import numpy as np
from numba import cuda, float32

from measure import milliseconds
from png import to_bytes, write_png

BLOCK = (16, 16)


@cuda.jit(device=True)
def escape_time(cr, ci, limit):
    """Iterations of z = z*z + c before |z| exceeds 2, at most `limit`."""
    zr = float32(0.0)
    zi = float32(0.0)
    for i in range(limit):
        rr = zr * zr
        ii = zi * zi
        if rr + ii > float32(4.0):
            return i
        zi = float32(2.0) * zr * zi + ci
        zr = rr - ii + cr
    return limit


@cuda.jit(fastmath=True)
def mandelbrot(counts, left, top, step, limit):
    """counts: int32 (height, width). left, top, step: float32, the pixel grid in the plane."""
    x, y = cuda.grid(2)
    if x < counts.shape[1] and y < counts.shape[0]:
        counts[y, x] = escape_time(left + step * float32(x), top + step * float32(y), limit)


def reference(shape: tuple[int, int], left, top, step, limit: int) -> np.ndarray:
    height, width = shape
    c = (left + step * np.arange(width, dtype=np.float32))[None, :] + 1j * (
        top + step * np.arange(height, dtype=np.float32)
    )[:, None]
    c = c.astype(np.complex64)
    z = np.zeros_like(c)
    counts = np.full(shape, limit, np.int32)
    alive = np.ones(shape, bool)
    for i in range(limit):
        escaped = alive & (z.real**2 + z.imag**2 > 4)
        counts[escaped] = i
        alive &= ~escaped
        z[alive] = z[alive] ** 2 + c[alive]
    return counts


def draw(path: str, counts: np.ndarray, limit: int) -> None:
    """Colour by the logarithm of the escape time, the set itself in black."""
    phase = 3.0 * np.log1p(counts)[..., None] + np.array([0.4, 1.2, 2.1])
    colours = 0.5 - 0.5 * np.cos(phase)
    colours[counts == limit] = 0.0
    write_png(path, to_bytes(colours))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--height", type=int, default=512)
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--out", help="PNG file to draw")
    args = parser.parse_args()

    shape = (args.height, args.width)
    step = np.float32(3.0 / args.width)
    left, top = np.float32(-2.2), np.float32(-step * args.height / 2)
    counts = cuda.device_array(shape, np.int32)
    grid = tuple(
        (size + edge - 1) // edge
        for size, edge in zip((args.width, args.height), BLOCK, strict=True)
    )
    time_ms = milliseconds(
        lambda: mandelbrot[grid, BLOCK](counts, left, top, step, np.int32(args.iterations))
    )
    got = counts.copy_to_host()
    want = reference(shape, left, top, step, args.iterations)
    # Next to the set's border one rounding decides; a fused multiply-add rounds once less.
    same = float((got == want).mean())
    if same < 0.98:
        sys.exit(f"mandelbrot: wrong, {same:.1%} of the pixels agree with numpy")
    if args.out:
        draw(args.out, got, args.iterations)
    print(f"mandelbrot: {args.width}x{args.height}, {same:.2%} as numpy, {time_ms:.2f} ms")


if __name__ == "__main__":
    main()
