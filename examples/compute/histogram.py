"""A histogram: each part of the numbers counts for itself, then each bin adds the parts."""

import numpy as np

from gridlane.compute import Tensor, compute, grid, i32, parallel


@compute
def histogram(x: Tensor[i32, "P", "N"], parts: Tensor[i32, "P", "B"], counts: Tensor[i32, "B"]):
    for p, b in grid(P, B):
        parts[p, b] = 0
    for p in parallel(P):
        for i in range(N):
            parts[p, x[p, i]] += 1
    for b in range(B):
        counts[b] = 0
        for p in range(P):
            counts[b] += parts[p, b]


def main(size: int = 4000, bins: int = 64) -> None:
    x = np.random.default_rng(9).integers(0, bins, (16, size // 16)).astype(np.int32)
    parts, counts = np.zeros((16, bins), np.int32), np.zeros(bins, np.int32)
    histogram(x, parts, counts)
    assert (counts == np.bincount(x.ravel(), minlength=bins)).all()


if __name__ == "__main__":
    main()
