"""Attention of batches of heads in one pass over the keys, with a running maximum and sum."""

import math

import numpy as np

from gridlane.compute import Tensor, compute, f32, grid

LOW = -math.inf


@compute(kernel="attention", fastmath=True)
def attention(
    q: Tensor[f32, "B", "H", "M", "D"],
    k: Tensor[f32, "B", "H", "N", "D"],
    v: Tensor[f32, "B", "H", "N", "E"],
    out: Tensor[f32, "B", "H", "M", "E"],
    scale: float,
):
    for b, h, i in grid(B, H, M):
        most, total = LOW, 0.0
        for e in range(E):
            out[b, h, i, e] = 0.0
        for j in range(N):
            s = 0.0
            for d in range(D):
                s += q[b, h, i, d] * k[b, h, j, d]
            new = max(most, s * scale)
            old, p = math.exp(most - new), math.exp(s * scale - new)
            total = total * old + p
            for e in range(E):
                out[b, h, i, e] = out[b, h, i, e] * old + p * v[b, h, j, e]
            most = new
        for e in range(E):
            out[b, h, i, e] /= total


def main(size: int = 40) -> None:
    rng = np.random.default_rng(5)
    q, k, v = (rng.standard_normal((2, 3, n, 16)).astype(np.float32) for n in (size, 50, 50))
    out = np.zeros((2, 3, size, 16), np.float32)
    attention(q, k, v, out, 0.25)
    scores = 0.25 * (q.astype(np.float64) @ k.transpose(0, 1, 3, 2))
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    assert np.allclose(out, weights / weights.sum(-1, keepdims=True) @ v, rtol=1e-3, atol=1e-4)


if __name__ == "__main__":
    main()
