"""Convolutions of one to three axes, and transposed ones, as loops over their results.

Strides, paddings and dilations are constants of a nest: its indices are affine in its loops.
Those with more parallel loops than a GPU's grid has axes have one loop over images and filters.
Where there are three axes of places, the first one is a loop of each thread.
"""

import math
from functools import cache
from itertools import product
from math import prod
from typing import Any, NamedTuple

from benchmarks.kernelbench import shifted, windows

from gridlane.compute import Compute, Tensor, compute, f32, grid
from gridlane.tiles import kernels

Numbers = tuple[int, ...]


@cache
def _one(stride: Numbers, padding: Numbers, dilation: Numbers) -> Compute:
    (S,), (P,), (D,) = stride, padding, dilation

    @compute(fastmath=True)
    def convolution(
        x: Tensor[f32, "N", "C", "L"],
        w: Tensor[f32, "F", "C", "R"],
        out: Tensor[f32, "N", "F", "I"],
    ):
        for n, f, i in grid(N, F, I):
            s = 0.0
            for c, r in grid(C, R):
                if 0 <= S * i + D * r - P < L:
                    s += x[n, c, S * i + D * r - P] * w[f, c, r]
            out[n, f, i] = s

    return convolution


@cache
def _two(stride: Numbers, padding: Numbers, dilation: Numbers) -> Compute:
    (S, T), (P, Q), (D, E) = stride, padding, dilation

    @compute(fastmath=True)
    def convolution(
        x: Tensor[f32, "N", "C", "H", "W"],
        w: Tensor[f32, "F", "C", "A", "B"],
        out: Tensor[f32, "N", "F", "I", "J"],
    ):
        for n, f, i, j in grid(N, F, I, J):
            s = 0.0
            for c, a, b in grid(C, A, B):
                if 0 <= S * i + D * a - P < H and 0 <= T * j + E * b - Q < W:
                    s += x[n, c, S * i + D * a - P, T * j + E * b - Q] * w[f, c, a, b]
            out[n, f, i, j] = s

    return convolution


class Groups(NamedTuple):
    """The groups of a convolution, and the channels and filters of each."""

    count: int
    channels: int
    filters: int


@cache
def _grouped(groups: Groups, stride: Numbers, padding: Numbers, dilation: Numbers) -> Compute:
    (S, T), (P, Q), (D, E) = stride, padding, dilation
    M, C, F = groups
    ALL = M * F

    @compute(fastmath=True)
    def convolution(
        x: Tensor[f32, "N", "G", "H", "W"],
        w: Tensor[f32, ALL, C, "A", "B"],
        out: Tensor[f32, "R", "I", "J"],
    ):
        for r, i, j in grid(R, I, J):
            s = 0.0
            for c, a, b in grid(C, A, B):
                if 0 <= S * i + D * a - P < H and 0 <= T * j + E * b - Q < W:
                    s += (
                        x[r // ALL, r % ALL // F * C + c, S * i + D * a - P, T * j + E * b - Q]
                        * w[r % ALL, c, a, b]
                    )
            out[r, i, j] = s

    return convolution


@cache
def _three(groups: Groups, stride: Numbers, padding: Numbers, dilation: Numbers) -> Compute:
    (S, T, U), (P, Q, V), (D, E, G) = stride, padding, dilation
    M, C, F = groups
    ALL = M * F

    @compute(fastmath=True)
    def convolution(
        x: Tensor[f32, "N", "L", "Z", "H", "W"],
        w: Tensor[f32, ALL, C, "A", "B", "O"],
        out: Tensor[f32, "R", "I", "J", "K"],
    ):
        for r, j, k, i in grid(R, J, K, I):
            s = 0.0
            for c, a, b, o in grid(C, A, B, O):
                if 0 <= S * i + D * a - P < Z:
                    if 0 <= T * j + E * b - Q < H and 0 <= U * k + G * o - V < W:
                        s += (
                            x[
                                r // ALL, r % ALL // F * C + c,
                                S * i + D * a - P, T * j + E * b - Q, U * k + G * o - V,
                            ]
                            * w[r % ALL, c, a, b, o]
                        )  # fmt: skip
            out[r, i, j, k] = s

    return convolution


@cache
def _transposed_one(groups: Groups, steps: Numbers) -> Compute:
    M, C, F = groups
    (D,) = steps
    ALL, CHANNELS = M * F, M * C

    @compute(fastmath=True)
    def convolution(
        x: Tensor[f32, "N", CHANNELS, "L"],
        w: Tensor[f32, CHANNELS, F, "A"],
        out: Tensor[f32, "R", "I"],
        p: int,
    ):
        for r, i in grid(R, I):
            s = 0.0
            for c, a in grid(C, A):
                if 0 <= i + p - D * a < L:
                    s += (
                        x[r // ALL, r % ALL // F * C + c, i + p - D * a]
                        * w[r % ALL // F * C + c, r % F, a]
                    )
            out[r, i] = s

    return convolution


@cache
def _transposed_two(groups: Groups, steps: Numbers) -> Compute:
    M, C, F = groups
    D, E = steps
    ALL, CHANNELS = M * F, M * C

    @compute(fastmath=True)
    def convolution(
        x: Tensor[f32, "N", CHANNELS, "H", "W"],
        w: Tensor[f32, CHANNELS, F, "A", "B"],
        out: Tensor[f32, "R", "I", "J"],
        p: int,
        q: int,
    ):
        for r, i, j in grid(R, I, J):
            s = 0.0
            for c, a, b in grid(C, A, B):
                if 0 <= i + p - D * a < H and 0 <= j + q - E * b < W:
                    s += (
                        x[r // ALL, r % ALL // F * C + c, i + p - D * a, j + q - E * b]
                        * w[r % ALL // F * C + c, r % F, a, b]
                    )
            out[r, i, j] = s

    return convolution


@cache
def _transposed_three(groups: Groups, steps: Numbers) -> Compute:
    M, C, F = groups
    D, E, G = steps
    ALL, CHANNELS = M * F, M * C

    @compute(fastmath=True)
    def convolution(
        x: Tensor[f32, "N", CHANNELS, "Z", "H", "W"],
        w: Tensor[f32, CHANNELS, F, "A", "B", "O"],
        out: Tensor[f32, "R", "I", "J", "K"],
        p: int,
        q: int,
        v: int,
    ):
        for r, j, k, i in grid(R, J, K, I):
            s = 0.0
            for c, a, b, o in grid(C, A, B, O):
                if 0 <= i + p - D * a < Z:
                    if 0 <= j + q - E * b < H and 0 <= k + v - G * o < W:
                        s += (
                            x[
                                r // ALL, r % ALL // F * C + c,
                                i + p - D * a, j + q - E * b, k + v - G * o,
                            ]
                            * w[r % ALL // F * C + c, r % F, a, b, o]
                        )  # fmt: skip
            out[r, i, j, k] = s

    return convolution


_PLAIN = {1: _one, 2: _two}
_GROUPED = {2: _grouped, 3: _three}
_TRANSPOSED = {1: _transposed_one, 2: _transposed_two, 3: _transposed_three}


def _added(out: Any, bias: Any) -> Any:
    """A bias for each filter, in place."""
    if bias is not None:
        _shifted(out.view(out.shape[0], out.shape[1], -1), bias.detach())
    return out


@compute
def _shifted(out: Tensor[f32, "N", "F", "L"], bias: Tensor[f32, "F"]):
    for n, f, i in grid(N, F, L):
        out[n, f, i] += bias[f]


def _flat(x: Any) -> Any:
    """An array of images with three axes of places, the ones in front 1."""
    return x.view(*x.shape[:2], *(1,) * (5 - x.dim()), *x.shape[2:])


def _three_axes(x: Any) -> Any:
    """Likewise of any strides."""
    while x.dim() < 5:
        x = x.unsqueeze(2)
    return x


def _three_of(numbers: Numbers, other: int) -> shifted.Triple:
    z, y, x = (*(other,) * (3 - len(numbers)), *numbers)
    return z, y, x


def _convolved(layer: Any, x: Any) -> Any:
    w = layer.weight.detach()
    walk = layer.stride, layer.padding, layer.dilation
    ends = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(x.shape[2:], w.shape[2:], *walk, strict=True)
    ]
    out = x.new_empty((x.shape[0], w.shape[0], *ends))
    is_alone = layer.groups == x.shape[1] == w.shape[0]
    if is_alone and windows.is_for(tuple(w.shape[2:])):
        size = tuple(w.shape[2:])
        out = windows.slid("products", x, w, tuple(ends), size, *walk)
    elif layer.groups == 1 and shifted.is_for(x):
        if max(layer.stride) == 1 or max(layer.dilation) == 1:
            padding, dilation = _three_of(layer.padding, 0), _three_of(layer.dilation, 1)
            walk = shifted.Walk(padding, dilation, False, _three_of(layer.stride, 1))
            shifted.convolved(_flat(x), _flat(w), _flat(out), walk)
        else:
            words = {"stride": layer.stride, "padding": layer.padding, "dilation": layer.dilation}
            kernels.convolution(x, w, None, out, **words)
    elif layer.groups == 1 and len(ends) in _PLAIN:
        _PLAIN[len(ends)](*walk)(x, w, out)
    else:
        groups = Groups(layer.groups, w.shape[1], w.shape[0] // layer.groups)
        _GROUPED[len(ends)](groups, *walk)(x, w, out.view(-1, *ends))
    return _added(out, layer.bias)


def convolution(model: Any, x: Any) -> Any:
    """The convolution of a module's only layer."""
    (layer,) = model.children()
    return _convolved(layer, x)


def convolutions(model: Any, x: Any) -> Any:
    """Those of a module's layers, one behind the other."""
    for layer in model.children():
        x = _convolved(layer, x)
    return x


class Phase(NamedTuple):
    """Every stride-th result of an axis from one on, and what is added for it: every tap of a step
    from ``tap`` on, of the places ``result + offset - step * tap`` among both."""

    first: int
    tap: int
    offset: int


def phases(stride: int, padding: int, dilation: int) -> list[Phase | int]:
    """The phases of an axis of a transposed convolution; a number is the first result of one that
    no tap reaches.

    A result i is the sum over taps r of the places (i + padding - dilation * r) / stride that are
    whole numbers: of the taps of one residue.

    >>> phases(2, 1, 1)
    [Phase(first=0, tap=1, offset=0), Phase(first=1, tap=0, offset=1)]
    >>> phases(2, 0, 2)
    [Phase(first=0, tap=0, offset=0), 1]
    """
    found: list[Phase | int] = []
    for first in range(stride):
        place = first + padding
        taps = [r for r in range(stride) if (place - dilation * r) % stride == 0]
        found.append(
            Phase(first, taps[0], (place - dilation * taps[0]) // stride) if taps else first
        )
    return found


MOST_CALLS = 32
"""Of products of shifted rows for a transposed convolution: one for each phase and group."""


def _shifted_groups(x: Any, w: Any, out: Any, walk: shifted.Walk, groups: int) -> None:
    """A phase of a transposed convolution, a group after another."""
    channels, filters = x.shape[1] // groups, w.shape[1]
    for group in range(groups):
        own = slice(group * channels, (group + 1) * channels)
        results = out[:, group * filters : (group + 1) * filters]
        weights = _three_axes(w[own].transpose(0, 1))
        shifted.convolved(_three_axes(x[:, own]), weights, _three_axes(results), walk)


def transposed(model: Any, x: Any) -> Any:
    """The transposed convolution of a module's only layer, by the phases of its results."""
    (layer,) = model.children()
    w, groups = layer.weight.detach(), layer.groups
    words = layer.stride, layer.padding, layer.dilation
    ends = [
        (n - 1) * s - 2 * p + d * (k - 1) + more + 1
        for n, k, s, p, d, more in zip(
            x.shape[2:], w.shape[2:], *words, layer.output_padding, strict=True
        )
    ]
    out = x.new_empty((x.shape[0], groups * w.shape[1], *ends))
    results, shape = out.view(-1, *ends), (x.shape[0], -1)
    live = prod(sum(isinstance(e, Phase) for e in phases(*a)) for a in zip(*words, strict=True))
    by_shifts = groups * live <= MOST_CALLS and shifted.is_for(x)
    shared = [math.gcd(s, d) for s, d in zip(layer.stride, layer.dilation, strict=True)]
    taps = [s // g for s, g in zip(layer.stride, shared, strict=True)]
    steps = tuple([d // g for d, g in zip(layer.dilation, shared, strict=True)])
    count = Groups(groups, w.shape[0] // groups, w.shape[1])
    for each in product(*[phases(*axis) for axis in zip(*words, strict=True)]):
        firsts = [e.first if isinstance(e, Phase) else e for e in each]
        own = results[
            (..., *[slice(e, None, s) for e, s in zip(firsts, layer.stride, strict=True)])
        ]
        known = [e for e in each if isinstance(e, Phase)]
        part = w[(..., *[slice(e.tap, None, t) for e, t in zip(known, taps, strict=False)])]
        if len(known) < len(each) or 0 in part.shape:
            own.zero_()
        elif own.numel() and by_shifts:
            before = [
                d * (t - 1) - e.offset for d, t, e in zip(steps, part.shape[2:], known, strict=True)
            ]
            walk = shifted.Walk(_three_of(tuple(before), 0), _three_of(steps, 1), True)
            _shifted_groups(x, part, own.unflatten(0, shape), walk, groups)
        elif own.numel():
            _TRANSPOSED[len(ends)](count, steps)(x, part, own, *[e.offset for e in known])
    return _added(out, layer.bias)
