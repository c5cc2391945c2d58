"""Coordinates of grids, by NumPy's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.launch import current
from gridlane.launch.devices import get_device
from gridlane.xp import manipulation, views
from gridlane.xp.applying import cast
from gridlane.xp.arrays import Array
from gridlane.xp.creation import asarray
from gridlane.xp.dtypes import checked
from gridlane.xp.nodes import index


def indices(
    dimensions: Any, dtype: Any = None, sparse: bool = False, *, device: str | None = None
) -> Any:
    """The indices of a grid's elements along each dimension.

    Args:
        dimensions: the grid's shape.
        sparse: whether to return a tuple of arrays that broadcast to the shape.

    >>> indices((2, 2)).tolist()
    [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    """
    shape = views.shape_of(dimensions)
    there = current.device() if device is None else get_device(device)
    own = checked(np.int64 if dtype is None else dtype)
    parts: list[Array] = []
    for axis in range(len(shape)):
        steps = tuple([int(each == axis) for each in range(len(shape))])
        extents = (
            shape
            if not sparse
            else tuple([n if s else 1 for n, s in zip(shape, steps, strict=True)])
        )
        parts.append(Array(cast(index(there, extents, steps), own)))
    if sparse:
        return tuple(parts)
    if not parts:
        return asarray(np.indices(shape, own), device=there.name)
    return manipulation.stack(parts)


class Grid:
    """NumPy's ``mgrid`` and ``ogrid``: coordinates by slices, whose step is a distance, or j times
    a number of coordinates. They are on the current device."""

    def __init__(self, is_open: bool) -> None:
        self._is_open = is_open

    def __getitem__(self, key: Any) -> Any:
        if self._is_open or not isinstance(key, tuple):
            found = np.ogrid[key]
            whole = isinstance(key, tuple)
            return tuple([asarray(each) for each in found]) if whole else asarray(found)
        axes = np.ogrid[key]
        shape = np.broadcast_shapes(*[each.shape for each in axes])
        dtype = np.result_type(*axes)
        parts = [asarray(each.astype(dtype)) for each in axes]
        return manipulation.stack([manipulation.broadcast_to(each, shape) for each in parts])


mgrid = Grid(is_open=False)
ogrid = Grid(is_open=True)
