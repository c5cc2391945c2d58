"""Count the ways to place n queens: a depth-first search in each thread, on a local array."""

from __future__ import annotations

import argparse
import sys

import numpy as np
from numba import cuda, int32

from measure import milliseconds

MAX_QUEENS = 16
THREADS = 64
SOLUTIONS = (1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200)  # OEIS A000170


@cuda.jit(device=True)
def is_safe(columns, row, column):
    """Whether a queen at (row, column) is safe from the queens in the rows above."""
    for above in range(row):
        distance = row - above
        other = columns[above]
        if other == column or other == column - distance or other == column + distance:
            return False
    return True


@cuda.jit
def count_solutions(n, total):
    """Thread i tries all boards whose first two queens stand in columns i // n and i % n."""
    i = cuda.grid(1)
    if i >= n * n:
        return
    columns = cuda.local.array(MAX_QUEENS, int32)
    columns[0] = i // n
    columns[1] = i % n
    if not is_safe(columns, 1, columns[1]):
        return
    found = 0
    row = 2
    columns[row] = -1
    while row >= 2:
        columns[row] += 1
        if columns[row] == n:
            row -= 1  # no column is left here: go back a row
        elif is_safe(columns, row, columns[row]):
            if row == n - 1:
                found += 1
            else:
                row += 1
                columns[row] = -1
    cuda.atomic.add(total, 0, found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queens", type=int, default=9)
    args = parser.parse_args()
    if not 3 <= args.queens < len(SOLUTIONS):
        parser.error(f"--queens must be 3 to {len(SOLUTIONS) - 1}")

    n = args.queens
    total = cuda.to_device(np.zeros(1, np.int64))
    zero = np.zeros(1, np.int64)

    def launch() -> None:
        total.copy_to_device(zero)
        count_solutions[-(-n * n // THREADS), THREADS](n, total)

    time_ms = milliseconds(launch)
    got = int(total.copy_to_host()[0])
    if got != SOLUTIONS[n]:
        sys.exit(f"nqueens: wrong, {got} solutions and not {SOLUTIONS[n]}")
    print(f"nqueens: {n} queens, {got} solutions, {time_ms:.2f} ms")


if __name__ == "__main__":
    main()
