"""Convolutions of one to three axes."""

from functools import cache
from typing import Any

import torch
from benchmarks.kernelbench import shifted
from benchmarks.tileops.cases import Builder, Case, Given
from torch.nn import functional

from gridlane.compute import Compute, Tensor, bf16, compute, f16, f32, grid
from gridlane.tiles import kernels

_TYPES = {torch.float16: f16, torch.bfloat16: bf16}
Triple = tuple[int, int, int]


def _numbers(given: Given, name: str, axes: int, known: int) -> tuple[int, ...]:
    value = given.get(name, known)
    return (value,) * axes if isinstance(value, int) else tuple(value)


def _case(given: Given, axes: int) -> Case:
    images, channels, *extents = given["input_shape"]
    if given.factor > 1:
        extents = [n if n <= 16 else max(n // 4, 16) for n in extents]
    taps = [given[f"k{letter}"] for letter in "DHW"[3 - axes :]]
    groups, filters = given.get("groups", 1), given["C_out"]
    x = given.normal(images, channels, *extents)
    w = given.normal(filters, channels // groups, *taps) / (channels // groups) ** 0.5
    bias = given.normal(filters) if given.get("bias_shape") else None
    stride, padding, dilation = (
        _numbers(given, name, axes, known)
        for name, known in (("stride", 1), ("padding", 0), ("dilation", 1))
    )
    words: dict[str, Any] = {"stride": stride, "padding": padding, "dilation": dilation}
    words["groups"] = groups
    theirs = getattr(functional, f"conv{axes}d")

    def ours() -> Any:
        if axes < 3:
            return kernels.convolution(x, w, bias, **words)
        if groups == 1 and shifted.is_for(x) and (max(stride) == 1 or max(dilation) == 1):
            out = _result(x, w, (stride, padding, dilation))
            shifted.convolved(x, w, out, shifted.Walk(padding, dilation, False, stride), bias)
            return out
        return _by_loops(x, w, bias, groups, (stride, padding, dilation))

    return Case(ours, lambda: theirs(x, w, bias, **words))


@cache
def _three(
    kind: Any, groups: int, filters: int, channels: int, walk: tuple[Triple, Triple, Triple]
) -> Compute:
    (S, T, U), (P, Q, V), (D, E, G) = walk
    F, C = filters, channels

    @compute(fastmath=True)
    def convolution(
        x: Tensor[kind, "N", "L", "Z", "H", "W"],
        w: Tensor[kind, F, C, "A", "B", "O"],
        bias: Tensor[kind, F],
        out: Tensor[kind, "R", "I", "J", "K"],
    ):
        for r, j, k, i in grid(R, J, K, I):
            s = f32(bias[r % F])
            for c, a, b, o in grid(C, A, B, O):
                if 0 <= S * i + D * a - P < Z:
                    if 0 <= T * j + E * b - Q < H and 0 <= U * k + G * o - V < W:
                        s += f32(
                            x[
                                r // F, r % F // (F // groups) * C + c,
                                S * i + D * a - P, T * j + E * b - Q, U * k + G * o - V,
                            ]
                        ) * f32(w[r % F, c, a, b, o])  # fmt: skip
            out[r, i, j, k] = s

    return convolution


def _result(x: Any, w: Any, walk: Any) -> Any:
    """An array for the results."""
    ends = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(x.shape[2:], w.shape[2:], *walk, strict=True)
    ]
    return x.new_empty((x.shape[0], w.shape[0], *ends))


def _by_loops(x: Any, w: Any, bias: Any, groups: int, walk: Any) -> Any:
    out = _result(x, w, walk)
    shift = x.new_zeros(w.shape[0]) if bias is None else bias
    nest = _three(_TYPES[x.dtype], groups, w.shape[0], w.shape[1], walk)
    nest(x, w, shift, out.view(-1, *out.shape[2:]))
    return out


BUILDERS: dict[str, Builder] = {
    "Conv1dFwdOp": lambda given: _case(given, 1),
    "Conv2dFwdOp": lambda given: _case(given, 2),
    "Conv3dFwdOp": lambda given: _case(given, 3),
}
