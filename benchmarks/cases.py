"""The seven kernels that the CPU benchmark compares: inputs, sizes, targets, and what counts as
the same result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

VECTOR = 1 << 24
BODIES = 4096
MATRIX = 512
PICTURE = 1024
ITERATIONS = 200
OPTIONS = 1 << 22
BINS = 256
BLOCKS, THREADS = 64, 256  # of the kernels that walk their input with the stride of the grid

Inputs = dict[str, np.ndarray]
# A peer prepares a kernel once; what it returns is then called and timed. The second callable
# fetches the result, untimed.
Prepared = tuple[Callable[[], object], Callable[[], np.ndarray]]


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    what: str
    target: float  # our time as a multiple of gcc's
    make_inputs: Callable[[np.random.Generator], Inputs]
    same: Callable[[np.ndarray, np.ndarray], bool]

    def inputs(self) -> Inputs:
        """The same arrays in every process."""
        return self.make_inputs(np.random.default_rng(0))


def _floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.random(shape, dtype=np.float32)


def _relative(limit: float) -> Callable[[np.ndarray, np.ndarray], bool]:
    """The largest difference, as a fraction of the largest value."""
    return lambda got, want: bool(np.abs(got - want).max() <= limit * np.abs(want).max())


def _mostly_equal(got: np.ndarray, want: np.ndarray) -> bool:
    """At the border of the set one rounding decides, and fast-math may round either way."""
    return float((got == want).mean()) > 0.99


CASES: dict[str, Case] = {
    case.name: case
    for case in (
        Case(
            "vecadd",
            "2^24 float32",
            1.15,
            lambda rng: {"a": _floats(rng, VECTOR), "b": _floats(rng, VECTOR)},
            lambda got, want: np.array_equal(got, want),
        ),
        Case(
            "nbody",
            "4096 bodies, shared tiles of 256",
            0.6,
            lambda rng: {"bodies": _floats(rng, BODIES, 4)},
            _relative(1e-3),
        ),
        Case(
            "mandelbrot",
            "1024x1024, 200 iterations, blocks of 16x16",
            0.2,
            lambda rng: {},
            _mostly_equal,
        ),
        Case(
            "blackscholes",
            "2^22 options",
            1.15,
            lambda rng: {
                "spot": _floats(rng, OPTIONS) * np.float32(100) + np.float32(10),
                "strike": _floats(rng, OPTIONS) * np.float32(100) + np.float32(10),
            },
            _relative(1e-5),
        ),
        Case(
            "matmul",
            "512x512, shared tiles of 16x16",
            2.5,
            lambda rng: {"a": _floats(rng, MATRIX, MATRIX), "b": _floats(rng, MATRIX, MATRIX)},
            _relative(1e-5),
        ),
        Case(
            "reduction",
            "2^24 float32, barrier tree in 64 blocks of 256",
            4.0,
            lambda rng: {"values": _floats(rng, VECTOR)},
            _relative(1e-4),
        ),
        Case(
            "histogram",
            "2^24 int32, 256 bins, shared atomics in 64 blocks of 256",
            5.0,
            lambda rng: {"values": rng.integers(0, BINS, VECTOR, dtype=np.int32)},
            lambda got, want: np.array_equal(got, want),
        ),
    )
}
