"""Lattices that several tests launch, and what numpy says of them."""

from __future__ import annotations

import numpy as np

from gridlane import actors
from gridlane.cuda import float32, float64, int32, uint8


@actors.lattice(fields={"u": float32, "v": float32}, neighbours=6)
def wave(ctx, u, v, c):
    around = u[0, 0, 1] + u[0, 0, -1] + u[0, 1, 0] + u[0, -1, 0] + u[1, 0, 0] + u[-1, 0, 0]
    return 2 * u[0, 0, 0] - v[0, 0, 0] + c * (around - 6 * u[0, 0, 0]), u[0, 0, 0]


@actors.lattice(fields={"t": float32}, neighbours=4)
def heat(ctx, t, c):
    around = t[0, 1] + t[0, -1] + t[1, 0] + t[-1, 0]
    return t[0, 0] + c * (around - 4 * t[0, 0])


@actors.lattice(fields={"alive": uint8}, neighbours=8)
def life(ctx, alive):
    near = (
        alive[-1, -1] + alive[-1, 0] + alive[-1, 1] + alive[0, -1]
        + alive[0, 1] + alive[1, -1] + alive[1, 0] + alive[1, 1]
    )  # fmt: skip
    return 1 if near == 3 or (near == 2 and alive[0, 0] == 1) else 0


@actors.lattice(fields={"n": int32}, neighbours=26)
def corners(ctx, n):
    """Reads cells of all kinds: itself, a face, an edge, corners."""
    far = 3 * n[-1, -1, -1] + 5 * n[1, -1, 1] - n[1, 1, 1]
    return (n[0, 0, 0] + 2 * n[0, 1, -1] + 7 * n[-1, 0, 0] + far) % 1009


@actors.lattice(fields={"a": int32, "b": int32, "own": int32}, neighbours=8, halo=2)
def pair(ctx, a, b, own):
    """Two fields with neighbours, two cells away, and one without."""
    return (
        (a[0, 0] + b[-2, 1] + own[0, 0]) % 997,
        (b[0, 0] + 3 * a[2, -2] + a[0, 2]) % 991,
        own[0, 0] + ctx.x + 10 * ctx.y + ctx.step,
    )


@actors.lattice(fields={"d": float64}, neighbours=6, halo=3)
def far(ctx, d, weights):
    return weights[0] * d[3, 0, 0] + weights[1] * d[0, -2, 0] + 0.25 * d[0, 0, 1]


class Reader:
    """An array that is indexed by offsets, as the function of a cell indexes a field."""

    def __init__(self, values, periodic):
        self.values, self.periodic = values, periodic

    def __getitem__(self, offset):
        made = self.values
        for axis, each in enumerate(offset):
            if not each:
                continue
            made = np.roll(made, -each, axis)
            if not self.periodic[axis]:
                ends = np.moveaxis(made, axis, 0)
                if each > 0:
                    ends[-each:] = 0
                else:
                    ends[:-each] = 0
        return made


def numpy_steps(function, arrays, periodic, steps, args=(), fixed=()):
    """Apply a function of readers ``steps`` times; ``fixed`` axes keep their outermost cells."""
    for step in range(steps):
        old = arrays
        new = function(step, *[Reader(each, periodic) for each in old], *args)
        arrays = tuple(
            np.asarray(each).astype(before.dtype) for each, before in zip(new, old, strict=True)
        )
        for axis in fixed:
            for after, before in zip(arrays, old, strict=True):
                for end in (0, -1):
                    np.moveaxis(after, axis, 0)[end] = np.moveaxis(before, axis, 0)[end]
    return arrays


def numpy_wave(step, u, v, c):
    around = u[0, 0, 1] + u[0, 0, -1] + u[0, 1, 0] + u[0, -1, 0] + u[1, 0, 0] + u[-1, 0, 0]
    here = u[0, 0, 0]
    return np.float32(2) * here - v[0, 0, 0] + c * (around - np.float32(6) * here), here


def numpy_heat(step, t, c):
    around = t[0, 1] + t[0, -1] + t[1, 0] + t[-1, 0]
    return (t[0, 0] + c * (around - np.float32(4) * t[0, 0]),)


def numpy_life(step, alive):
    near = sum(alive[y, x] for y in (-1, 0, 1) for x in (-1, 0, 1) if y or x)
    return ((near == 3) | ((near == 2) & (alive[0, 0] == 1)),)


def numpy_corners(step, n):
    far_cells = 3 * n[-1, -1, -1] + 5 * n[1, -1, 1] - n[1, 1, 1]
    return ((n[0, 0, 0] + 2 * n[0, 1, -1] + 7 * n[-1, 0, 0] + far_cells) % 1009,)


def numpy_pair(step, a, b, own):
    y, x = np.indices(a.values.shape)
    return (
        (a[0, 0] + b[-2, 1] + own[0, 0]) % 997,
        (b[0, 0] + 3 * a[2, -2] + a[0, 2]) % 991,
        own[0, 0] + x + 10 * y + step,
    )


def numpy_far(step, d, weights):
    return (weights[0] * d[3, 0, 0] + weights[1] * d[0, -2, 0] + 0.25 * d[0, 0, 1],)
