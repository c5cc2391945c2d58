"""Products of matrices as loops, whose sums the compiler may add in any order.

On GPUs with products of warpgroups they are the program of ``split.py``."""

from typing import Any

from benchmarks.kernelbench import programs, split

from gridlane.compute import Tensor, compute, f32, grid


@compute(kernel="matmul", fastmath=True)
def _product(a: Tensor[f32, "M", "K"], b: Tensor[f32, "K", "N"], out: Tensor[f32, "M", "N"]):
    for i, j in grid(M, N):
        s = 0.0
        for k in range(K):
            s += a[i, k] * b[k, j]
        out[i, j] = s


@compute(kernel="matmul", fastmath=True)
def _products(
    a: Tensor[f32, "B", "M", "K"], b: Tensor[f32, "B", "K", "N"], out: Tensor[f32, "B", "M", "N"]
):
    for p, i, j in grid(B, M, N):
        s = 0.0
        for k in range(K):
            s += a[p, i, k] * b[p, k, j]
        out[p, i, j] = s


@compute(fastmath=True)
def _upper(a: Tensor[f32, "N", "N"], b: Tensor[f32, "N", "N"], out: Tensor[f32, "N", "N"]):
    for i, j in grid(N, N):
        s = 0.0
        for k in range(i, j + 1):
            s += a[i, k] * b[k, j]
        out[i, j] = s


@compute(fastmath=True)
def _lower(a: Tensor[f32, "N", "N"], b: Tensor[f32, "N", "N"], out: Tensor[f32, "N", "N"]):
    for i, j in grid(N, N):
        s = 0.0
        for k in range(j, i + 1):
            s += a[i, k] * b[k, j]
        out[i, j] = s


def _multiplied(a: Any, b: Any) -> Any:
    if split.is_for(a.shape[0], b.shape[1]):
        return split.multiplied(a.unsqueeze(0), b.unsqueeze(0)).squeeze(0)
    out = a.new_empty((a.shape[0], b.shape[1]))
    _product(a, b, out)
    return out


def product(model: Any, a: Any, b: Any) -> Any:
    """Rows by columns."""
    return _multiplied(a, b)


def of_transposed_a(model: Any, a: Any, b: Any) -> Any:
    return _multiplied(a.T, b)


def of_transposed_b(model: Any, a: Any, b: Any) -> Any:
    return _multiplied(a, b.T)


def of_transposed_both(model: Any, a: Any, b: Any) -> Any:
    return _multiplied(a.T, b.T)


def of_vector(model: Any, a: Any, b: Any) -> Any:
    """Rows by one column."""
    out = a.new_empty((a.shape[0], 1))
    programs.row_products[(a.shape[0],)](a, b, out, a.shape[1], BLOCK=4096, num_warps=8)
    return out


def batched(model: Any, a: Any, b: Any) -> Any:
    if split.is_for(a.shape[1], b.shape[2]):
        return split.multiplied(a, b)
    out = a.new_empty((a.shape[0], a.shape[1], b.shape[2]))
    _products(a, b, out)
    return out


def of_last_axis(model: Any, a: Any, b: Any) -> Any:
    """The last axis of an array of several times a matrix."""
    made = _multiplied(a.view(-1, a.shape[-1]), b)
    return made.view(*a.shape[:-1], b.shape[1])


def of_upper(model: Any, a: Any, b: Any) -> Any:
    """Upper triangular matrices, whose product is one."""
    if split.is_for(*a.shape):
        return split.multiplied(a.unsqueeze(0), b.unsqueeze(0), split.UPPER).squeeze(0)
    out = a.new_empty(a.shape)
    _upper(a, b, out)
    return out


def of_lower(model: Any, a: Any, b: Any) -> Any:
    """Lower triangular matrices, whose product is one."""
    if split.is_for(*a.shape):
        return split.multiplied(a.unsqueeze(0), b.unsqueeze(0), split.LOWER).squeeze(0)
    out = a.new_empty(a.shape)
    _lower(a, b, out)
    return out
