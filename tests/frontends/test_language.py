"""The language against Python itself: each function runs in the interpreter and in Python."""

# ruff: noqa: E731

from __future__ import annotations

import math
import operator
from collections import namedtuple
from enum import IntEnum

import numpy as np
import pytest
from tests.frontends.running import device, launch, returned

Point = namedtuple("Point", "x y")
LIMIT = 7
SCALE = np.float64(0.5)
SIZES = (3, 4, 5)
TABLE = np.arange(12, dtype=np.int64).reshape(3, 4)


class Level(IntEnum):
    LOW = 1
    HIGH = 9


def while_else(out, n):
    i = 0
    while i < n:
        if i == 5:
            break
        i += 1
    else:
        out[1] = 100
    out[0] = i


def for_else(out, n):
    for i in range(n):
        if i == 3:
            break
    else:
        out[0] = -1
        return
    out[1] = i


def nested_breaks(out, n):
    total = 0
    for i in range(n):
        for j in range(n):
            if j > i:
                break
            if (i + j) % 2:
                continue
            total += i * 10 + j
        else:
            total += 1000
    out[0] = total


def ranges(out, n):
    total = 0
    for i in range(n, -n, -2):
        total = total * 3 + i
    for i in range(2, n):
        total += i
    step = -3 if n > 4 else 2
    for i in range(n, n + step * 3, step):
        total += i * i
    out[0] = total


def collatz(out, n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    out[0] = steps


def swaps(out, n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    out[0] = a


def chained(out, n):
    out[0] = 1 if 0 < n <= 5 != 4 else 2
    out[1] = not (n > 3 and n < 6) or n == 4


def values_of_and_or(out, n):
    out[0] = (n and 5) + (n or 8)
    out[1] = ((n - 3) and (n + 1)) or 77


def division_signs(out, n):
    k = 0
    for a in (-7, 7):
        for b in (-3, 3, n + 1):
            out[k] = a // b
            out[k + 1] = a % b
            k += 2


def float_division_signs(out, x):
    k = 0
    for a in (-7.5, 7.5, x):
        for b in (-2.0, 2.5):
            out[k] = a // b
            out[k + 1] = a % b
            k += 2


def bits(out, n):
    out[0] = (n << 3) ^ (n >> 1) | (~n & 15)
    out[1] = -n & 0xFF


def powers(out, n):
    out[0] = n**2 + n**3 + 2**n
    out[1] = float(n) ** 3 + 2.0**-2 + float(n) ** 0.5


def tuples(out, n):
    t = (n, n + 1.5, (4, 5))
    a, b, (c, d) = t
    out[0] = a + b + c * d + len(t)
    out[1] = t[2][1] + t[-1][0]
    total = 0
    for i, x in enumerate((10, 20, 30)):
        total += i * x
    for x, y in zip((1, 2, 3), (0.5, 1.5, 2.5)):
        total += x * y
    out[2] = total


def dynamic_tuple_index(out, n):
    t = (3, 1, 4, 1, 5)
    total = 0
    for i in range(5):
        total = total * 10 + t[i]
    out[0] = total + t[n % 5 - 5]


def tuple_loop_with_break(out, n):
    for x in (2, 4, 6, 8):
        if x > n:
            break
        out[0] = x


def constants(out, n):
    out[0] = LIMIT + SCALE * n + SIZES[1] + TABLE[2, 1]
    out[1] = Level.HIGH - Level.LOW + Point(3, 4).y


def ternaries(out, n):
    out[0] = n if n > 3 else -n
    out[1] = (10 if n > 5 else 20.5) + (1 if n else 0)


def builtins_(out, n):
    out[0] = min(n, 3, 2.5) + max(n, -1) + abs(-n) + round(n * 0.7)
    out[1] = divmod(n, 3)[1] + pow(n, 2) + int(2.9) + float(n) + bool(n)
    out[2] = round(3.14159, 2) + math.floor(-0.5) + math.ceil(0.2) + int(-2.7)


def math_functions(out, n):
    x = n * 0.1
    out[0] = math.sin(x) + math.cos(x) * math.tan(x) + math.exp(x) - math.log(x + 1)
    out[1] = math.sqrt(x) + math.atan2(x, 2) + math.hypot(x, 3) + math.pow(x, 2.5)
    out[2] = math.fabs(-x) + math.erf(x) + math.gamma(x + 1) + math.copysign(2, -x)
    out[3] = math.fmod(-x, 0.3) + math.degrees(x) + math.radians(x) + math.pi
    out[4] = math.isnan(x) + math.isinf(math.inf) + math.isfinite(x) + math.trunc(2.5)
    fraction, whole = math.modf(-2.25)
    mantissa, exponent = math.frexp(10.0)
    out[5] = fraction + whole + mantissa + exponent + math.ldexp(0.5, 3)
    out[6] = math.gcd(12, 18) + math.remainder(7.5, 2.0)


def operators(out, n):
    out[0] = operator.add(n, 2) + operator.mul(n, 3) - operator.neg(n)
    out[1] = operator.lt(n, 5) + operator.truediv(n, 2) + operator.floordiv(n, 2)


def complex_numbers(out, n):
    z = complex(n, 2) * (1 + 2j) / (3 - 1j)
    out[0] = z.real + abs(z) + (z == z) + z.conjugate().imag
    out[1] = (z**2).imag - (-z).real


def walrus(out, n):
    if (half := n // 2) > 1:
        out[0] = half


def local_functions(out, n):
    twice = lambda v: v * 2

    def plus(a, b):
        c = a + b
        return c + n

    out[0] = twice(n) + plus(twice(1), 3)


def conditional_definition(out, n):
    for i in range(n):
        if i == 0:
            first = n * 2
        else:
            first = first + i
    out[0] = first


def types_widen_in_loops(out, n):
    total = 0
    for i in range(n):
        total += i * 0.5
    out[0] = total


def early_returns(out, n):
    for i in range(10):
        if i == n:
            out[0] = i
            return
        while True:
            if i > 2:
                out[1] = i
                break
            i += 1


def shadowed_counter(out, n):
    total = 0
    for i in range(n):
        i = i * 2
        total += i
    out[0] = total + i


def membership(out, n):
    out[0] = n in (1, 4, 6)
    out[1] = n not in (1, 4, 6)


def comparisons_of_tuples(out, n):
    out[0] = ((1, n) < (1, 5)) + 2 * ((n, 1) == (4, 1)) + 4 * ((2, n) >= (2, 4))


def reversed_things(out, n):
    total = 0
    for x in reversed((1, 2, 3)):
        total = total * 10 + x
    for i in reversed(range(n)):
        total = total * 10 + i
    out[0] = total


FUNCTIONS = [
    value
    for value in list(globals().values())
    if getattr(value, "__module__", None) == __name__ and hasattr(value, "__code__")
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", [0, 1, 4, 6])
def test_like_python(function, n):
    if function is collatz and n == 0:
        pytest.skip("does not end")
    if function is conditional_definition and n == 0:
        pytest.skip("Python raises UnboundLocalError")
    wanted = np.zeros(16)
    try:
        function(wanted, n)
    except (UnboundLocalError, ZeroDivisionError):
        pytest.skip("Python raises")
    found = np.zeros(16)
    launch(function, 1, 1, found, n)
    np.testing.assert_allclose(found, wanted, rtol=1e-14)


@device
def clamp(x, low=0, high=10):
    if x < low:
        return low
    if x > high:
        return high
    return x


@device
def statistics(values):
    total = 0.0
    for value in values:
        total += value
    return total, total / len(values)


@device
def apply(function, x, *rest):
    return function(x) + len(rest)


def test_device_functions():
    def kernel(out, n, data):
        out[0] = clamp(n)
        out[1] = clamp(n, high=3) + clamp(n, 5)
        total, mean = statistics(data)
        out[2] = total + mean
        out[3] = apply(clamp, n, 1, 2.5)

    out = returned(kernel, 4, np.arange(4.0), count=4)
    assert out.tolist() == [4, 3 + 5, 6 + 1.5, 6]


def test_device_functions_with_declared_types():
    from gridlane.core.argtypes import Signature, float64, int64
    from gridlane.frontends.python.device_function import DeviceFunction

    def half(x):
        return x / 2

    declared = DeviceFunction(half, signatures=(Signature(int64, (float64,)),))

    def kernel(out):
        out[0] = declared(5)

    assert returned(kernel) == 2


def test_literals_reach_device_functions():
    from tests.frontends.running import cuda

    from gridlane.core.argtypes import float32

    @device
    def stage(out, value, shape, dtype, update):
        tile = cuda.shared.array(shape, dtype)
        tile[0] = value
        update(tile, 0, 1)
        out[0] += tile[0] + tile.size

    def kernel(out):
        stage(out, 1.5, 4, float32, cuda.atomic.add)
        stage(out, 1.5, 8, float32, cuda.atomic.max)

    assert returned(kernel) == 2.5 + 4 + 1.5 + 8


def test_numbers_of_an_arrays_type():
    @device
    def total(a):
        result = a.dtype.type(0)
        for item in a:
            result += item
        return result

    def kernel(out, a):
        out[0] = abs(total(a))
        out[1] = a.dtype.itemsize

    # 3 * 200 does not fit in 8 bits.
    numbers = np.full(3, 200, np.uint8)
    assert returned(kernel, numbers, count=2).tolist() == [600, 1]
    assert returned(kernel, np.array([3, 4j], np.complex64), count=2).tolist() == [5, 8]


def test_views_of_different_layouts_join():
    def kernel(out, a, n):
        v = a[0]
        if n > 2:
            v = a[:, 1]
        out[0] = v[1] + v.shape[0] * 100

    a = np.arange(6.0).reshape(2, 3)
    assert returned(kernel, a, 1) == 1 + 300
    assert returned(kernel, a, 3) == 4 + 200


def test_arrays_swap_in_loops():
    def kernel(out, a, b, n):
        for _ in range(n):
            a, b = b, a
        out[0] = a[0]

    a, b = np.array([1.0]), np.array([2.0])
    assert returned(kernel, a, b, 4) == 1
    assert returned(kernel, a, b, 5) == 2


def test_min_and_max_of_two_floats_ignore_nan_and_order_zeros():
    def extremes(a, b, out):
        for i in range(a.size):
            x, y = a[i], b[i]
            out[i, 0], out[i, 1] = min(x, y), max(x, y)
            out[i, 2], out[i, 3] = min(x, 0.0), max(0.0, x)
            out[i, 4], out[i, 5] = min(-0.0, x), max(x, -0.0)
            out[i, 6], out[i, 7] = min(x, 1.5), max(x, math.nan)

    values = [math.nan, -math.inf, -1.0, -0.0, 0.0, 2.0]
    a, b = (axis.ravel() for axis in np.meshgrid(values, values))
    out = np.zeros((a.size, 8))
    launch(extremes, 1, 1, a, b, out)

    def pick(choose, x, y):
        if math.isnan(x) or math.isnan(y):
            return y if math.isnan(x) else x
        return choose(x, y, key=lambda value: (value, math.copysign(1, value)))

    for x, y, row in zip(a.tolist(), b.tolist(), out.tolist()):
        wanted = [pick(min, x, y), pick(max, x, y), pick(min, x, 0.0), pick(max, x, 0.0)]
        wanted += [pick(min, x, -0.0), pick(max, x, -0.0), pick(min, x, 1.5), x]
        assert [repr(value) for value in row] == [repr(value) for value in wanted], (x, y)
