"""Conway's game of life over actors: each has a strip of rows, and sends its outer rows to those
above and below. Nobody waits for all of them: a strip goes on as soon as it has both rows."""

from __future__ import annotations

import argparse
import os
import sys
import time

import numpy as np

from gridlane import actors, cuda
from gridlane.cuda import int32, uint8
from measure import milliseconds
from png import write_png

WIDTH = 128
ABOVE, BELOW = 0, 1


@actors.message
class Row:
    generation: int32
    place: int32  # of the receiver: the row above its own, or below
    cells: uint8[WIDTH]


@actors.state
class Strip:
    generation: int32
    last: int32
    rows_here: int32[2]  # by the parity of the generation


@actors.kernel(state=Strip, threads=WIDTH)
def strip(ctx, state, row: Row, cells, outer, neighbours):
    """A thread for each column. cells: uint8 (2, height, WIDTH), outer: uint8 (2, 2, WIDTH), both
    by the parity of the generation; neighbours: the numbers of the strips above and below."""
    x = ctx.thread
    parity = row.generation & 1
    outer[parity, row.place, x] = row.cells[x]
    if x == 0:
        state.rows_here[parity] += 1
    cuda.syncthreads()
    now = state.generation & 1
    is_ready = state.rows_here[now] == 2
    cuda.syncthreads()
    if not is_ready:
        return
    height = cells.shape[1]
    for y in range(height):
        alive = 0
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                column = (x + dx) & (WIDTH - 1)
                if y + dy < 0:
                    alive += outer[now, ABOVE, column]
                elif y + dy == height:
                    alive += outer[now, BELOW, column]
                else:
                    alive += cells[now, y + dy, column]
        own = cells[now, y, x]
        cells[1 - now, y, x] = 1 if alive == 3 or (alive == 4 and own == 1) else 0
    cuda.syncthreads()
    if x == 0:
        state.rows_here[now] = 0
        state.generation += 1
        if state.generation < state.last:
            rows = cuda.local.array(1, Row)
            rows[0].generation = state.generation
            for side in range(2):  # the first row is the one below the strip above
                rows[0].place = BELOW if side == ABOVE else ABOVE
                for i in range(WIDTH):
                    rows[0].cells[i] = cells[1 - now, 0 if side == ABOVE else height - 1, i]
                ctx.send_to(neighbours[side], rows[0])


def reference(board: np.ndarray, generations: int) -> np.ndarray:
    for _ in range(generations):
        neighbours = sum(
            np.roll(board, (dy, dx), (0, 1)) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dx or dy
        )
        board = ((neighbours == 3) | ((neighbours == 2) & (board == 1))).astype(np.uint8)
    return board


def play(runtime: actors.Runtime, board: np.ndarray, strips: int, generations: int) -> np.ndarray:
    """The board after some generations; its rows are a multiple of the strips."""
    height = len(board) // strips
    parts = board.reshape(strips, height, WIDTH)
    refs = []
    for part in parts:
        cells = np.stack([part, part])
        arrays = cells, np.zeros((2, 2, WIDTH), np.uint8), np.zeros(2, np.uint64)
        state = Strip(0, generations, np.zeros(2, np.int32))
        refs.append(runtime.launch(strip, name=f"strip{len(refs)}", args=arrays, state=state))
    for n, ref in enumerate(refs):
        ids = [refs[(n + side) % strips].id for side in (-1, 1)]
        ref.arrays[2].copy_to_device(np.array(ids, np.uint64))
    for n, ref in enumerate(refs):
        ref.activate()
        ref.send(Row(0, ABOVE, parts[n - 1, -1]), replies=False)
        ref.send(Row(0, BELOW, parts[(n + 1) % strips, 0]), replies=False)
    for ref in refs:
        while ref.read_state().generation < generations:
            time.sleep(0.0002)
    result = [ref.arrays[0].copy_to_host()[generations & 1] for ref in refs]
    for ref in refs:
        ref.terminate()
    return np.concatenate(result)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default=os.environ.get("GRIDLANE_DEVICE", "cpu"))
    parser.add_argument("--strips", type=int, default=8)
    parser.add_argument("--height", type=int, default=16, help="rows of a strip")
    parser.add_argument("--generations", type=int, default=100)
    parser.add_argument("--out", help="PNG file to draw")
    args = parser.parse_args()

    shape = args.strips * args.height, WIDTH
    board = (np.random.default_rng(5).random(shape) < 0.3).astype(np.uint8)
    result = [board]
    with actors.Runtime(device=args.device) as runtime:

        def run() -> None:
            result[0] = play(runtime, board, args.strips, args.generations)

        time_ms = milliseconds(run)
        dead = runtime.dead_letters()
    wrong = int((result[0] != reference(board, args.generations)).sum())
    if wrong or dead:
        sys.exit(f"actors_life: wrong, {wrong} cells differ from numpy, {len(dead)} dead letters")
    if args.out:
        write_png(args.out, result[0] * np.uint8(255))
    print(
        f"actors_life: {args.strips} strips of {args.height}x{WIDTH}, {args.generations} "
        f"generations, {int(result[0].sum())} alive, {time_ms:.1f} ms"
    )


if __name__ == "__main__":
    main()
