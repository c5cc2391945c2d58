"""The functions of cmath against Python's own, at zeros, infinities, NaN and ordinary numbers."""

from __future__ import annotations

import cmath
import itertools
import math

import numpy as np
import pytest
from tests import on_shaders
from tests.devices import DEVICES
from tests.effort import NIGHTLY

from gridlane import cuda
from gridlane.launch import current
from gridlane.launch.devices import get_device

INF, NAN = math.inf, math.nan
PARTS = (-0.0, 0.0, 1.0, -1.0, 1.5, -3.5, 0.25, 1e-3, math.pi, 30.0, -INF, INF, NAN)
NAMES = (
    "exp log log10 sqrt sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh phase"
).split()
# Of each part of a result, relative.
TOLERANCE = {np.complex128: 4e-15, np.complex64: 2e-6}


# Arrays of complex128 are of float64, which WebGPU and OpenGL refuse unless asked otherwise.
WITH_FLOAT64 = ["interp", *(name for name in DEVICES if name not in on_shaders.KINDS)]
TYPES = [(device, np.complex128) for device in WITH_FLOAT64]
TYPES += [(device, np.complex64) for device in ("interp", *DEVICES)]


def use(device, monkeypatch):
    found = get_device(device)
    current.choose(found)


def cases(function, dtype, parts=PARTS):
    """Numbers and what Python makes of them, where it does not raise."""
    for real, imag in itertools.product(parts, parts):
        number = complex(dtype(complex(real, imag)))
        try:
            yield number, complex(function(number))
        except (ValueError, OverflowError):
            continue


def agrees(found, expected, tolerance):
    if math.isnan(expected):
        return math.isnan(found)
    if expected == 0 or math.isinf(expected):
        same_sign = math.copysign(1, found) == math.copysign(1, expected)
        return found == expected and same_sign
    return abs(found - expected) <= tolerance * abs(expected)


def check(function, dtype, numbers, expected):
    @cuda.jit
    def kernel(values, out):
        i = cuda.grid(1)
        if i < values.size:
            out[i] = function(values[i])

    values, out = np.array(numbers, dtype), np.zeros(len(numbers), dtype)
    kernel[(len(numbers) + 63) // 64, 64](values, out)
    tolerance = TOLERANCE[dtype]
    for number, one, other in zip(numbers, out.tolist(), expected, strict=True):
        right = agrees(one.real, other.real, tolerance) and agrees(one.imag, other.imag, tolerance)
        assert right, (function.__name__, number, one, other)


def tried():
    """All on the interpreter and the CPU, a third on each other device: it runs the same IR."""
    for n, name in enumerate(NAMES):
        for m, (device, dtype) in enumerate(TYPES):
            if NIGHTLY or device in ("interp", "cpu") or (n + m) % 3 == 0:
                yield name, device, dtype


@pytest.mark.parametrize(("name", "device", "dtype"), list(tried()))
def test_like_python(name, device, dtype, monkeypatch):
    use(device, monkeypatch)
    function = getattr(cmath, name)
    numbers, expected = zip(*cases(function, dtype), strict=True)
    assert len(numbers) > 100
    check(function, dtype, numbers, expected)


@pytest.mark.parametrize("device", WITH_FLOAT64)
def test_roots_of_the_largest_numbers(device, monkeypatch):
    use(device, monkeypatch)
    large = np.finfo(np.float64).max
    numbers = [complex(large, large), complex(-large, large), complex(1e308, -3e307)]
    check(cmath.sqrt, np.complex128, numbers, [cmath.sqrt(number) for number in numbers])


@pytest.mark.parametrize("device", WITH_FLOAT64)
def test_quotients_have_zeros_of_pythons_sign(device, monkeypatch):
    use(device, monkeypatch)

    @cuda.jit
    def kernel(a, b, out):
        i = cuda.grid(1)
        if i < a.size:
            out[i] = a[i] / b[i]

    pairs = [*itertools.product((1j, -1j, 1 + 0j, -1 + 0j, 2 + 2j, 0j), (1j, 2 - 1j, -3 + 0j))]
    a, b = (np.array(numbers) for numbers in zip(*pairs, strict=True))
    out = np.zeros_like(a)
    kernel[1, 32](a, b, out)
    for (x, y), found in zip(pairs, out.tolist(), strict=True):
        expected = x / y
        right = agrees(found.real, expected.real, 4e-15)
        assert right and agrees(found.imag, expected.imag, 4e-15), (x, y, found, expected)


EDGES = [(r, phi) for r in (0.0, -0.0) for phi in (np.inf, -np.inf, np.nan, 1.0)]
EDGES += [(r, phi) for r in (np.inf, -np.inf, np.nan, 2.0, 0.0) for phi in (0.0, -0.0)]
EDGES += [(r, np.nan) for r in (np.inf, -np.inf, 2.0)]


@pytest.mark.parametrize(("radius", "angle"), EDGES)
def test_edges_of_rect(radius, angle):
    @cuda.jit
    def kernel(out, r, phi):
        out[0] = cmath.rect(r, phi)

    out = np.full(1, np.nan, np.complex128)
    kernel[1, 1](out, radius, angle)
    assert str(out[0]) == str(np.complex128(cmath.rect(radius, angle)))
