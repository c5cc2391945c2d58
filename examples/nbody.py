"""Gravity between n bodies, every pair, with the bodies tiled through shared memory.

Draws the bodies after the last step with --out FILE.png.
"""

from __future__ import annotations

import argparse
import math
import sys

import numpy as np
from numba import cuda, float32

from measure import milliseconds
from png import to_bytes, write_png

TILE = 256
SOFTENING = np.float32(1e-3)  # keeps the force finite when two bodies meet


@cuda.jit(fastmath=True)
def accelerations(bodies, acc):
    """bodies: float32 (n, 4), x y z mass. acc: float32 (n, 3)."""
    tile = cuda.shared.array((TILE, 4), float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    n = bodies.shape[0]
    x = float32(0.0)
    y = float32(0.0)
    z = float32(0.0)
    if i < n:
        x = bodies[i, 0]
        y = bodies[i, 1]
        z = bodies[i, 2]
    ax = float32(0.0)
    ay = float32(0.0)
    az = float32(0.0)
    for start in range(0, n, TILE):
        j = start + t
        for column in range(4):
            # A body past the end has no mass, so it pulls at nothing.
            tile[t, column] = bodies[j, column] if j < n else float32(0.0)
        cuda.syncthreads()
        for k in range(TILE):
            dx = tile[k, 0] - x
            dy = tile[k, 1] - y
            dz = tile[k, 2] - z
            inverse = float32(1.0) / math.sqrt(dx * dx + dy * dy + dz * dz + SOFTENING)
            pull = tile[k, 3] * inverse * inverse * inverse
            ax += dx * pull
            ay += dy * pull
            az += dz * pull
        cuda.syncthreads()
    if i < n:
        acc[i, 0] = ax
        acc[i, 1] = ay
        acc[i, 2] = az


@cuda.jit
def advance(bodies, velocities, acc, dt):
    i = cuda.grid(1)
    if i < bodies.shape[0]:
        for axis in range(3):
            velocities[i, axis] += acc[i, axis] * dt
            bodies[i, axis] += velocities[i, axis] * dt


def disc_galaxy(n: int) -> tuple[np.ndarray, np.ndarray]:
    """A spinning disc: bodies (n, 4) with a total mass of 1, and velocities (n, 3)."""
    rng = np.random.default_rng(7)
    radius = 0.1 + 0.9 * np.sqrt(rng.random(n))
    angle = rng.random(n) * 2 * np.pi
    bodies = np.empty((n, 4), np.float32)
    bodies[:, 0] = radius * np.cos(angle)
    bodies[:, 1] = radius * np.sin(angle)
    bodies[:, 2] = rng.normal(0, 0.02, n)
    bodies[:, 3] = 1.0 / n
    # On a circle the speed balances the mass inside it, which grows with the radius squared.
    speed = np.sqrt(radius)
    velocities = np.zeros((n, 3), np.float32)
    velocities[:, 0] = -np.sin(angle) * speed
    velocities[:, 1] = np.cos(angle) * speed
    return bodies, velocities


def reference(bodies: np.ndarray) -> np.ndarray:
    """The accelerations in float64, a few rows at a time."""
    position, mass = bodies[:, :3].astype(np.float64), bodies[:, 3].astype(np.float64)
    acc = np.empty_like(position)
    for start in range(0, len(position), 256):
        d = position[None] - position[start : start + 256, None]
        r2 = (d * d).sum(-1) + float(SOFTENING)
        acc[start : start + 256] = (d * (mass * r2**-1.5)[..., None]).sum(1)
    return acc


def draw(path: str, bodies: np.ndarray, size: int = 720) -> None:
    """Bodies as points of light, seen from above."""
    extent = [[-1.6, 1.6], [-1.6, 1.6]]
    count, _, _ = np.histogram2d(bodies[:, 1], bodies[:, 0], bins=size, range=extent)
    glow = np.zeros((size, size))
    for shift, weight in ((0, 1.0), (1, 0.3), (2, 0.1)):
        for axis in (0, 1):
            glow += weight * (np.roll(count, shift, axis) + np.roll(count, -shift, axis))
    light = 1.0 - np.exp(-glow / max(glow.max(), 1.0) * 6.0)
    write_png(path, to_bytes(light[..., None] ** np.array([1.1, 0.9, 0.6])))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bodies", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--out", help="PNG file to draw")
    args = parser.parse_args()

    bodies, velocities = disc_galaxy(args.bodies)
    d_bodies, d_velocities = cuda.to_device(bodies), cuda.to_device(velocities)
    d_acc = cuda.device_array((args.bodies, 3), np.float32)
    grid = (args.bodies + TILE - 1) // TILE

    time_ms = milliseconds(lambda: accelerations[grid, TILE](d_bodies, d_acc))
    want, got = reference(bodies), d_acc.copy_to_host()
    error = np.abs(got - want).max() / np.abs(want).max()
    if not error < 1e-3:
        sys.exit(f"nbody: wrong, relative error {error:.1e}")

    for _ in range(args.steps):
        accelerations[grid, TILE](d_bodies, d_acc)
        advance[grid, TILE](d_bodies, d_velocities, d_acc, np.float32(0.01))
    moved = d_bodies.copy_to_host()
    if not np.isfinite(moved).all():
        sys.exit("nbody: wrong, a position is not finite")
    if args.out:
        draw(args.out, moved)
    print(f"nbody: {args.bodies} bodies, relative error {error:.1e}, {time_ms:.2f} ms a step")


if __name__ == "__main__":
    main()
