"""LU factors of a matrix in its place, without pivots."""

import numpy as np

from gridlane.compute import Tensor, compute, f64


@compute
def lu(a: Tensor[f64, "N", "N"]):
    for k in range(N):
        for i in range(k + 1, N):
            a[i, k] /= a[k, k]
        for i in range(k + 1, N):
            for j in range(k + 1, N):
                a[i, j] -= a[i, k] * a[k, j]


def main(size: int = 80) -> None:
    a = np.random.default_rng(7).random((size, size)) + size * np.eye(size)
    factors = a.copy()
    lu(factors)
    lower = np.tril(factors, -1) + np.eye(size)
    assert np.allclose(lower @ np.triu(factors), a)


if __name__ == "__main__":
    main()
