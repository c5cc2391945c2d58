"""Print passes/legalise/math/coefficients.txt, polynomials of our own functions; or the constants
of coefficients.py beside it.

    python benchmarks/fit_math.py > src/gridlane/passes/legalise/math/coefficients.txt
    python benchmarks/fit_math.py --constants

Each polynomial interpolates at Chebyshev nodes, in 80-digit arithmetic; of each, the degree is the
least whose error is below what the function tolerates. Needs mpmath.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
from mpmath import mp, mpf

mp.dps = 80
Real = Any
"""An mpf: mpmath has no types."""


@dataclass(frozen=True)
class Fit:
    """A function to approximate: its interval and the absolute error allowed, a type each."""

    name: str
    text: str
    function: Callable[[Real], Real]
    low: dict[str, Real]
    high: dict[str, Real]
    error: dict[str, float]


def both(value: Real) -> dict[str, Real]:
    return {"f32": mpf(value), "f64": mpf(value)}


def _series(function: Callable[[Real], Real], remove: int) -> Callable[[Real], Real]:
    """The function's Taylor series at 0 without its first terms, divided by x**remove."""
    terms = mpmath.taylor(function, 0, remove + 40)

    def rest(x: Real) -> Real:
        return mpmath.polyval(terms[remove:][::-1], x)

    return rest


def _odd(function: Callable[[Real], Real], leading: Real) -> Callable[[Real], Real]:
    """(function(x) / x - leading) / x**2 as a function of z = x**2."""

    def value(z: Real) -> Real:
        x = mpmath.sqrt(max(z, mpf("1e-30")))
        with mp.workdps(110):
            return (function(x) / x - leading) / x**2

    return value


def _cosine(z: Real) -> Real:
    x = mpmath.sqrt(max(z, mpf("1e-34")))
    with mp.workdps(110):
        return (mpmath.cos(x) - 1 + x**2 / 2) / x**4


def _atanh_tail(z: Real) -> Real:
    x = mpmath.sqrt(max(z, mpf("1e-34")))
    with mp.workdps(110):
        return (2 * mpmath.atanh(x) / x - 2 - 2 * x**2 / 3) / x**4


def _erf_tail(z: Real) -> Real:
    x = mpmath.sqrt(max(z, mpf("1e-30")))
    with mp.workdps(90):
        return mpmath.erf(x) / x - 1


def scaled_erfc(t: Real) -> Real:
    """(1 + 2x) exp(x**2) erfc(x) at x = 4 (1 + t) / (1 - t)."""
    x = 4 * (1 + t) / (1 - t)
    with mp.workdps(80):
        return (1 + 2 * x) * mpmath.exp(x * x) * mpmath.erfc(x)


def _log_gamma(z: Real) -> Real:
    z = z if abs(z) > mpf("1e-25") else mpf("1e-25")
    with mp.workdps(90):
        return mpmath.loggamma(2 + z) / z


def _stirling(w: Real) -> Real:
    x = 1 / mpmath.sqrt(max(w, mpf("1e-18")))
    with mp.workdps(100):
        main = (x - mpf(1) / 2) * mpmath.log(x) - x + mpmath.log(2 * mpmath.pi) / 2
        return (mpmath.loggamma(x) - main) * x


def _at(x: Real) -> Real:
    return (mpf(x) - 4) / (mpf(x) + 4)


HALF_LN2 = mpmath.log(2) / 2 * mpf("1.01")
S_MAX = (mpmath.sqrt(2) - 1) / (mpmath.sqrt(2) + 1)
QUARTER = (mpmath.pi / 4 * mpf("1.01")) ** 2

FITS = (
    Fit(
        *("EXP", "(exp(r) - 1 - r - r**2 / 2) / r**3, |r| <= ln(2) / 2", _series(mpmath.exp, 3)),
        *(both(-HALF_LN2), both(HALF_LN2), {"f32": 2**-25, "f64": 2**-55}),
    ),
    Fit(
        *("LOG", "(2 atanh(s) / s - 2 - 2/3 z) / z**2 at z = s**2, s <= 3 - sqrt(8)", _atanh_tail),
        *(both(0), both(S_MAX**2 * mpf("1.01")), {"f32": 2**-23, "f64": 2**-53}),
    ),
    Fit(
        *("SIN", "(sin(r) / r - 1) / z at z = r**2, |r| <= pi / 4", _odd(mpmath.sin, 1)),
        *(both(0), both(QUARTER), {"f32": 2**-28, "f64": 2**-57}),
    ),
    Fit(
        *("COS", "(cos(r) - 1 + z / 2) / z**2 at z = r**2, |r| <= pi / 4", _cosine),
        *(both(0), both(QUARTER), {"f32": 2**-28, "f64": 2**-57}),
    ),
    Fit(
        *("ATAN", "(atan(q) / q - 1) / z at z = q**2, |q| <= 7/16", _odd(mpmath.atan, 1)),
        *(both(0), both(mpf("0.192")), {"f32": 2**-25, "f64": 2**-54}),
    ),
    Fit(
        *("ERF", "erf(x) / x - 1 at z = x**2, |x| <= 1/2", _erf_tail),
        *(both(0), both("0.251"), {"f32": 2**-28, "f64": 2**-57}),
    ),
    Fit(
        *("ERFC", "(1 + 2x) exp(x**2) erfc(x) at t = (x - 4) / (x + 4), x >= 1/2", scaled_erfc),
        both(_at("0.49")),
        {"f32": _at(11), "f64": _at(28)},
        {"f32": 2**-27, "f64": 2**-56},
    ),
    Fit(
        *("LGAMMA", "log(gamma(2 + z)) / z, |z| <= 1/2", _log_gamma),
        *(both("-0.501"), both("0.501"), {"f32": 2**-28, "f64": 2**-57}),
    ),
    Fit(
        "STIRLING",
        "x (log(gamma(x)) - (x - 1/2) log(x) + x - log(2 pi) / 2) at w = x**-2, x >= 4 and 8",
        _stirling,
        both(0),
        {"f32": mpf("0.0626"), "f64": mpf("0.01563")},
        {"f32": 2**-26, "f64": 2**-54},
    ),
    Fit(
        *("CBRT", "the cube root of m, 1 <= m <= 2", mpmath.cbrt),
        *(both(1), both(2), {"f32": 2**-10, "f64": 2**-10}),
    ),
)


def interpolated(fit: Fit, dtype: str, degree: int) -> tuple[list[Real], Real]:
    """Coefficients, lowest power first, and the largest error seen."""
    low, high = fit.low[dtype], fit.high[dtype]
    centre, half = (low + high) / 2, (high - low) / 2
    count = degree + 1
    angles = [(mpf(k) + mpf(1) / 2) * mpmath.pi / count for k in range(count)]
    nodes = [centre + half * mpmath.cos(angle) for angle in angles]
    matrix = mpmath.matrix(count, count)
    for row, node in enumerate(nodes):
        for power in range(count):
            matrix[row, power] = node**power
    found = list(mpmath.lu_solve(matrix, mpmath.matrix([fit.function(node) for node in nodes])))
    points = [low + (high - low) * mpf(k) / 97 for k in range(98)]
    error = max(abs(mpmath.polyval(found[::-1], x) - fit.function(x)) for x in points)
    return found, error


def rounded(value: Real, dtype: str) -> str:
    """The nearest number of the type, as Python writes it."""
    number = float(value)
    return repr(float(np.float32(number)) if dtype == "f32" else number)


def fitted(fit: Fit, dtype: str) -> tuple[list[Real], Real]:
    """The polynomial of the least degree that is good enough, and its error."""
    degree = 1
    while True:
        found, error = interpolated(fit, dtype, degree)
        if error < fit.error[dtype]:
            return found, error
        degree += 1


def print_fit(fit: Fit) -> None:
    print(fit.name, fit.text)
    for dtype in ("f32", "f64"):
        found, error = fitted(fit, dtype)
        words = (dtype, mpmath.nstr(error, 2), *[rounded(value, dtype) for value in found])
        indents = {"initial_indent": "  ", "subsequent_indent": "    "}
        print(textwrap.fill(" ".join(words), 100, break_on_hyphens=False, **indents))


def print_low(fit: Fit) -> None:
    print(f"\n{fit.name}_LOW = {{\n    # what rounding the first coefficient of {fit.name} lost")
    for dtype in ("f32", "f64"):
        first = fitted(fit, dtype)[0][0]
        print(f"    {dtype}: {rounded(first - mpf(float(rounded(first, dtype))), dtype)},")
    print("}")


CONSTANTS = {
    "LN_2": (mpmath.log(2), 240),
    "LOG2_E": (1 / mpmath.log(2), 240),
    "LN_10": (mpmath.log(10), 240),
    "LOG10_E": (1 / mpmath.log(10), 240),
    "LOG10_2": (mpmath.log10(2), 240),
    "HALF_PI": (mpmath.pi / 2, 240),
    "ATAN_HALF": (mpmath.atan(mpf(1) / 2), 240),
    "HALF_LN_TAU": (mpmath.log(2 * mpmath.pi) / 2, 240),
}

HEAD = "# benchmarks/fit_math.py prints this file; do not edit. polynomials.py reads it."


def main() -> None:
    if "--constants" in sys.argv:
        print_constants()
        return
    print(HEAD)
    for fit in FITS:
        print_fit(fit)


def print_constants() -> None:
    for name, (value, bits) in CONSTANTS.items():
        print(f"{name} = Fraction({hex(int(mpmath.nint(value * mpf(2) ** bits)))}, 1 << {bits})")
    with mp.workprec(1600):
        digits = hex(int(mpmath.floor(2 / mpmath.pi * mpf(2) ** 1280)))
    print("\nTWO_BY_PI = int(")
    for start in range(0, len(digits), 80):
        print(f'    "{digits[start : start + 80]}"')
    print('    , 16)\n"""The first 1280 bits of 2 / pi behind the point."""')
    for name in ("ERFC", "LGAMMA"):
        print_low(next(fit for fit in FITS if fit.name == name))


if __name__ == "__main__":
    main()
