"""k-means: the nearest centre of each point, then the mean of each centre's points."""

import numpy as np

from gridlane.compute import Tensor, compute, f32, grid, i32


@compute
def nearest(x: Tensor[f32, "N", "D"], centres: Tensor[f32, "K", "D"], label: Tensor[i32, "N"]):
    for i in range(N):
        least = 3e38
        for c in range(K):
            s = 0.0
            for d in range(D):
                s += (x[i, d] - centres[c, d]) ** 2
            if s < least:
                label[i] = c
            least = min(least, s)


@compute
def means(x: Tensor[f32, "N", "D"], label: Tensor[i32, "N"], centres: Tensor[f32, "K", "D"]):
    for c, d in grid(K, D):
        s = 0.0
        n = 0
        for i in range(N):
            if label[i] == c:
                s += x[i, d]
                n += 1
        if n > 0:
            centres[c, d] = s / n


def main(size: int = 600, rounds: int = 5) -> None:
    rng = np.random.default_rng(6)
    x = (rng.standard_normal((size, 4)) + 3 * rng.integers(0, 3, (size, 1))).astype(np.float32)
    centres, label = x[:3].copy(), np.zeros(size, np.int32)
    wanted = centres.astype(np.float64)
    for _ in range(rounds):
        nearest(x, centres, label)
        means(x, label, centres)
        owners = ((x[:, None] - wanted) ** 2).sum(-1).argmin(1)
        wanted = np.array([x[owners == c].mean(0, np.float64) for c in range(3)])
    assert np.allclose(centres, wanted, rtol=1e-3, atol=1e-3)
    assert (label == owners).mean() > 0.99


if __name__ == "__main__":
    main()
