"""Measure our own mathematical functions (passes/legalise/math) against mpmath, in ulp.

    python benchmarks/accuracy.py [--samples N] [--only NAME]

The interpreter runs the functions as IR. Each is measured on its interesting interval, on random
bits (every magnitude) with powers of two, their neighbours and other edges. An error is relative to
the last bit of the exact result. Needs mpmath.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
from mpmath import mp, mpf

sys.path.append(str(Path(__file__).parents[1]))  # tests import this file as benchmarks.accuracy

from benchmarks import results

from gridlane import interp
from gridlane.core.dtypes import DType, f32, f64
from gridlane.ir.builder import Builder
from gridlane.ir.op import REGISTRY
from gridlane.ir.ops.grid import Axis, BlockDim, BlockIdx, ThreadIdx
from gridlane.ir.types import pointer
from gridlane.ir.values import Function, Module, Param, Value
from gridlane.passes.legalise.math import NOTHING, legalize_math

mp.dps = 60
Real = Any
"""An mpf: mpmath has no types."""
Interval = tuple[float, float]
Exact = Callable[..., Real]

_HUGE = mpf(2) ** 20000
"""Stands for what is far beyond every type; its inverse for what is far below."""


@dataclass(frozen=True)
class Measured:
    """A function: its exact value, intervals to sample and ulp allowed (both f32's, then f64's).
    ``absolute``: an error that is allowed as well, since the function has hard zeros."""

    exact: Exact
    intervals: tuple[tuple[Interval, ...], tuple[Interval, ...]]
    limits: tuple[float, float] = (1, 1)
    absolute: tuple[float, float] = (0, 0)


def bounded(exponent: Real, power: Callable[[], Real]) -> Real:
    """A power, unless its exponent shows that it is out of all bounds."""
    if abs(exponent) < 10000:
        return power()
    return _HUGE if exponent > 0 else 1 / _HUGE


def hyperbolic(function: Exact) -> Exact:
    def exact(x: Real) -> Real:
        return function(x) if abs(x) < 10000 else function(mpf(10000)) * mpmath.sign(x)

    return exact


def gamma(x: Real) -> Real:
    if x <= 0 and x == mpmath.floor(x):
        raise ValueError("a pole")
    if x > 200:
        return _HUGE
    if x < -300:
        return mpmath.sign(mpmath.sinpi(x)) / _HUGE
    return mpmath.gamma(x)


def log_gamma(x: Real) -> Real:
    if x <= 0 and x == mpmath.floor(x):
        raise ValueError("a pole")
    if x > 0:
        return mpmath.loggamma(x)
    with mp.workdps(100):
        sine = abs(mpmath.sinpi(x))
        return mpmath.log(mpmath.pi / (-x * sine)) - mpmath.loggamma(-x)


def angle(y: Real, x: Real) -> Real:
    if y == 0:
        raise ValueError("mpmath's zeros have no sign")
    return mpmath.atan2(y, x)


def power(x: Real, y: Real) -> Real:
    if x == 0 or y == 0:
        return x**y
    if x < 0 and y != mpmath.floor(y):
        raise ValueError("not real")
    size = bounded(y * mpmath.log(abs(x)), lambda: abs(x) ** y)
    odd = y == mpmath.floor(y) and mpmath.floor(y / 2) != y / 2
    return -size if x < 0 and odd else size


def remainder(x: Real, y: Real) -> Real:
    """Exact: integers of any size."""
    scale = mpf(2) ** 1074
    a, b = int(abs(x) * scale), int(abs(y) * scale)
    with mp.workprec(2200):
        return mpmath.sign(x) * (mpf(a % b) / scale)


def error_function(x: Real) -> Real:
    return mpmath.erf(x) if abs(x) < 100 else mpmath.sign(x)


def complement(x: Real) -> Real:
    return mpmath.erfc(x) if abs(x) < 100 else (1 / _HUGE if x > 0 else mpf(2))


def same(*intervals: Interval) -> tuple[tuple[Interval, ...], tuple[Interval, ...]]:
    return intervals, intervals


def each(single: Interval, double: Interval) -> tuple[tuple[Interval, ...], tuple[Interval, ...]]:
    return (single,), (double,)


ANGLES = same((-1, 1), (-100, 100), (-3e5, 3e5))
UNIT = same((-1, 1))
FUNCTIONS: dict[str, Measured] = {
    "exp": Measured(lambda x: bounded(x, lambda: mpmath.exp(x)), each((-104, 89), (-746, 710))),
    "exp2": Measured(lambda x: bounded(x, lambda: 2**x), each((-150, 128), (-1075, 1024))),
    "exp10": Measured(lambda x: bounded(x, lambda: 10**x), each((-45.2, 38.6), (-324, 308.5))),
    "expm1": Measured(
        lambda x: bounded(x, lambda: mpmath.expm1(x)) if x > -100 else mpf(-1),
        (((-1, 1), (-18, 89)), ((-1, 1), (-40, 710))),
    ),
    "log": Measured(mpmath.log, same((0.5, 2), (0, 100))),
    "log2": Measured(lambda x: mpmath.log(x) / mpmath.ln(2), same((0.5, 2), (0, 100))),
    "log10": Measured(lambda x: mpmath.log(x) / mpmath.ln(10), same((0.5, 2), (0, 100))),
    "log1p": Measured(mpmath.log1p, same((-1, 1), (-0.01, 0.01), (0, 100))),
    "sin": Measured(mpmath.sin, ANGLES),
    "cos": Measured(mpmath.cos, ANGLES),
    "tan": Measured(mpmath.tan, ANGLES),
    "asin": Measured(mpmath.asin, UNIT),
    "acos": Measured(mpmath.acos, UNIT),
    "atan": Measured(mpmath.atan, same((-1, 1), (-10, 10))),
    "sinh": Measured(hyperbolic(mpmath.sinh), each((-90, 90), (-711, 711))),
    "cosh": Measured(
        lambda x: mpmath.cosh(x) if abs(x) < 10000 else _HUGE, each((-90, 90), (-711, 711))
    ),
    "tanh": Measured(hyperbolic(mpmath.tanh), each((-10, 10), (-20, 20))),
    "asinh": Measured(mpmath.asinh, same((-1, 1), (-100, 100))),
    "acosh": Measured(mpmath.acosh, same((1, 2), (1, 100))),
    "atanh": Measured(mpmath.atanh, UNIT),
    "erf": Measured(error_function, same((-1, 1), (-6, 6))),
    "erfc": Measured(complement, each((-4, 10.3), (-6, 27.3))),
    "tgamma": Measured(gamma, (((0, 5), (-43, 36)), ((0, 9), (-185, 172))), (6, 16)),
    "lgamma": Measured(
        *(log_gamma, same((0.5, 3), (0, 50), (-40, 0)), (4, 16), (1e-6, 1e-15)),
    ),
    "cbrt": Measured(lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)), same((-8, 8))),
    "rsqrt": Measured(lambda x: 1 / mpmath.sqrt(x), same((0, 8))),
    "pow": Measured(power, same((0, 3), (0, 100))),
    "atan2": Measured(angle, same((-1, 1), (-100, 100))),
    "hypot": Measured(mpmath.hypot, same((-1, 1), (-100, 100))),
    "rem": Measured(remainder, same((-100, 100)), (0, 0)),
}
BINARY = frozenset(("pow", "atan2", "hypot", "rem"))


# ---- arguments


def random_bits(dtype: DType, count: int, generator: random.Random) -> np.ndarray:
    """Finite numbers of all magnitudes, half of them within 2**-20 to 2**20."""
    bits = [generator.getrandbits(dtype.bits) for _ in range(count)]
    values = np.array(bits, f"u{dtype.size}").view(dtype.numpy)
    usual = [generator.choice((-1, 1)) * 2 ** generator.uniform(-20, 20) for _ in range(count)]
    return np.where(np.isfinite(values) & (np.arange(count) % 2 == 0), values, usual).astype(
        dtype.numpy
    )


def edges(dtype: DType) -> np.ndarray:
    """Powers of two with their neighbours, subnormals among them, the largest numbers, halves of
    integers; of both signs."""
    least, most, step = (-149, 127, 2) if dtype is f32 else (-1074, 1023, 16)
    powers = 2.0 ** np.arange(least, most + 1, step)
    largest = np.finfo(dtype.numpy).max
    plain = np.concatenate([powers, [1.0, largest], np.arange(0, 200, 0.5)]).astype(dtype.numpy)
    zero, infinite = dtype.numpy.type(0), dtype.numpy.type(np.inf)
    with np.errstate(over="ignore"):
        made = [plain, np.nextafter(plain, zero), np.nextafter(plain, infinite)]
    return np.concatenate([*made, *[-values for values in made]])


def uniform(dtype: DType, interval: Interval, count: int, generator: random.Random) -> np.ndarray:
    return np.array([generator.uniform(*interval) for _ in range(count)]).astype(dtype.numpy)


def columns(name: str, dtype: DType, interval: Interval | None, count: int) -> list[np.ndarray]:
    """Arguments: in an interval, or of every magnitude, with the edges."""
    generator = random.Random(f"{name} {dtype} {interval}")
    operands = 2 if name in BINARY else 1
    if interval is None:
        made = [random_bits(dtype, count, generator) for _ in range(operands)]
        at_edges = edges(dtype)
        for number, values in enumerate(made):
            order = list(range(len(at_edges)))
            generator.shuffle(order)  # so that a function of two gets other pairs
            made[number] = np.concatenate([values, at_edges[order]])
    else:
        made = [uniform(dtype, interval, count, generator) for _ in range(operands)]
    if name == "pow" and interval is not None:
        # Exponents for which the result is a finite number.
        ends = (-104, 89) if dtype is f32 else (-745, 709)
        wanted = uniform(f64, ends, count, generator)
        with np.errstate(all="ignore"):
            made[1] = (wanted / np.log(made[0].astype(np.float64))).astype(dtype.numpy)
    return made


# ---- running and comparing


def kernel(name: str, dtype: DType, operands: int) -> Module:
    """out[i] = name(a[i], …), one thread an element."""
    function = Function("kernel", is_kernel=True)
    module = Module({"kernel": function})
    b = Builder(module, function)
    pointers = [Value(pointer(dtype)) for _ in range(operands + 1)]
    function.params += [Param(value, number) for number, value in enumerate(pointers)]
    start = b.mul(b.value(BlockIdx(Axis.X)), b.value(BlockDim(Axis.X)))
    index = b.add(start, b.value(ThreadIdx(Axis.X)))
    loaded = [b.load(b.offset(array, index)) for array in pointers[:-1]]
    made = b.value(REGISTRY[name](*loaded))  # type: ignore[arg-type]  # operands
    b.store(b.offset(pointers[-1], index), made)
    return module


def computed(
    name: str, arguments: list[np.ndarray], change: Callable[[Module], None] | None = None
) -> np.ndarray:
    """What our function gives, by the interpreter; ``change`` may rewrite the module before."""
    dtype = f32 if arguments[0].dtype == np.float32 else f64
    module = kernel(name, dtype, len(arguments))
    legalize_math(module, NOTHING)
    if change is not None:
        change(module)
    count = len(arguments[0])
    block = 1024
    blocks = -(-count // block)
    arrays = [np.resize(array, blocks * block) for array in arguments]
    arrays.append(np.zeros(blocks * block, dtype.numpy))
    memory = interp.Memory()
    addresses = [memory.map(array, f"array {n}") for n, array in enumerate(arrays)]
    interp.run(module, (blocks, 1, 1), (block, 1, 1), list(addresses), memory)
    return arrays[-1][:count]


def exact_value(name: str, lane: tuple[float, ...]) -> Real | None:
    """The real number that a function gives, or None where there is none."""
    try:
        value = FUNCTIONS[name].exact(*map(mpf, lane))
    except (ValueError, ZeroDivisionError):
        return None
    if mpmath.im(value) != 0 or not mpmath.isfinite(value):
        return None
    return mpmath.re(value)


def ulp_error(got: float, exact: Real, dtype: DType) -> float:
    """How far a result is off, in units of the last bit of the exact value."""
    precision, least, most = (24, -149, 128) if dtype is f32 else (53, -1074, 1024)
    if np.isnan(got):
        return float("inf")
    if exact == 0:
        return 0.0 if got == 0 else float("inf")
    top = mpf(2) ** most
    exact = max(min(exact, top), -top)
    value = mpmath.sign(got) * top if np.isinf(got) else mpf(got)
    exponent = int(mpmath.floor(mpmath.log(abs(exact), 2))) + 1
    return float(abs(value - exact) / mpf(2) ** max(min(exponent, most) - precision, least))


@dataclass(frozen=True)
class Worst:
    """The largest error of a run: ulp, the arguments, the absolute error."""

    ulp: float = 0.0
    lane: tuple[float, ...] = ()
    absolute: float = 0.0


def worst(name: str, arguments: list[np.ndarray], got: np.ndarray) -> Worst:
    """The largest error in ulp; one within the absolute limit counts as at most the limit."""
    dtype = f32 if got.dtype == np.float32 else f64
    which = dtype is f64
    measured, found = FUNCTIONS[name], Worst()
    for *lane, result in zip(*[array.tolist() for array in arguments], got.tolist(), strict=True):
        if not all(np.isfinite(lane)):
            continue
        exact = exact_value(name, tuple(lane))
        if exact is None:
            continue
        ulp = ulp_error(result, exact, dtype)
        if ulp <= found.ulp:
            continue
        absolute = float(abs(mpf(result) - exact)) if np.isfinite(result) else float("inf")
        if ulp > measured.limits[which] and absolute <= measured.absolute[which]:
            continue
        found = Worst(ulp, tuple(lane), absolute)
    return found


# ---- the table


def rows(name: str, samples: int) -> Iterator[tuple[str, str, int, Worst]]:
    """(type, arguments, how many, the largest error) for each row of a function."""
    for dtype in (f32, f64):
        for interval in (*FUNCTIONS[name].intervals[dtype is f64], None):
            arguments = columns(name, dtype, interval, samples)
            found = worst(name, arguments, computed(name, arguments))
            label = "all" if interval is None else f"{interval[0]:g} to {interval[1]:g}"
            yield str(dtype), label, len(arguments[0]), found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=10000, help="for each row")
    parser.add_argument("--only", action="append", choices=sorted(FUNCTIONS), metavar="NAME")
    results.option(parser)
    options = parser.parse_args()
    print("| function | type | arguments | samples | worst, ulp | where |")
    print("|---|---|---|---|---|---|")
    for name in options.only or FUNCTIONS:
        for dtype, label, count, found in rows(name, options.samples):
            results.add(f"{name}, {label}", str(dtype), found.ulp, "ulp")
            place = ", ".join(repr(value) for value in found.lane)
            print(
                f"| {name} | {dtype} | {label} | {count} | {found.ulp:.2f} | {place} |",
                flush=True,
            )
    results.write("accuracy", options.record)


if __name__ == "__main__":
    main()
