# ruff: noqa: F821  # extents are names that annotations define
"""Loops of public reports of wrong answers, and of textbooks, written as nests.

The numbers are those of the reports of numba and Taichi, whose parallel loops raced there, or whose
reductions started or ended wrong. Each nest has what NumPy or a plain loop computes beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gridlane.compute import Compute, Tensor, b1, compute, f32, f64, grid, i64, u8, u32

LARGE = 2**32 - 1


@dataclass(frozen=True)
class Report:
    """A nest.

    Attributes:
        make: its arguments, of a random generator.
        wanted: what the arrays hold afterwards, by their places among the arguments.
        is_exact: whether results are integers, or are computed in the same order.
    """

    nest: Compute
    make: Callable[[np.random.Generator], tuple]
    wanted: Callable[..., dict[int, np.ndarray]]
    is_exact: bool = True


@compute
def counted_twice(n: int, out: Tensor[i64, 1]):
    count = 0
    for i in range(n):
        count += 1
        if i > 10:
            count += 1
    out[0] = count


@compute
def counted_from_one(cond: Tensor[b1, "N"], out: Tensor[i64, 1]):
    count = 1
    for i in range(N):
        if cond[i]:
            count += 1
    out[0] = count


@compute
def off_the_diagonal(x: Tensor[f64, "N", "N"], y: Tensor[f64, "N", "N"]):
    for i in range(N):
        for j in range(N):
            if i != j:
                y[0, 1] += x[i, j]


@compute
def labelled(index: Tensor[i64, "N"], values: Tensor[u32, "N"], found: Tensor[u32, "M"]):
    for i in range(M):
        found[i] = LARGE
    for i in range(N):
        found[index[i]] = values[i]
    last = values[0]
    for i in range(1, N):
        last = max(last, values[i])
    for i in range(M):
        if found[i] == LARGE:
            found[i] = last + 1
            last += 1


@compute
def two_paths(flag: int, n: int, out: Tensor[i64, 1]):
    result = 0
    if flag == 1:
        for i in range(n):
            result += 1
    else:
        for i in range(n):
            result -= 3
    out[0] = result


@compute
def differences(counters: Tensor[i64, "N"], results: Tensor[i64, "N"]):
    for i in range(N):
        counters[i] = 0
        for j in range(i):
            counters[i] += 1
    for i in range(N):
        if i > 0:
            results[i] = counters[i] - counters[i - 1]


@compute
def around(b: Tensor[i64, "N"], out: Tensor[i64, "M"]):
    row = 0
    for i in range(M):
        out[i] = b[row] * 10 + row
        row += 1
        if row >= N:
            row -= N


@compute
def place_of_the_least(a: Tensor[f32, "N"], least: Tensor[f32, 1], place: Tensor[i64, 1]):
    best = math.inf
    index = -1
    for i in range(N):
        if best > a[i]:
            best = a[i]
            index = i
    least[0] = best
    place[0] = index


@compute
def largest(a: Tensor[f32, "M", "N"], out: Tensor[f32, 1]):
    top = -math.inf
    for i, j in grid(M, N):
        top = max(top, a[i, j])
    out[0] = top


@compute
def least_of_ones(n: int, out: Tensor[i64, 1]):
    hit = 7
    for i in range(n):
        hit = min(hit, 1)
    out[0] = hit


@compute
def bounding_box(corners: Tensor[f64, "K", 3], faces: Tensor[i64, "N", 3], box: Tensor[f64, 2, 3]):
    for d in range(3):
        low = 1.0
        high = 0.0
        for n in range(N):
            for c in range(3):
                low = min(low, corners[faces[n, c], d])
                high = max(high, corners[faces[n, c], d])
        box[0, d] = low
        box[1, d] = high


@compute
def jacobian(d: Tensor[f64, "N"], b: Tensor[f64, "N"], out: Tensor[f64, "N"]):
    for i in range(N):
        s = 0.0
        for j in range(N):
            x = math.exp(b[i]) * math.exp(b[j])
            s += x / (1 + x)
        e = math.exp(b[i])
        out[i] = s - e * e / (1 + e * e) - d[i]


@compute
def game_of_life(old: Tensor[u8, "M", "N"], new: Tensor[u8, "M", "N"]):
    for i, j in grid(M, N):
        near = 0
        for di in range(-1, 2):
            for dj in range(-1, 2):
                if di != 0 or dj != 0:
                    near += int(old[(i + di + M) % M, (j + dj + N) % N])
        new[i, j] = 1 if near == 3 or (near == 2 and old[i, j] == 1) else 0


@compute
def error_diffusion(image: Tensor[i64, "M", "N"], out: Tensor[i64, "M", "N"]):
    for i in range(M - 1):
        for j in range(1, N - 1):
            value = 255 if image[i, j] > 127 else 0
            error = image[i, j] - value
            out[i, j] = value
            image[i, j + 1] += error * 7 // 16
            image[i + 1, j - 1] += error * 3 // 16
            image[i + 1, j] += error * 5 // 16
            image[i + 1, j + 1] += error // 16


@compute
def common_subsequence(a: Tensor[i64, "M"], b: Tensor[i64, "N"], t: Tensor[i64, "H", "W"]):
    for i in range(1, M + 1):
        for j in range(1, N + 1):
            if a[i - 1] == b[j - 1]:
                t[i, j] = t[i - 1, j - 1] + 1
            else:
                t[i, j] = max(t[i - 1, j], t[i, j - 1])


@compute
def equalised(image: Tensor[u8, "M", "N"], counts: Tensor[i64, 256], out: Tensor[u8, "M", "N"]):
    for v in range(256):
        counts[v] = 0
    for i, j in grid(M, N):
        counts[int(image[i, j])] += 1
    for v in range(1, 256):
        counts[v] += counts[v - 1]
    for i, j in grid(M, N):
        out[i, j] = counts[int(image[i, j])] * 255 // (M * N)


@compute
def escapes(steps: Tensor[i64, "M", "N"], most: int):
    for i, j in grid(M, N):
        x = 0.0
        y = 0.0
        for k in range(most):
            if x * x + y * y <= 4.0:
                t = x * x - y * y + (j * 3 - 2 * N) / N
                y = 2 * x * y + (i * 2 - M) / M
                x = t
                steps[i, j] = k + 1


def _labels(index, values, found):
    wanted, last = np.full(len(found), LARGE, np.uint32), values.max()
    wanted[index] = values
    free = wanted == LARGE
    wanted[free] = last + 1 + np.arange(free.sum())
    return {2: wanted}


def _boxes(corners, faces, box):
    used = corners[faces.ravel()]
    return {2: np.stack([np.minimum(used.min(0), 1), np.maximum(used.max(0), 0)])}


def _jacobian(d, b, out):
    e = np.exp(b)
    x = e[:, None] * e
    return {2: (x / (1 + x)).sum(1) - e**2 / (1 + e**2) - d}


def _lives(old, new):
    near = sum(np.roll(old, s, (0, 1)) for s in [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)])
    near = near - old
    return {1: ((near == 3) | ((near == 2) & (old == 1))).astype(np.uint8)}


def _diffused(image, out):
    image, out = image.tolist(), out.copy()
    for i in range(len(image) - 1):
        for j in range(1, len(image[0]) - 1):
            out[i, j] = 255 if image[i][j] > 127 else 0
            error = image[i][j] - int(out[i, j])
            for di, dj, by in ((0, 1, 7), (1, -1, 3), (1, 0, 5), (1, 1, 1)):
                image[i + di][j + dj] += error * by // 16
    return {0: np.array(image), 1: out}


def _common(a, b, t):
    t = t.copy()
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            t[i + 1, j + 1] = t[i, j] + 1 if x == y else max(t[i, j + 1], t[i + 1, j])
    return {2: t}


def _equalised(image, counts, out):
    sums = np.cumsum(np.bincount(image.ravel(), minlength=256))
    return {1: sums, 2: (sums[image] * 255 // image.size).astype(np.uint8)}


def _escapes(steps, most):
    m, n = steps.shape
    c = ((np.arange(n) * 3 - 2 * n) / n) + 1j * ((np.arange(m) * 2 - m) / m)[:, None]
    z, count = np.zeros_like(c), np.zeros_like(steps)
    for k in range(most):
        inside = z.real * z.real + z.imag * z.imag <= 4
        x = z.real * z.real - z.imag * z.imag + c.real
        z = np.where(inside, x + 1j * (2 * z.real * z.imag + c.imag), z)
        count[inside] = k + 1
    return {0: count}


def one() -> np.ndarray:
    return np.zeros(1, np.int64)


REPORTS = {
    "numba 4922": Report(counted_twice, lambda r: (30, one()), lambda n, o: {1: np.array([49])}),
    "numba 7344": Report(
        counted_from_one, lambda r: (r.random(100) < 0.5, one()), lambda c, o: {1: 1 + c.sum()}
    ),
    "numba 3681": Report(
        off_the_diagonal,
        lambda r: (r.integers(-9, 9, (20, 20)) * 1.0, np.zeros((20, 20))),
        lambda x, y: {1: np.where(np.arange(400).reshape(20, 20) == 1, x.sum() - x.trace(), 0)},
    ),
    "numba 9829": Report(
        labelled,
        lambda r: (
            r.permutation(40)[:9],
            r.integers(0, 99, 9).astype(np.uint32),
            np.zeros(40, np.uint32),
        ),
        _labels,
    ),
    "numba 7630": Report(
        two_paths, lambda r: (0, 99, one()), lambda f, n, o: {2: np.array([-297])}
    ),
    "numba 8515": Report(
        differences,
        lambda r: (np.ones(16, np.int64), np.zeros(16, np.int64)),
        lambda c, d: {0: np.arange(16), 1: np.minimum(np.arange(16), 1)},
    ),
    "numba 6597": Report(
        around,
        lambda r: (r.integers(0, 9, 10), np.zeros(23, np.int64)),
        lambda b, o: {1: np.resize(b * 10 + np.arange(10), 23)},
    ),
    "Taichi 2378": Report(
        place_of_the_least,
        lambda r: (r.random(999).astype(np.float32), np.zeros(1, np.float32), one()),
        lambda a, low, place: {1: a.min(), 2: a.argmin()},
    ),
    "Taichi 8641": Report(
        largest,
        lambda r: (r.random((30, 41)).astype(np.float32), np.zeros(1, np.float32)),
        lambda a, o: {1: a.max()},
    ),
    "Taichi 5148": Report(least_of_ones, lambda r: (16, one()), lambda n, o: {1: np.array([1])}),
    "Taichi 6397": Report(
        bounding_box,
        lambda r: (r.random((20, 3)), r.integers(0, 20, (33, 3)), np.zeros((2, 3))),
        _boxes,
    ),
    "numba 7578": Report(
        jacobian,
        lambda r: (np.arange(1.0, 11), np.log(np.arange(1.0, 11)), np.zeros(10)),
        _jacobian,
        is_exact=False,
    ),
    "the game of life": Report(
        game_of_life,
        lambda r: ((r.random((9, 12)) < 0.4).astype(np.uint8), np.zeros((9, 12), np.uint8)),
        _lives,
    ),
    "error diffusion": Report(
        error_diffusion,
        lambda r: (r.integers(0, 256, (11, 14)), np.zeros((11, 14), np.int64)),
        _diffused,
    ),
    "common subsequence": Report(
        common_subsequence,
        lambda r: (r.integers(0, 4, 15), r.integers(0, 4, 12), np.zeros((16, 13), np.int64)),
        _common,
    ),
    "histogram equalisation": Report(
        equalised,
        lambda r: (
            r.integers(0, 256, (13, 17)).astype(np.uint8),
            np.ones(256, np.int64),
            np.zeros((13, 17), np.uint8),
        ),
        _equalised,
    ),
    "escape times": Report(escapes, lambda r: (np.zeros((8, 12), np.int64), 20), _escapes),
}
