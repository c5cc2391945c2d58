"""The error of each device's inexact functions against the interpreter's, in ulp of the type.

The interpreter computes in f64 with the C library, so for f64 its own error adds to it. The grid
has special values, random bits, and numbers near the function's poles, zeros and steep places.
"""

from __future__ import annotations

import random
from functools import cache

import numpy as np

from gridlane.backends import backend
from gridlane.conformance.cases import INEXACT, Case, emitting, over
from gridlane.conformance.module_runner import run_on
from gridlane.conformance.special import special
from gridlane.core.dtypes import FLOATS, DType, f64
from gridlane.ir.op import REGISTRY
from gridlane.ir.ops import math

DEFAULT = {"f16": 1, "bf16": 1, "f32": 4, "f64": 4}
"""4 is the bound of glibc's vector math library."""

GAMMA: dict[str, dict[str, int]] = {"tgamma": {"f64": 10}, "lgamma": {"f64": 10}}
"""Python's gamma functions are within 10 ulp themselves."""


def allowed(target: str, name: str, dtype: DType) -> int:
    """The error bound of a function in ulp."""
    bounds = {**GAMMA.get(name, {}), **backend(target).ulp.get(name, {})}
    return bounds.get(str(dtype), DEFAULT[str(dtype)])


NAMES = sorted(cls.name for cls in INEXACT)

SHORT = ("exp",)
"""The function that stands for all others where an f64 one, emulated bitwise by integers, is
megabytes of text; tests/passes runs all, on the interpreter."""


def types_of(name: str, target: str) -> tuple[DType, ...]:
    """The types on which a function is tested."""
    if not backend(target).float64 and name not in SHORT:
        return tuple(dtype for dtype in FLOATS if dtype is not f64)
    return FLOATS


def column(dtype: DType, name: str, count: int = 4000) -> np.ndarray:
    """Values of all magnitudes, many of them common ones."""
    generator = random.Random(f"{name} {dtype}")
    near = [generator.choice((0.0, 1.0, -1.0, 2.0, -3.0)) for _ in range(count // 4)]
    near = [x + generator.gauss(0, 1) * 10.0 ** generator.uniform(-8, -1) for x in near]
    usual = [generator.uniform(-20, 20) for _ in range(count // 4)]
    usual += [generator.uniform(-700, 700) for _ in range(count // 8)]
    usual += [10.0 ** generator.uniform(-30, 30) for _ in range(count // 8)]
    with np.errstate(all="ignore"):
        plain = np.array(near + usual).astype(dtype.numpy)
    values = np.concatenate([special(dtype, 40), plain])
    if name.startswith("lgamma"):
        # Near its zeros between negative integers only the absolute error is small.
        values = np.abs(values)
    generator.shuffle(order := list(range(len(values))))
    return values[order]


def ordinals(values: np.ndarray) -> np.ndarray:
    """Integers whose difference is the distance in ulp; both zeros are 0."""
    bits = values.view(f"u{values.dtype.itemsize}").astype(object)
    sign = 1 << (values.dtype.itemsize * 8 - 1)
    return np.where(bits >= sign, sign - bits, bits)


def distance(got: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The distance in ulp between elements; NaN to NaN is 0, NaN to a number infinite."""
    a, b = got.astype(np.float64), wanted.astype(np.float64)
    ulp = np.abs(ordinals(got) - ordinals(wanted)).astype(np.float64)
    ulp = np.where(np.isnan(a) & np.isnan(b), 0.0, ulp)
    return np.where(np.isnan(a) != np.isnan(b), np.inf, ulp)


@cache
def function_case(name: str, dtype: DType, count: int = 4000) -> Case:
    """A function over ``count`` values or more."""
    cls = REGISTRY[name]
    operands = 2 if issubclass(cls, math.MathBinary) else 1
    columns = [column(dtype, f"{name}{n}", count) for n in range(operands)]
    return over(name, str(dtype), [dtype] * operands, columns, emitting(cls))


def compared(name: str, dtype: DType, device: str) -> tuple[np.ndarray, list[np.ndarray]]:
    """The distances, and operands with both results."""
    case = function_case(name, dtype)
    launch = (case.module, case.grid, case.block, case.arrays)
    wanted = run_on("interp", *launch).arrays[-1]
    got = run_on(device, *launch).arrays[-1]
    return distance(got, wanted), [*case.arrays[:-1], got, wanted]
