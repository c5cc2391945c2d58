"""Waves in a box by finite differences, driven by a source that moves while they run."""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time

import numpy as np

from gridlane import actors
from gridlane.cuda import float32, int32
from png import to_bytes, write_png

HALF_PERIOD = 6
"""Steps after which the source changes its sign."""


@actors.state
class Drive:
    z: int32
    y: int32
    x: int32
    strength: float32


@actors.message
class Move:
    z: int32
    y: int32
    x: int32
    strength: float32


@actors.lattice(fields={"u": float32, "before": float32}, neighbours=6, state=Drive)
def wave(ctx, drive, u, before, c):
    """The wave equation with seven points, leapfrog in time; c is (speed * dt / dx) ** 2."""
    here = u[0, 0, 0]
    around = u[0, 0, 1] + u[0, 0, -1] + u[0, 1, 0] + u[0, -1, 0] + u[1, 0, 0] + u[-1, 0, 0]
    new = 2 * here - before[0, 0, 0] + c * (around - 6 * here)
    if ctx.z == drive.z and ctx.y == drive.y and ctx.x == drive.x:
        if ctx.step // HALF_PERIOD % 2 == 0:
            new += drive.strength
        else:
            new -= drive.strength
    return new, here


@wave.on
def move(ctx, drive, message: Move):
    drive.z, drive.y, drive.x = message.z, message.y, message.x
    drive.strength = message.strength


def reference(size: int, steps: int, c: np.float32, moves: dict[int, list[Move]]) -> np.ndarray:
    """The same steps by numpy; ``moves`` are those before each step."""
    u, before = (np.zeros((size + 2,) * 3, np.float32) for _ in range(2))
    inner = (slice(1, -1),) * 3
    drive = Move(0, 0, 0, 0.0)
    for step in range(steps):
        drive = moves.get(step, [drive])[-1]
        here = u[inner]
        around = u[1:-1, 1:-1, 2:] + u[1:-1, 1:-1, :-2] + u[1:-1, 2:, 1:-1] + u[1:-1, :-2, 1:-1]
        around = around + u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1]
        new = np.float32(2) * here - before[inner] + c * (around - np.float32(6) * here)
        sign = 1 if step // HALF_PERIOD % 2 == 0 else -1
        new[drive.z, drive.y, drive.x] += np.float32(sign * drive.strength)
        u, before = before, u
        u[inner] = new
    return u[inner]


def path(size: int, count: int) -> list[Move]:
    """Places on a circle in the middle plane."""
    turns = np.arange(count) / max(1, count) * 2 * np.pi
    radius, middle = size / 4, size // 2
    return [
        Move(middle, int(middle + radius * np.sin(t)), int(middle + radius * np.cos(t)), 1.0)
        for t in turns
    ]


def run(ref: actors.LatticeRef, steps: int, moves: list[Move]) -> dict[int, list[Move]]:
    """Take the steps on a thread, move the source meanwhile; the moves before each step."""
    told = {ref.post(moves[0]): [moves[0]]}
    thread = threading.Thread(target=lambda: [ref.step(8) for _ in range(steps // 8)])
    thread.start()
    for each in moves[1:]:
        time.sleep(0.002)
        told.setdefault(ref.post(each), []).append(each)
    thread.join()
    ref.step(steps % 8)
    ref.wait()
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=64, help="cells along each axis")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--moves", type=int, default=12, help="places of the source")
    parser.add_argument("--device", default=os.environ.get("GRIDLANE_DEVICE", "cpu"))
    parser.add_argument("--out", help="PNG file to draw")
    args = parser.parse_args()

    c, shape = np.float32(0.2), (args.size,) * 3
    with actors.Runtime(device=args.device) as runtime:
        ref = runtime.lattice(wave, shape, args=(c,))
        ref.activate()
        ref.step(2 * HALF_PERIOD)  # compiles
        ref.write(u=0.0, before=0.0)
        first = ref.steps
        start = time.perf_counter()
        told = run(ref, args.steps, path(args.size, args.moves))
        time_ms = (time.perf_counter() - start) * 1e3
        u, mode = ref.read("u"), ref.mode

    moves = {step - first: each for step, each in told.items()}
    wrong = int((u != reference(args.size, args.steps, c, moves)).sum())
    if wrong:
        sys.exit(f"wave3d: wrong, {wrong} cells differ from numpy")
    if args.out:
        plane = u[args.size // 2]
        write_png(args.out, to_bytes(0.5 + plane / (4 * max(1e-9, float(np.abs(plane).std())))))
    print(
        f"wave3d: {args.size}^3 cells, {args.steps} steps, {mode}, the source moved before steps "
        f"{sorted(moves)}, {time_ms:.1f} ms"
    )


if __name__ == "__main__":
    main()
