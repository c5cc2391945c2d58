"""Softmax, norms, scans and losses by the programs over tiles, and attention."""

from __future__ import annotations

import math
from typing import Any

from benchmarks.kernelbench import programs, split

from gridlane.tiles import kernels

BLOCK = 4096
SHARE = 1 << 16
"""Elements that a program of a sum, or of moments, adds."""


def softmax(model: Any, x: Any) -> Any:
    return kernels.softmax(x, axis=1)


def log_softmax(model: Any, x: Any) -> Any:
    return kernels.log_softmax(x, axis=model.dim)


# ---- norms


def normalised(
    x: Any, rows: int, group: int, period: int, affine: Any, eps: float, elements: bool = False
) -> Any:
    """x as ``rows`` rows, normalised by the moments of groups of them.

    Args:
        group: the rows of a group.
        period: how far apart they are.
        affine: a layer's weight and bias, or None and None.
        elements: these are numbers for each element of a row; else for each channel.
    """
    import torch

    length = x.numel() // rows
    block = min(BLOCK, 1 << (length - 1).bit_length())
    share = min(SHARE, -(-length // block) * block)
    chunks, warps = -(-length // share), min(max(block // 256, 1), 8)
    sums = x.new_empty((2, rows * chunks), dtype=torch.float32)
    means, squares = sums[0], sums[1]
    programs.moments[(rows * chunks,)](
        x, means, squares, length, share, chunks, BLOCK=block, num_warps=warps
    )
    weight, bias = [None if each is None else each.detach().view(-1) for each in affine]
    out = x.new_empty(x.shape)
    programs.normalised[(rows * chunks,)](
        x, weight, bias, means, squares, out, length, share, chunks, group, period, period,
        1 if weight is None or elements else weight.numel(), eps, ELEMENTS=elements,
        PARTS=1 << (group * chunks - 1).bit_length(), BLOCK=block, num_warps=warps,
    )  # fmt: skip
    return out


def batch_norm(model: Any, x: Any) -> Any:
    """By the moments of a batch, which the layer also keeps."""
    (layer,) = model.children()
    n, c = x.shape[:2]
    return normalised(x, n * c, n, c, (layer.weight, layer.bias), layer.eps)


def instance_norm(model: Any, x: Any) -> Any:
    (layer,) = model.children()
    n, c = x.shape[:2]
    return normalised(x, n * c, 1, 1, (layer.weight, layer.bias), layer.eps)


def group_norm(model: Any, x: Any) -> Any:
    (layer,) = model.children()
    n, c = x.shape[:2]
    affine = layer.weight, layer.bias
    return normalised(x, n * c, c // layer.num_groups, 1, affine, layer.eps)


def layer_norm(model: Any, x: Any) -> Any:
    """Of all axes but the first one."""
    (layer,) = model.children()
    return normalised(x, x.shape[0], 1, 1, (layer.weight, layer.bias), layer.eps, True)


def rms_norm(model: Any, x: Any) -> Any:
    """Over channels, the second axis."""
    out = x.new_empty(x.shape)
    channels, places = x.shape[1], math.prod(x.shape[2:])
    width = 128
    programs.divided_columns[(x.shape[0] * -(-places // width),)](
        x, out, channels, places, model.eps, CHANNELS=1 << (channels - 1).bit_length(),
        PLACES=width, num_warps=8,
    )  # fmt: skip
    return out


def frobenius_norm(model: Any, x: Any) -> Any:
    """An array divided by the root of the sum of its squares."""
    square, out = _summed(x, None, "square", 1.0), x.new_empty(x.shape)
    programs.divided_by_root[(-(-x.numel() // BLOCK),)](
        x, square, out, x.numel(), BLOCK=BLOCK, num_warps=8
    )
    return out


def _divided(x: Any, squares: bool) -> Any:
    out = x.new_empty(x.shape)
    programs.divided_rows[(x.shape[0],)](
        x, out, x.shape[1], SQUARES=squares, BLOCK=BLOCK, num_warps=8
    )
    return out


def l1_norm(model: Any, x: Any) -> Any:
    """Rows divided by their mean magnitude."""
    return _divided(x, False)


def l2_norm(model: Any, x: Any) -> Any:
    """Rows divided by their length."""
    return _divided(x, True)


# ---- scans


def _scanned(x: Any, mask: Any = None, **words: bool) -> Any:
    out = x.new_empty(x.shape)
    kinds = {"PRODUCTS": False, "BACKWARD": False, "BEFORE": False} | words
    programs.scanned_rows[(x.shape[0],)](
        x, mask, out, x.shape[1], LINES=32, WIDTH=128, num_warps=8, **kinds
    )
    return out


def running_sums(model: Any, x: Any) -> Any:
    return _scanned(x)


def running_products(model: Any, x: Any) -> Any:
    return _scanned(x, PRODUCTS=True)


def running_sums_from_the_end(model: Any, x: Any) -> Any:
    return _scanned(x, BACKWARD=True)


def running_sums_before(model: Any, x: Any) -> Any:
    return _scanned(x, BEFORE=True)


def running_sums_of_some(model: Any, x: Any, mask: Any) -> Any:
    import torch

    return _scanned(x, mask.view(torch.uint8))


# ---- losses


def _summed(x: Any, y: Any, kind: str, scale: float, period: int = 1) -> Any:
    """The sum over all elements of a function of theirs, times a number."""
    count = x.numel()
    parts = -(-count // SHARE)
    sums, out = x.new_empty(parts), x.new_empty(())
    programs.shares[(parts,)](x, y, sums, count, SHARE, period, KIND=kind, BLOCK=BLOCK, num_warps=8)
    programs.sum_of_all[(1,)](sums, out, parts, scale, BLOCK=BLOCK, num_warps=8)
    return out


def squared_error(model: Any, x: Any, y: Any) -> Any:
    return _summed(x, y, "squares", 1.0 / x.numel())


def huber(model: Any, x: Any, y: Any) -> Any:
    return _summed(x, y, "huber", 1.0 / x.numel())


def hinge(model: Any, x: Any, y: Any) -> Any:
    """The targets of a row are those of every row."""
    return _summed(x, y, "hinge", 1.0 / x.numel(), y.numel())


def divergence(model: Any, x: Any, y: Any) -> Any:
    """Kullback and Leibler's, a mean over rows."""
    return _summed(x, y, "divergence", 1.0 / x.shape[0])


def cross_entropy(model: Any, x: Any, y: Any) -> Any:
    return kernels.cross_entropy(x, y)


def triplet(model: Any, anchor: Any, near: Any, far: Any) -> Any:
    count = anchor.shape[0]
    losses, out = anchor.new_empty(count), anchor.new_empty(())
    layer = model.loss_fn
    programs.triplet_rows[(count,)](
        anchor, near, far, losses, anchor.shape[1], layer.margin, layer.eps, BLOCK=BLOCK,
        num_warps=8,
    )  # fmt: skip
    programs.sum_of_all[(1,)](losses, out, count, 1.0 / count, BLOCK=BLOCK, num_warps=8)
    return out


# ---- attention


def attention(model: Any, q: Any, k: Any, v: Any) -> Any:
    """By its three parts, as rows of 1024 are too wide for one program."""
    if split.is_for(*q.shape[-2:]):
        one, other, values = [each.flatten(0, 1) for each in (q, k, v)]
        weights = split.multiplied(one, other.transpose(1, 2), scale=q.shape[-1] ** -0.5)
        kernels.softmax(weights, out=weights)
        return split.multiplied(weights, values).view(*q.shape[:3], v.shape[3])
    scale = q.new_full((), q.shape[-1] ** -0.5)
    weights = kernels.matmul(q, k.transpose(-1, -2), scale_a=scale)
    kernels.softmax(weights, out=weights)
    return kernels.matmul(weights, v)
