"""The inputs and the expected results of each kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridlane.cli.gpu_bench import kernels

Arrays = list[np.ndarray]
SEED = 7


@dataclass(frozen=True)
class Case:
    """A kernel and its launch.

    Attributes:
        arrays: host arrays; those of ``outputs`` are compared.
        scalars: the arguments after the arrays.
        work: operations or bytes of one launch, with the unit of the rate.
    """

    name: str
    kernel: Any
    grid: Any
    block: Any
    arrays: list[np.ndarray]
    scalars: tuple[Any, ...]
    outputs: tuple[int, ...]
    work: tuple[float, str]
    tolerance: float = 1e-4


def _floats(*shapes: tuple[int, ...]) -> Arrays:
    rng = np.random.default_rng(SEED)
    return [rng.random(shape, np.float32) for shape in shapes]


def vecadd(scale: int = 1) -> Case:
    """Memory-bound."""
    n = (1 << 27) // scale
    arrays = [*_floats((n,), (n,)), np.zeros(n, np.float32)]
    work = (12 * n / 1e9, "GB")
    return Case("vecadd", kernels.vecadd, -(-n // 256), 256, arrays, (n,), (2,), work, 0)


def nbody(scale: int = 1) -> Case:
    """Compute-bound; by convention 20 operations per interaction."""
    n = max(256, (1 << 17) // scale)
    arrays = [*_floats((n, 4)), np.zeros((n, 4), np.float32)]
    work = (20.0 * n * n / 1e12, "TFLOP")
    return Case("nbody", kernels.nbody, n // 256, 256, arrays, (n,), (1,), work, 1e-3)


def matmul(scale: int = 1) -> Case:
    """Tiles in shared memory, one element per thread."""
    n = max(64, 4096 // scale)
    arrays = [*_floats((n, n), (n, n)), np.zeros((n, n), np.float32)]
    grid, work = (n // 32, n // 32), (2.0 * n**3 / 1e12, "TFLOP")
    return Case("matmul", kernels.matmul, grid, (32, 32), arrays, (n,), (2,), work)


def reduction(scale: int = 1) -> Case:
    """Shuffles in warps, and one atomic addition per block."""
    n = (1 << 28) // scale
    arrays = [*_floats((n,)), np.zeros(1, np.float32)]
    work = (4 * n / 1e9, "GB")
    return Case("reduction", kernels.reduction, 132 * 8, 256, arrays, (n,), (1,), work, 1e-3)


CASES: dict[str, Callable[[int], Case]] = {
    made.__name__: made for made in (vecadd, nbody, matmul, reduction)
}
"""Makers of the cases; their argument divides the sizes, for a machine without a GPU."""


# --- the expected results, checked on the arrays after one launch ---


def _sums(arrays: Arrays) -> bool:
    a, b, c = arrays
    return np.array_equal(a + b, c)


def _forces(arrays: Arrays) -> bool:
    """Check the forces on a few bodies."""
    bodies, forces = (array.astype(np.float64) for array in arrays)
    chosen = np.linspace(0, len(bodies) - 1, 16).astype(int)
    away = bodies[None, :, :3] - bodies[chosen, None, :3]
    inverse = ((away**2).sum(axis=2) + 1e-3) ** -0.5
    want = (away * (bodies[:, 3] * inverse**3)[:, :, None]).sum(axis=1)
    return bool(np.abs(forces[chosen, :3] - want).max() <= 1e-3 * np.abs(want).max())


def _products(arrays: Arrays) -> bool:
    """Check a few rows."""
    a, b, c = arrays
    chosen = np.linspace(0, len(a) - 1, 16).astype(int)
    return np.allclose(a[chosen].astype(np.float64) @ b, c[chosen], rtol=1e-4)


def _total(arrays: Arrays) -> bool:
    values, out = arrays
    return bool(np.isclose(values.sum(dtype=np.float64), out[0], rtol=1e-4))


RIGHT: dict[str, Callable[[Arrays], bool]] = {
    "vecadd": _sums,
    "nbody": _forces,
    "matmul": _products,
    "reduction": _total,
}
