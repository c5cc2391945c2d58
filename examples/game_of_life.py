"""Conway's game of life on a torus; a block loads its cells and a border to shared memory."""

from __future__ import annotations

import argparse
import sys

import numpy as np
from numba import cuda, uint8

from measure import milliseconds
from png import write_png

EDGE = 16
HALO = EDGE + 2


@cuda.jit
def generation(old, new):
    """old, new: uint8 (height, width), 1 for a living cell."""
    cells = cuda.shared.array((HALO, HALO), uint8)
    height, width = old.shape
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    left = cuda.blockIdx.x * EDGE - 1
    top = cuda.blockIdx.y * EDGE - 1
    # 18x18 cells for 16x16 threads: each thread loads one or two.
    for cell in range(ty * EDGE + tx, HALO * HALO, EDGE * EDGE):
        row, column = cell // HALO, cell % HALO
        cells[row, column] = old[(top + row) % height, (left + column) % width]
    cuda.syncthreads()
    x, y = cuda.grid(2)
    if x < width and y < height:
        alive = 0
        for dy in range(3):
            for dx in range(3):
                if not (dx == 1 and dy == 1):
                    alive += cells[ty + dy, tx + dx]
        new[y, x] = 1 if alive == 3 or (alive == 2 and cells[ty + 1, tx + 1]) else 0


def reference(board: np.ndarray, generations: int) -> np.ndarray:
    for _ in range(generations):
        neighbours = sum(
            np.roll(board, (dy, dx), (0, 1)) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dx or dy
        )
        board = ((neighbours == 3) | ((neighbours == 2) & (board == 1))).astype(np.uint8)
    return board


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--width", type=int, default=1000)
    parser.add_argument("--height", type=int, default=600)
    parser.add_argument("--generations", type=int, default=50)
    parser.add_argument("--out", help="PNG file to draw")
    args = parser.parse_args()

    board = (np.random.default_rng(5).random((args.height, args.width)) < 0.3).astype(np.uint8)
    grid = (-(-args.width // EDGE), -(-args.height // EDGE))
    result = [board]

    def play() -> None:
        old, new = cuda.to_device(board), cuda.device_array_like(board)
        for _ in range(args.generations):
            generation[grid, (EDGE, EDGE)](old, new)
            old, new = new, old
        result.append(old.copy_to_host())

    time_ms = milliseconds(play)
    wrong = int((result[-1] != reference(board, args.generations)).sum())
    if wrong:
        sys.exit(f"game_of_life: wrong, {wrong} cells differ from numpy")
    if args.out:
        write_png(args.out, result[-1] * np.uint8(255))
    print(
        f"game_of_life: {args.width}x{args.height}, {args.generations} generations, "
        f"{int(result[-1].sum())} alive, {time_ms:.1f} ms"
    )


if __name__ == "__main__":
    main()
