"""Arguments of PolyBench's programs, and the run of a nest by CPython."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

from gridlane.compute import Compute

Arrays = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Program:
    """A program of PolyBench.

    Attributes:
        nest: its loops.
        arguments: arguments by name, of a generator and sizes.
        mini: the specification's sizes of MINI_DATASET, or smaller.
        large: sizes of measurements.
        reference: its outputs by NumPy, by name, of copies of the arguments.
    """

    nest: Compute
    arguments: Callable[..., Arrays]
    mini: tuple[int, ...]
    large: tuple[int, ...]
    reference: Callable[[Arrays], Arrays] | None = None

    def inputs(self, sizes: tuple[int, ...]) -> Arrays:
        """The arguments of some sizes."""
        return self.arguments(np.random.default_rng(sum(sizes)), *sizes)


def copies(arguments: Arrays) -> Arrays:
    """The same with arrays of their own."""
    return {name: v.copy() if isinstance(v, np.ndarray) else v for name, v in arguments.items()}


def spread(rng: np.random.Generator, n: int) -> np.ndarray:
    """A symmetric positive definite matrix, whose factors have elements of similar size."""
    a = rng.random((n, n))
    return (a @ a.T) / n + 2 * np.eye(n)


def _grid(*extents: int) -> Iterable[Any]:
    if len(extents) == 1:
        return range(extents[0])
    return itertools.product(*map(range, extents))


def by_cpython(nest: Compute, arguments: Arrays) -> None:
    """Run the function of a nest as the Python program that it is."""
    extents: dict[str, Any] = {}
    for name, type_ in nest.nest.tensors.items():
        for extent, value in zip(type_.extents, arguments[name].shape, strict=True):
            extents[str(extent)] = value
    scope = {**nest.function.__globals__, "grid": _grid, "parallel": _grid, "math": math, **extents}
    with np.errstate(all="raise", under="ignore"):
        FunctionType(nest.function.__code__, scope)(*arguments.values())
