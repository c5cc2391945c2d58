"""A merge sort: the place of each element is its own in its half, and its rank in the other."""

import numpy as np

from gridlane.compute import Tensor, compute, i32, parallel


@compute
def merged(x: Tensor[i32, "N"], out: Tensor[i32, "N"], width: int, steps: int):
    for i in parallel(N):
        half = i // width
        start = (half ^ 1) * width
        low = min(start, N)
        high = min(start + width, N)
        for _ in range(steps):
            middle = min((low + high) // 2, N - 1)
            is_before = x[middle] < x[i] or (x[middle] == x[i] and half % 2 == 1)
            step = low < high
            if step and is_before:
                low = middle + 1
            if step and not is_before:
                high = middle
        out[i - half % 2 * width + low - min(start, N)] = x[i]


def main(size: int = 1000) -> None:
    x = np.random.default_rng(11).integers(-500, 500, size).astype(np.int32)
    wanted, other, width = np.sort(x), np.zeros_like(x), 1
    while width < size:
        merged(x, other, width, width.bit_length())
        x, other, width = other, x, 2 * width
    assert (x == wanted).all()


if __name__ == "__main__":
    main()
