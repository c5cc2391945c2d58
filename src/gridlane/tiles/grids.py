"""The grids of launches."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from gridlane.core.errors import ArgumentError
from gridlane.launch.dimensions import Dim3


def grid_of(grid: Any, arguments: Mapping[str, Any]) -> Dim3:
    """The number of programs along each of three axes.

    Args:
        grid: a number, a tuple or list of up to three, or a function of the arguments by name.
    """
    shape = grid(arguments) if callable(grid) else grid
    items: list[Any] = list(shape) if isinstance(shape, tuple | list) else [shape]
    if not 1 <= len(items) <= 3:
        raise ArgumentError(f"a grid has 1 to 3 axes, not {len(items)}: {shape!r}")
    numbers: list[int] = []
    for item in items:
        try:
            numbers.append(operator.index(item))
        except TypeError:
            numbers.append(-1)
        if numbers[-1] < 0:
            raise ArgumentError(f"a grid has whole numbers of programs, not {item!r}")
    x, y, z = numbers + [1] * (3 - len(numbers))
    return x, y, z
