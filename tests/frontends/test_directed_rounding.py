"""Arithmetic of libdevice that is rounded in a direction, against fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests import on_shaders
from tests.devices import DEVICES

import gridlane
from gridlane import cuda
from gridlane.cuda import libdevice

_SINGLES = [1, 3, -7, 0.1, 1e30, 1e-30, 1e-44, 123.4]
_SMALL = [1, 3, -7, 0.1, 1e7, 1e-7, 123.4]
"""Shaders have float64 of the range of float32, and few keep subnormal numbers."""
FLOATS = [("f", device) for device in ("interp", *DEVICES)]
_NUMBERS = [
    1.0,
    3.0,
    -7.0,
    0.1,
    -1e300,
    1e-300,
    5e-324,
    1.7976931348623157e308,
    2.0**-1022,
    123.456,
]


def _beside(exact: Fraction, way: str, kind: Any) -> float:
    """The float at or beside a fraction in a direction."""
    if abs(exact) > Fraction(float(np.finfo(kind).max)):
        away = way == ("ru" if exact > 0 else "rd")
        return (1 if exact > 0 else -1) * (math.inf if away else float(np.finfo(kind).max))
    near = kind(float(exact))
    up = way == "ru" or (way == "rz" and exact < 0)
    while (Fraction(float(near)) < exact) if up else (Fraction(float(near)) > exact):
        near = np.nextafter(near, kind(math.inf if up else -math.inf))
    while True:  # the nearest one on that side
        with np.errstate(all="ignore"):
            inner = np.nextafter(near, kind(-math.inf if up else math.inf))
        if math.isinf(inner) or (
            Fraction(float(inner)) < exact if up else Fraction(float(inner)) > exact
        ):
            return float(near)
        near = inner


@pytest.mark.parametrize("way", ["rd", "ru", "rz"])
@pytest.mark.parametrize(("letter", "device"), [("d", "interp"), ("d", "cpu"), *FLOATS])
def test_arithmetic_in_a_direction(letter, device, way):
    kind: Any = np.float64 if letter == "d" else np.float32
    add, mul, div = (getattr(libdevice, f"{letter}{name}_{way}") for name in ("add", "mul", "div"))
    rcp, sqrt = (getattr(libdevice, f"{letter}{name}_{way}") for name in ("rcp", "sqrt"))
    fma = getattr(libdevice, f"fma{letter if letter == 'f' else ''}_{way}")

    def kernel(out, a, b):
        i = cuda.grid(1)
        x, y = a[i], b[i]
        out[0, i] = add(x, y)
        out[1, i] = add(x, -y)
        out[2, i] = mul(x, y)
        out[3, i] = div(x, y)
        out[4, i] = fma(x, y, x)
        out[5, i] = rcp(y)
        out[6, i] = sqrt(abs(x))

    with np.errstate(over="ignore", under="ignore"):
        numbers = np.array(
            _NUMBERS if letter == "d" else _SMALL if device in on_shaders.KINDS else _SINGLES, kind
        )
    a, b = (each.ravel() for each in np.meshgrid(numbers, numbers))
    out = np.zeros((7, a.size), kind)
    with gridlane.device(device):
        cuda.jit(kernel)[1, a.size](out, a, b)
    for i, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        p, q = Fraction(x), Fraction(y)
        for row, exact in enumerate((p + q, p - q, p * q, p / q, p * q + p, 1 / q)):
            if exact:
                assert out[row, i] == _beside(exact, way, kind), (row, x, y)
        found = float(out[6, i])
        inner = float(np.nextafter(kind(found), kind(0.0 if way == "ru" else math.inf)))
        low, high = (inner, found) if way == "ru" else (found, inner)
        assert Fraction(low) ** 2 <= abs(p) <= Fraction(high) ** 2
