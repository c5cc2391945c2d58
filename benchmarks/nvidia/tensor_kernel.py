"""C = A @ B on tensor cores, written with cuda.wmma and asynchronous copies."""

from __future__ import annotations

from typing import Any

from gridlane import cuda
from gridlane.cuda.types import float32

ROWS, COLUMNS = 128, 256
INNER = 64
"""The tile of a block, and how much of the inner extent it takes at a time."""
STAGES = 3
"""Tiles in shared memory: one is read, the others are on the way."""
PAD = 8
"""Elements behind each row, so that the rows of a fragment start in different banks."""
WARP_ROWS, WARP_COLUMNS = 64, 64
THREADS = 32 * (ROWS // WARP_ROWS) * (COLUMNS // WARP_COLUMNS)
BAND = 4
"""Rows of tiles that blocks work on together, so that these find their tiles of B in the cache."""

WIDTH_A, WIDTH_B = INNER + PAD, COLUMNS + PAD
STAGE_A, STAGE_B = ROWS * WIDTH_A, INNER * WIDTH_B
SHARED = 2 * STAGES * (STAGE_A + STAGE_B)
"""Bytes of shared memory of a block."""
SLICE = 16
"""The inner extent of a fragment."""
CHUNK = 8
"""Elements of an asynchronous copy: 16 bytes."""
PER_ROW_A, PER_ROW_B = INNER // CHUNK, COLUMNS // CHUNK
COPIES_A = ROWS * PER_ROW_A // THREADS
COPIES_B = INNER * PER_ROW_B // THREADS
STEP_A, STEP_B = THREADS // PER_ROW_A, THREADS // PER_ROW_B
"""Rows between the copies of a thread."""


def product(element: Any) -> Any:
    """The kernel for 16-bit floats. Extents are multiples of the tile's; the inner one is at least
    that of STAGES - 1 tiles.

    c = a @ b; sums are float32. Launch ``blocks(c)`` blocks of THREADS threads, with SHARED bytes.
    """

    @cuda.jit(device=True)
    def fetch(a, b, tiles_a, tiles_b, stage, row, column, k):
        """Start the copies of a stage: every thread's share of both tiles."""
        thread = cuda.threadIdx.x
        line, at = thread // PER_ROW_A, thread % PER_ROW_A * CHUNK
        for n in range(COPIES_A):
            to = stage * ROWS + line + n * STEP_A
            cuda.async_copy(tiles_a, (to, at), a, (row + line + n * STEP_A, k + at), CHUNK)
        line, at = thread // PER_ROW_B, thread % PER_ROW_B * CHUNK
        for n in range(COPIES_B):
            to = stage * INNER + line + n * STEP_B
            cuda.async_copy(tiles_b, (to, at), b, (k + line + n * STEP_B, column + at), CHUNK)

    @cuda.jit(launch_bounds=THREADS)
    def kernel(a, b, c):
        memory = cuda.shared.array(0, element)
        tiles_a = memory.reshape(STAGES * ROWS, WIDTH_A)
        tiles_b = memory[STAGES * STAGE_A :].reshape(STAGES * INNER, WIDTH_B)
        across = c.shape[1] // COLUMNS
        band = cuda.blockIdx.x // (BAND * across)
        height = min(BAND, c.shape[0] // ROWS - band * BAND)
        place = cuda.blockIdx.x % (BAND * across)
        row = (band * BAND + place % height) * ROWS
        column = place // height * COLUMNS
        warp = cuda.threadIdx.x // 32
        down = warp % (ROWS // WARP_ROWS) * WARP_ROWS
        right = warp // (ROWS // WARP_ROWS) * WARP_COLUMNS

        inner = a.shape[1]
        for n in range(STAGES - 1):
            fetch(a, b, tiles_a, tiles_b, n, row, column, n * INNER)
            cuda.async_commit()
        sums = cuda.wmma.fill((WARP_ROWS, WARP_COLUMNS), float32, 0)
        cuda.async_wait(STAGES - 2)
        cuda.syncthreads()
        left = cuda.wmma.load_a(tiles_a, (down, 0), (WARP_ROWS, SLICE))
        over = cuda.wmma.load_b(tiles_b, (0, right), (SLICE, WARP_COLUMNS))
        stage, free = 0, STAGES - 1
        for k in range((STAGES - 1) * INNER, inner + (STAGES - 1) * INNER, INNER):
            # While one slice is multiplied, the next one is loaded.
            for at in range(SLICE, INNER, SLICE):
                left_2 = cuda.wmma.load_a(tiles_a, (stage * ROWS + down, at), (WARP_ROWS, SLICE))
                over_2 = cuda.wmma.load_b(
                    tiles_b, (stage * INNER + at, right), (SLICE, WARP_COLUMNS)
                )
                if at == SLICE:
                    if k < inner:
                        fetch(a, b, tiles_a, tiles_b, free, row, column, k)
                    cuda.async_commit()
                sums = cuda.wmma.mma(left, over, sums)
                left, over = left_2, over_2
            # The stage that was read last is free behind this barrier, and the next one is there.
            cuda.async_wait(STAGES - 2)
            cuda.syncthreads()
            free = stage
            stage = 0 if stage == STAGES - 1 else stage + 1
            left_2 = cuda.wmma.load_a(tiles_a, (stage * ROWS + down, 0), (WARP_ROWS, SLICE))
            over_2 = cuda.wmma.load_b(tiles_b, (stage * INNER, right), (SLICE, WARP_COLUMNS))
            sums = cuda.wmma.mma(left, over, sums)
            left, over = left_2, over_2
        cuda.wmma.store(c, (row + down, column + right), cuda.wmma.convert(sums, element))

    return kernel


def blocks(c: Any) -> int:
    """Blocks for a result."""
    rows, columns = c.shape
    if rows % ROWS or columns % COLUMNS:
        raise ValueError(f"{rows}x{columns} is no multiple of {ROWS}x{COLUMNS}")
    return rows // ROWS * (columns // COLUMNS)
