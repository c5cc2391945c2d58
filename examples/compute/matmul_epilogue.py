"""A product of matrices with a bias, an activation and a residual."""

import numpy as np

from gridlane.compute import Tensor, compute, f32, grid


@compute(kernel="matmul")
def layer(
    x: Tensor[f32, "M", "K"],
    w: Tensor[f32, "K", "N"],
    bias: Tensor[f32, "N"],
    residual: Tensor[f32, "M", "N"],
    out: Tensor[f32, "M", "N"],
):
    for i, j in grid(M, N):
        s = 0.0
        for k in range(K):
            s += x[i, k] * w[k, j]
        out[i, j] = max(s + bias[j], 0.0) + residual[i, j]


def main(size: int = 256) -> None:
    rng = np.random.default_rng(1)
    x, w, residual = (rng.standard_normal((size, size)).astype(np.float32) for _ in range(3))
    bias, out = rng.standard_normal(size).astype(np.float32), np.zeros((size, size), np.float32)
    layer(x, w, bias, residual, out)
    wanted = np.maximum(x.astype(np.float64) @ w + bias, 0) + residual
    assert np.allclose(out, wanted, rtol=1e-3, atol=1e-3)


if __name__ == "__main__":
    main()
