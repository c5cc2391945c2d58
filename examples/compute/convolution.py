"""A convolution of images by 3x3 filters with padding by bounds, in bfloat16."""

import ml_dtypes
import numpy as np

from gridlane.compute import Hints, Tensor, bf16, compute, f32, grid


@compute(kernel="conv2d", hints=Hints(tensor_cores=True))
def convolved(
    x: Tensor[bf16, "N", "C", "H", "W"],
    w: Tensor[bf16, "F", "C", 3, 3],
    out: Tensor[bf16, "N", "F", "H", "W"],
):
    for n, f, i, j in grid(N, F, H, W):
        s = f32(0)
        for c, r, q in grid(C, 3, 3):
            if 0 <= i + r - 1 < H and 0 <= j + q - 1 < W:
                s += f32(x[n, c, i + r - 1, j + q - 1]) * f32(w[f, c, r, q])
        out[n, f, i, j] = s


def main(size: int = 16) -> None:
    rng = np.random.default_rng(4)
    x = rng.standard_normal((2, 8, size, size)).astype(ml_dtypes.bfloat16)
    w = rng.standard_normal((9, 8, 3, 3)).astype(ml_dtypes.bfloat16)
    out = np.zeros((2, 9, size, size), ml_dtypes.bfloat16)
    convolved(x, w, out)
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    wanted = np.einsum("nchwrq,fcrq->nfhw", windows, w.astype(np.float64))
    assert np.allclose(out.astype(np.float64), wanted, rtol=1e-2, atol=1e-2)


if __name__ == "__main__":
    main()
