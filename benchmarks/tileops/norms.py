"""Normalisations of rows and of channels."""

from __future__ import annotations

from typing import Any

import torch
from benchmarks.kernelbench.rows import normalised
from benchmarks.tileops import programs
from benchmarks.tileops.cases import Builder, Case, Given
from torch.nn import functional

from gridlane.tiles import kernels

EPS, EPS_RMS = 1e-5, 1e-6


def _rows(given: Given) -> tuple[Any, int]:
    *rows, columns = given["x_shape"]
    return given.normal(*map(given.length, rows), columns), columns


def rms_norm(given: Given) -> Case:
    x, columns = _rows(given)
    w = given.normal(columns)
    return Case(
        lambda: kernels.rms_norm(x, w, eps=EPS_RMS),
        lambda: functional.rms_norm(x, (columns,), w, EPS_RMS),
    )


def layer_norm(given: Given) -> Case:
    x, columns = _rows(given)
    w, b = given.normal(columns), given.normal(columns)
    return Case(
        lambda: kernels.layer_norm(x, w, b, eps=EPS),
        lambda: functional.layer_norm(x, (columns,), w, b, EPS),
    )


def adaptive(given: Given, has_gate: bool) -> Case:
    """Factors and shifts for each element."""
    x, columns = _rows(given)
    scale, shift = torch.randn_like(x), torch.randn_like(x)
    gate = torch.randn_like(x) if has_gate else None

    def theirs() -> Any:
        made = functional.layer_norm(x, (columns,), None, None, EPS) * (1 + scale) + shift
        return made if gate is None else made * gate

    return Case(lambda: programs.adaptive_norm(x, scale, shift, gate, EPS), theirs)


def added(given: Given, centred: bool) -> Case:
    """The norm of a sum, and the sum."""
    x, columns = _rows(given)
    more, w = torch.randn_like(x), given.normal(columns)
    b = given.normal(columns) if centred else None

    def theirs() -> Any:
        total = x + more
        if centred:
            return functional.layer_norm(total, (columns,), w, b, EPS), total
        return functional.rms_norm(total, (columns,), w, EPS_RMS), total

    eps = EPS if centred else EPS_RMS
    return Case(lambda: programs.added_norm(x, more, w, b, centred, eps), theirs)


def batch_norm(given: Given) -> Case:
    """By means and variances that are known."""
    x = _image(given)
    c = x.shape[1]
    mean, variance, w, b = torch.randn(c), torch.rand(c) + 0.5, torch.randn(c), torch.randn(c)
    return Case(
        lambda: programs.scaled_channels(x, mean, variance, w, b, EPS),
        lambda: functional.batch_norm(x, mean, variance, w, b, False, 0.1, EPS),
    )


def _image(given: Given) -> Any:
    images, channels, *places = given["x_shape"]
    return given.normal(images, channels, *[n if n <= 64 else given.length(n) for n in places])


def _affine(given: Given) -> tuple[Any, Any]:
    c = given["x_shape"][1]
    return (given.normal(c), given.normal(c)) if given.get("weight_shape") else (None, None)


def group_norm(given: Given) -> Case:
    x, (w, b) = _image(given), _affine(given)
    (n, c), groups = x.shape[:2], given["num_groups"]
    return Case(
        lambda: normalised(x, n * c, c // groups, 1, (w, b), EPS),
        lambda: functional.group_norm(x, groups, w, b, EPS),
    )


def instance_norm(given: Given) -> Case:
    x, (w, b) = _image(given), _affine(given)
    if given.get("running_mean_shape"):  # which are what elements are normalised by
        mean, variance = torch.randn(x.shape[1]), torch.rand(x.shape[1]) + 0.5
        words = {"running_mean": mean, "running_variance": variance, "use_input_statistics": False}
        return Case(
            lambda: kernels.instance_norm(x, w, b, eps=EPS, **words),
            lambda: functional.instance_norm(x, mean, variance, w, b, False, eps=EPS),
        )
    rows = x.shape[0] * x.shape[1]
    return Case(
        lambda: normalised(x, rows, 1, 1, (w, b), EPS),
        lambda: functional.instance_norm(x, weight=w, bias=b, eps=EPS),
    )


def backward(given: Given) -> Case:
    """The gradients of the norm of a batch."""
    x, grad = _image(given).requires_grad_(), _image(given)
    w, b = (torch.randn(x.shape[1]).requires_grad_() for _ in range(2))
    with torch.enable_grad():
        known = functional.batch_norm(x, None, None, w, b, True, eps=EPS)
    plain = x.detach()
    _, *statistics = kernels.batch_norm(plain, training=True, eps=EPS, return_statistics=True)
    return Case(
        lambda: kernels.batch_norm_backward(grad, plain, *statistics, w.detach(), eps=EPS),
        lambda: torch.autograd.grad(known, (x, w, b), grad, retain_graph=True),
    )


BUILDERS: dict[str, Builder] = {
    "RMSNormFwdOp": rms_norm,
    "LayerNormFwdOp": layer_norm,
    "AdaLayerNormFwdOp": lambda given: adaptive(given, False),
    "AdaLayerNormZeroFwdOp": lambda given: adaptive(given, True),
    "FusedAddLayerNormFwdOp": lambda given: added(given, True),
    "FusedAddRMSNormFwdOp": lambda given: added(given, False),
    "BatchNormFwdOp": batch_norm,
    "BatchNormBwdOp": backward,
    "GroupNormFwdOp": group_norm,
    "InstanceNormFwdOp": instance_norm,
}
