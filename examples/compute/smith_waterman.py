"""Smith-Waterman's local alignment: on GPUs isl skews the loops into wavefronts."""

import numpy as np

from gridlane.compute import Tensor, compute, i32


@compute
def align(x: Tensor[i32, "M"], y: Tensor[i32, "N"], score: Tensor[i32, "P", "Q"], gap: int):
    for i in range(1, M + 1):
        for j in range(1, N + 1):
            same = 2 if x[i - 1] == y[j - 1] else -1
            best = max(score[i - 1, j - 1] + same, 0)
            score[i, j] = max(best, max(score[i - 1, j], score[i, j - 1]) - gap)


def main(size: int = 60) -> None:
    rng = np.random.default_rng(8)
    x, y = rng.integers(0, 4, size).astype(np.int32), rng.integers(0, 4, size + 9).astype(np.int32)
    score = np.zeros((size + 1, size + 10), np.int32)
    align(x, y, score, 1)
    wanted = np.zeros_like(score)
    for i in range(1, size + 1):
        for j in range(1, size + 10):
            same = wanted[i - 1, j - 1] + (2 if x[i - 1] == y[j - 1] else -1)
            wanted[i, j] = max(0, same, wanted[i - 1, j] - 1, wanted[i, j - 1] - 1)
    assert (score == wanted).all()
    assert score.max() > 5


if __name__ == "__main__":
    main()
