"""Waves in a volume: a stencil of 25 points, of order eight in space and two in time."""

import numpy as np

from gridlane.compute import Tensor, compute, f32, grid

C0, C1, C2, C3, C4 = -205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560


@compute
def step(u: Tensor[f32, "N", "N", "N"], old: Tensor[f32, "N", "N", "N"], speed: float):
    for i, j, k in grid(N, N, N):
        if 4 <= i < N - 4 and 4 <= j < N - 4 and 4 <= k < N - 4:
            s = 3 * C0 * u[i, j, k]
            s += C1 * (u[i - 1, j, k] + u[i + 1, j, k] + u[i, j - 1, k] + u[i, j + 1, k])
            s += C2 * (u[i - 2, j, k] + u[i + 2, j, k] + u[i, j - 2, k] + u[i, j + 2, k])
            s += C3 * (u[i - 3, j, k] + u[i + 3, j, k] + u[i, j - 3, k] + u[i, j + 3, k])
            s += C4 * (u[i - 4, j, k] + u[i + 4, j, k] + u[i, j - 4, k] + u[i, j + 4, k])
            s += C1 * (u[i, j, k - 1] + u[i, j, k + 1]) + C2 * (u[i, j, k - 2] + u[i, j, k + 2])
            s += C3 * (u[i, j, k - 3] + u[i, j, k + 3]) + C4 * (u[i, j, k - 4] + u[i, j, k + 4])
            old[i, j, k] = 2.0 * u[i, j, k] - old[i, j, k] + speed * s


def main(size: int = 32, steps: int = 4) -> None:
    u, old = np.random.default_rng(3).random((2, size, size, size), np.float32)
    now, before = u.astype(np.float64), old.astype(np.float64)
    for _ in range(steps):
        step(u, old, 0.1)
        u, old = old, u
        total, mid = np.zeros_like(now[4:-4, 4:-4, 4:-4]), slice(4, -4)
        for axis in range(3):
            for by, factor in zip(range(-4, 5), (C4, C3, C2, C1, C0, C1, C2, C3, C4), strict=True):
                where = [mid, mid, mid]
                where[axis] = slice(4 + by, size - 4 + by)
                total += factor * now[tuple(where)]
        inner = 2 * now[mid, mid, mid] - before[mid, mid, mid] + 0.1 * total
        before[mid, mid, mid] = inner
        now, before = before, now
    assert np.allclose(u, now, rtol=1e-3, atol=1e-4)


if __name__ == "__main__":
    main()
