"""Prefix sums of integers: large arrays by the library of algorithms."""

import numpy as np

from gridlane.compute import Tensor, compute, i64


@compute(kernel="scan")
def prefix_sums(x: Tensor[i64, "N"], out: Tensor[i64, "N"]):
    total = 0
    for i in range(N):
        total += x[i]
        out[i] = total


def main(size: int = 100_000) -> None:
    x = np.random.default_rng(10).integers(-99, 100, size)
    out = np.zeros_like(x)
    prefix_sums(x, out)
    assert (out == np.cumsum(x)).all()


if __name__ == "__main__":
    main()
