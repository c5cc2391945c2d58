"""Functions of f32 where a fused multiply-add rounds once, on every 100,000th float."""

from __future__ import annotations

import math as exact
from collections.abc import Callable

import numpy as np
import pytest

from gridlane.conformance.kernels import elementwise
from gridlane.conformance.module_runner import run_on
from gridlane.core.dtypes import f32
from gridlane.core.options import KernelOptions
from gridlane.ir.op import Op
from gridlane.ir.ops import math
from gridlane.passes.legalise.math.functions import BY_FMA

UNLIKE = {
    "exp10": lambda x: np.power(10.0, x),
    "erf": np.vectorize(exact.erf, otypes=[np.float64]),
    "erfc": np.vectorize(exact.erfc, otypes=[np.float64]),
    "rsqrt": lambda x: np.where(x == 0, np.copysign(np.inf, x), 1 / np.sqrt(x)),
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
}


UNARY = [op for op in BY_FMA if issubclass(op, math.MathUnary)]


def reference(op: type[Op]) -> Callable[[np.ndarray], np.ndarray]:
    """The function of float64."""
    return UNLIKE.get(op.name) or getattr(np, op.name)


def arguments() -> np.ndarray:
    """Floats of every size, and of the intervals where functions are neither 0, 1 nor infinite."""
    bits = np.arange(0, 1 << 32, 100_003, dtype=np.uint64).astype(np.uint32)
    edges = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 2.0**-149], np.float32)
    lines = [np.linspace(-end, end, 60_000, dtype=np.float32) for end in (1, 4, 110, 30_000)]
    x = np.concatenate([edges, bits.view(np.float32), *lines])
    return x[: x.size // 256 * 256]


@pytest.mark.parametrize("op", UNARY, ids=lambda op: op.name)
def test_errors_of_at_most_an_ulp(op):
    x = arguments()
    within_an_ulp(op, reference(op), x)


def test_errors_of_powers():
    """Of bases near 1 and others, with exponents whose powers are neither 0 nor infinite."""
    generator = np.random.default_rng(7)
    x = generator.integers(0, 1 << 32, 256 * 256, dtype=np.uint32).view(np.float32)
    x[::2] = generator.uniform(0, 3, x.size // 2)
    with np.errstate(all="ignore"):
        y = generator.uniform(-104, 89, x.size) / np.log(np.abs(x.astype(np.float64)))
        y[::8] = np.rint(y[::8])
    edges = np.array([0, -0.0, 1, -1, 3, -2, 0.5, np.inf, -np.inf, np.nan], np.float32)
    x[:100], y[:100] = np.repeat(edges, 10), np.tile(edges, 10)
    within_an_ulp(math.Pow, np.power, x, y.astype(np.float32))


def test_errors_of_angles():
    """Of points of every size, and in every direction from the edges."""
    generator = np.random.default_rng(8)
    y = generator.integers(0, 1 << 32, 256 * 256, dtype=np.uint32).view(np.float32)
    x = generator.integers(0, 1 << 32, 256 * 256, dtype=np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        x[::2] = y[::2] * generator.uniform(-2, 2, x.size // 2).astype(np.float32)
    edges = np.array([0, -0.0, 1, -1, 3, -2, 0.5, np.inf, -np.inf, np.nan], np.float32)
    x[:100], y[:100] = np.repeat(edges, 10), np.tile(edges, 10)
    within_an_ulp(math.Atan2, np.arctan2, y, x)


def within_an_ulp(op: type[Op], of_doubles: Callable[..., np.ndarray], *columns: np.ndarray):
    """Compare the results on the CPU with those of float64."""
    x = columns[0]
    module, _ = elementwise([f32] * len(columns), lambda b, *v: [b.value(op(*v))], x.size)
    arrays = [*columns, np.zeros_like(x)]
    options = KernelOptions(own_functions=True, fma=False)
    result = run_on("cpu", module, (x.size // 256, 1, 1), (256, 1, 1), arrays, options=options)
    got = result.arrays[-1]
    with np.errstate(all="ignore"):
        wanted = of_doubles(*[each.astype(np.float64) for each in columns])
        nearest = wanted.astype(np.float32)
        ulp = np.spacing(np.minimum(np.abs(nearest), np.finfo(np.float32).max))
        error = np.abs(got.astype(np.float64) - wanted) / ulp
    same = (got == nearest) | (np.isnan(nearest) & np.isnan(got))
    worst = int(np.argmax(np.where(same, 0, error)))
    assert same[worst] or error[worst] <= 1.0, (
        f"{worst}: {x[worst]!r}, {got[worst]!r}, {error[worst]} ulp"
    )
    zeros = nearest == 0
    assert np.array_equal(np.signbit(got[zeros]), np.signbit(nearest[zeros]))
