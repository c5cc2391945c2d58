"""How far the inexact functions of each device are from the interpreter's, in ulp of the type.

The interpreter computes in f64 with the C library, so for f64 its own ulp comes on top. The grid
has special values, random bits, and numbers near the function's poles, zeros and steep places.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.devices import DEVICES, run_on
from tests.ops.cases import INEXACT, emitting, over
from tests.ops.special import special

from gridlane.core.dtypes import FLOATS, DType
from gridlane.ir.op import REGISTRY
from gridlane.ir.ops import math

DEFAULT = {"f16": 1, "bf16": 1, "f32": 4, "f64": 4}
"""4 is what the vector math library of glibc promises."""

ALLOWED: dict[str, dict[str, dict[str, int]]] = {
    # Python's gamma functions are within 10 ulp themselves.
    "cuda": {
        "tgamma": {"f32": 11, "f64": 10},
        "lgamma": {"f64": 10},
    },
    "cpu": {"tgamma": {"f64": 10}, "lgamma": {"f64": 10}},
    "vulkan": {"tgamma": {"f64": 10}, "lgamma": {"f64": 10}},
}
"""Ulp by device, function and type, where they are not DEFAULT."""

NAMES = sorted(cls.name for cls in INEXACT)


def column(dtype: DType, name: str, count: int = 4000) -> np.ndarray:
    """Values of all magnitudes, many of them of everyday size."""
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
    """Ulp between elements; NaN to NaN is 0, NaN to a number infinite."""
    a, b = got.astype(np.float64), wanted.astype(np.float64)
    ulp = np.abs(ordinals(got) - ordinals(wanted)).astype(np.float64)
    ulp = np.where(np.isnan(a) & np.isnan(b), 0.0, ulp)
    return np.where(np.isnan(a) != np.isnan(b), np.inf, ulp)


def compared(name: str, dtype: DType, device: str) -> tuple[np.ndarray, list[np.ndarray]]:
    """The distances, and operands with both results."""
    cls = REGISTRY[name]
    count = 2 if issubclass(cls, math.MathBinary) else 1
    columns = [column(dtype, f"{name}{n}") for n in range(count)]
    case = over(name, "", [dtype] * count, columns, emitting(cls))
    launch = (case.module, case.grid, case.block, case.arrays)
    wanted = run_on("interp", *launch).arrays[-1]
    got = run_on(device, *launch).arrays[-1]
    return distance(got, wanted), [*columns, got, wanted]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_ulp(name: str, dtype: DType, device: str) -> None:
    ulp, columns = compared(name, dtype, device)
    allowed = ALLOWED[device].get(name, {}).get(str(dtype), DEFAULT[str(dtype)])
    worst = int(ulp.argmax())
    *operands, got, wanted = (values[worst] for values in columns)
    assert ulp[worst] <= allowed, f"{name}{tuple(operands)}: {got!r}, not {wanted!r}"
