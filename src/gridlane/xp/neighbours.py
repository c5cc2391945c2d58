"""Functions of neighbouring elements: gradients and convolutions."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.xp import dtypes, manipulation, products, views
from gridlane.xp.arrays import Array
from gridlane.xp.creation import asarray, zeros
from gridlane.xp.operands import of_array


@of_array
def gradient(f: Array, /, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """The derivatives along each dimension by differences of neighbours, as NumPy has them.

    Args:
        varargs: the distance of neighbours along all dimensions, or for each one a distance or the
            coordinates.
        axis: the dimensions; by default all.
        edge_order: 1 or 2, the order of the differences at the edges.

    Raises:
        ValueError: there are too few elements, or the coordinates do not fit them.
        TypeError: there is not one distance for each dimension.
    """
    axes = tuple(range(f.ndim)) if axis is None else views.axes_of(axis, f.ndim)
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    if len(varargs) > 1 and len(varargs) != len(axes):
        raise TypeError("invalid number of arguments")
    given = varargs * len(axes) if len(varargs) == 1 and not np.ndim(varargs[0]) else varargs
    if given and len(given) != len(axes):
        raise TypeError("invalid number of arguments")
    values = f if dtypes.letter(f.dtype) in "fc" else f.astype(np.float64)
    results = [
        _slopes(values, along, _distances(given[n], f.shape[along]) if given else 1.0, edge_order)
        for n, along in enumerate(axes)
    ]
    return results[0] if len(results) == 1 else tuple(results)


def _distances(given: Any, extent: int) -> Any:
    """The distance of all neighbours, or NumPy's array of each one's."""
    host = np.asarray(given)
    if not host.ndim:
        return host.item()
    if host.ndim != 1:
        raise ValueError("distances must be either scalars or 1d")
    if host.size != extent:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    steps = np.diff(host.astype(np.float64) if host.dtype.kind in "biu" else host)
    return steps[0].item() if steps.size and (steps == steps[0]).all() else steps


def _slopes(f: Array, along: int, steps: Any, edge_order: int) -> Array:
    if f.shape[along] < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) "
            "elements are required."
        )

    def at(start: int, stop: int | None) -> Array:
        return f[(*[slice(None)] * along, slice(start, stop))]

    count = f.shape[along]
    first, last = (steps, steps) if np.ndim(steps) == 0 else (steps[0].item(), steps[-1].item())
    if edge_order == 1:
        begin = (at(1, 2) - at(0, 1)) / first
        end = (at(count - 1, count) - at(count - 2, count - 1)) / last
    else:
        ends = (steps,) * 4 if np.ndim(steps) == 0 else (*steps[:2], *steps[:-3:-1])
        d1, d2, e1, e2 = [float(each) for each in ends]
        begin = _edge(at(0, 1), at(1, 2), at(2, 3), d1, d2)
        last_ones = [at(count - n, count - n + 1) for n in (1, 2, 3)]
        end = -_edge(last_ones[0], last_ones[1], last_ones[2], e1, e2)
    if count == 2:
        return manipulation.concat([begin, end], axis=along)
    before, here, after = at(0, -2), at(1, -1), at(2, None)
    if np.ndim(steps) == 0:
        inner = (after - before) / (2.0 * steps)
    else:
        shape = (*[1] * along, -1, *[1] * (f.ndim - along - 1))
        dx1, dx2 = [
            asarray(each, device=f.device).astype(f.dtype).reshape(shape)
            for each in (steps[:-1], steps[1:])
        ]
        inner = (
            -dx2 / (dx1 * (dx1 + dx2)) * before
            + (dx2 - dx1) / (dx1 * dx2) * here
            + dx1 / (dx2 * (dx1 + dx2)) * after
        )
    return manipulation.concat([begin, inner, end], axis=along)


def _edge(a: Array, b: Array, c: Array, near: float, far: float) -> Array:
    """The slope at ``a``, whose neighbours are at the distances ``near`` and ``near + far``."""
    both = near + far
    return (
        -(2.0 * near + far) / (near * both) * a + both / (near * far) * b - near / (far * both) * c
    )


@of_array
def convolve(a: Array, v: Array, /, mode: str = "full") -> Array:
    """The convolution of two vectors; the sums of products are those of ``vecdot``.

    Args:
        mode: "full", "same" for as many elements as the longer one has, or "valid" for those in
            which both overlap wholly.

    Raises:
        ValueError: an operand is empty or no vector, or there is no such mode.
    """
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    if a.ndim > 1 or v.ndim > 1:
        raise ValueError("object too deep for desired array")
    long, short = [manipulation.reshape(each, (-1,)) for each in (a, v)]
    if short.size > long.size:
        long, short = short, long
    for name, each in (("a", a), ("v", v)):
        if not each.size:
            raise ValueError(f"{name} cannot be empty")
    dtype = dtypes.result_type(a, v)
    most = short.size - 1
    behind = {"full": most, "same": most // 2, "valid": 0}[mode]
    beside = most - behind if mode == "same" else behind
    padded = zeros((beside + long.size + behind,), dtype, device=a.device)
    padded[beside : beside + long.size] = long
    leaf = padded.leaf()
    assert leaf.storage is not None
    count = padded.size - short.size + 1
    windows = Array(leaf.storage.leaf(leaf.dtype, (count, short.size), (1, 1), leaf.offset))
    weights = manipulation.flip(short).astype(dtype, copy=False)
    return products.matmul(windows, weights)
