"""Heat in a plate: a stencil of five points, some steps in time."""

import numpy as np

from gridlane.compute import Tensor, compute, f32


@compute
def heat(a: Tensor[f32, "N", "M"], b: Tensor[f32, "N", "M"], steps: int):
    for _ in range(steps):
        for i in range(1, N - 1):
            for j in range(1, M - 1):
                b[i, j] = 0.2 * (a[i, j] + a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])
        for i in range(1, N - 1):
            for j in range(1, M - 1):
                a[i, j] = b[i, j]


def main(size: int = 200, steps: int = 20) -> None:
    a = np.random.default_rng(2).random((size, size + 5), np.float32)
    b, wanted = np.zeros_like(a), a.astype(np.float64)
    heat(a, b, steps)
    for _ in range(steps):
        inner = wanted[1:-1, 1:-1] + wanted[:-2, 1:-1] + wanted[2:, 1:-1]
        wanted[1:-1, 1:-1] = 0.2 * (inner + wanted[1:-1, :-2] + wanted[1:-1, 2:])
    assert np.allclose(a, wanted, rtol=1e-5)


if __name__ == "__main__":
    main()
