"""Pools of one to three axes: by tiles of results, or as loops where windows are large.

Images and channels are one axis.
"""

import math
from functools import cache
from typing import Any

from benchmarks.kernelbench import windows

from gridlane.compute import Compute, Tensor, compute, f32, grid


@cache
def _most_one(K: int, S: int, P: int, D: int) -> Compute:
    @compute
    def most(x: Tensor[f32, "N", "L"], out: Tensor[f32, "N", "I"]):
        for n, i in grid(N, I):
            m = f32(-math.inf)
            for r in range(K):
                if 0 <= S * i + D * r - P < L:
                    m = max(m, x[n, S * i + D * r - P])
            out[n, i] = m

    return most


@cache
def _most_two(K: int, S: int, P: int, D: int) -> Compute:
    @compute
    def most(x: Tensor[f32, "N", "H", "W"], out: Tensor[f32, "N", "I", "J"]):
        for n, i, j in grid(N, I, J):
            m = f32(-math.inf)
            for a, b in grid(K, K):
                if 0 <= S * i + D * a - P < H and 0 <= S * j + D * b - P < W:
                    m = max(m, x[n, S * i + D * a - P, S * j + D * b - P])
            out[n, i, j] = m

    return most


@cache
def _most_three(K: int, S: int, P: int, D: int) -> Compute:
    @compute
    def most(x: Tensor[f32, "N", "Z", "H", "W"], out: Tensor[f32, "N", "I", "J", "O"]):
        for n, j, k, i in grid(N, J, O, I):
            m = f32(-math.inf)
            for a, b, c in grid(K, K, K):
                if 0 <= S * i + D * a - P < Z:
                    if 0 <= S * j + D * b - P < H and 0 <= S * k + D * c - P < W:
                        m = max(m, x[n, S * i + D * a - P, S * j + D * b - P, S * k + D * c - P])
            out[n, i, j, k] = m

    return most


@cache
def _mean_one(K: int, S: int, P: int) -> Compute:
    @compute(fastmath=True)
    def mean(x: Tensor[f32, "N", "L"], out: Tensor[f32, "N", "I"]):
        for n, i in grid(N, I):
            s = 0.0
            for r in range(K):
                if 0 <= S * i + r - P < L:
                    s += x[n, S * i + r - P]
            out[n, i] = s / K

    return mean


@cache
def _mean_two(K: int, S: int, P: int) -> Compute:
    @compute(fastmath=True)
    def mean(x: Tensor[f32, "N", "H", "W"], out: Tensor[f32, "N", "I", "J"]):
        for n, i, j in grid(N, I, J):
            s = 0.0
            for a, b in grid(K, K):
                if 0 <= S * i + a - P < H and 0 <= S * j + b - P < W:
                    s += x[n, S * i + a - P, S * j + b - P]
            out[n, i, j] = s / (K * K)

    return mean


@cache
def _mean_three(K: int, S: int, P: int) -> Compute:
    @compute(fastmath=True)
    def mean(x: Tensor[f32, "N", "Z", "H", "W"], out: Tensor[f32, "N", "I", "J", "O"]):
        for n, j, k, i in grid(N, J, O, I):
            s = 0.0
            for a, b, c in grid(K, K, K):
                if 0 <= S * i + a - P < Z:
                    if 0 <= S * j + b - P < H and 0 <= S * k + c - P < W:
                        s += x[n, S * i + a - P, S * j + b - P, S * k + c - P]
            out[n, i, j, k] = s / (K * K * K)

    return mean


_MOST = {1: _most_one, 2: _most_two, 3: _most_three}
_MEAN = {1: _mean_one, 2: _mean_two, 3: _mean_three}


def _number(given: Any) -> int:
    """The number of a layer, whose axes have the same one."""
    numbers = set(given) if isinstance(given, tuple) else {given}
    (number,) = numbers
    return int(number)


def _ends(extents: Any, k: int, s: int, p: int, d: int) -> tuple[int, ...]:
    return tuple([(n + 2 * p - d * (k - 1) - 1) // s + 1 for n in extents])


def _pooled(nest: Compute, x: Any, ends: tuple[int, ...]) -> Any:
    out = x.new_empty((*x.shape[:2], *ends))
    nest(x.view(-1, *x.shape[2:]), out.view(-1, *ends))
    return out


def _slid(kind: str, x: Any, k: int, s: int, p: int, d: int) -> Any:
    axes, ends = x.dim() - 2, _ends(x.shape[2:], k, s, p, d)
    size, stride, padding, dilation = [(each,) * axes for each in (k, s, p, d)]
    return windows.slid(kind, x, None, ends, size, stride, padding, dilation)


def most(model: Any, x: Any) -> Any:
    """The largest element of each window."""
    (layer,) = model.children()
    words = layer.kernel_size, layer.stride, layer.padding, layer.dilation
    k, s, p, d = [_number(each) for each in words]
    axes = x.dim() - 2
    if windows.is_for((k,) * axes):
        return _slid("most", x, k, s, p, d)
    return _pooled(_MOST[x.dim() - 2](k, s, p, d), x, _ends(x.shape[2:], k, s, p, d))


def mean(model: Any, x: Any) -> Any:
    """The mean of each window, whose padding counts as zeros."""
    (layer,) = model.children()
    k, s, p = [_number(each) for each in (layer.kernel_size, layer.stride, layer.padding)]
    axes = x.dim() - 2
    if windows.is_for((k,) * axes):
        return _slid("mean", x, k, s, p, 1)
    return _pooled(_MEAN[x.dim() - 2](k, s, p), x, _ends(x.shape[2:], k, s, p, 1))
