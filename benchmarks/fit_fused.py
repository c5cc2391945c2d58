"""Print passes/legalise/math/by_fma/coefficients.txt: polynomials for fused multiply-adds.

    python benchmarks/fit_fused.py > src/gridlane/passes/legalise/math/by_fma/coefficients.txt

Each polynomial is the best in the maximum norm (Remez), by the relative error of the function that
it is part of. A coefficient is rounded to the type, then those behind it are fitted again. The
number of coefficients is the least whose error is below what the function tolerates. Needs mpmath.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
from mpmath import mp, mpf

mp.dps = 45
Real = Any
"""An mpf: mpmath has no types."""
POINTS = 240
SINGLY = 5
"""Coefficients that are rounded one by one; the later ones matter less."""
TYPES = ("f32", "f64")


@dataclass(frozen=True)
class Fit:
    """A function to approximate over an interval.

    Attributes:
        weight: what an error of the polynomial is multiplied by to be one of the result.
        interval: of both types, or of each.
        error: that is allowed, of each type.
        fixed: the first coefficients, if they are given.
    """

    name: str
    text: str
    function: Callable[[Real], Real]
    weight: Callable[[Real], Real]
    interval: tuple[Real, Real] | dict[str, tuple[Real, Real]]
    error: dict[str, float]
    fixed: tuple[float, ...] = ()


def rounded(value: Real, dtype: str) -> Real:
    """The nearest number of a type."""
    number = float(value)
    return mpf(float(np.float32(number)) if dtype == "f32" else number)


@dataclass
class Problem:
    """The values of a fit on a grid that is dense at the ends."""

    x: list[Real]
    weight: list[Real]

    def errors(self, rest: Sequence[Real], coefficients: Sequence[Real], start: int) -> list[Real]:
        """The weighted errors of a polynomial whose powers begin with ``start``."""
        values = [mpmath.polyval(coefficients[::-1], x) * x**start for x in self.x]
        return [w * (f - p) for w, f, p in zip(self.weight, rest, values, strict=True)]

    def best(self, rest: Sequence[Real], count: int, start: int) -> list[Real]:
        """Coefficients of the powers from ``start`` on, by exchange of the reference."""
        usable = [i for i in range(len(self.x)) if abs(self.weight[i] * self.x[i] ** start) > 0]
        ends = [round(k * (len(usable) - 1) / count) for k in range(count + 1)]
        reference = [usable[i] for i in ends]
        found: list[Real] = []
        for _ in range(12):
            found = self.levelled(rest, reference, count, start)
            errors = self.errors(rest, found, start)
            peaks = alternating(errors, count + 1)
            if len(peaks) < count + 1 or peaks == reference:
                break
            reference = peaks
        return found

    def levelled(
        self, rest: Sequence[Real], reference: Sequence[int], count: int, start: int
    ) -> list[Real]:
        """The polynomial whose weighted errors on the reference alternate and are equal."""
        matrix, right = mpmath.matrix(count + 1, count + 1), mpmath.matrix(count + 1, 1)
        for row, i in enumerate(reference):
            for k in range(count):
                matrix[row, k] = self.x[i] ** (start + k) * self.weight[i]
            matrix[row, count] = (-1) ** row
            right[row] = rest[i] * self.weight[i]
        return list(mpmath.lu_solve(matrix, right))[:count]


def alternating(errors: Sequence[Real], count: int) -> list[int]:
    """The places of ``count`` extrema of alternating sign."""
    peaks: list[int] = []
    for i, error in enumerate(errors):
        if peaks and (error >= 0) == (errors[peaks[-1]] >= 0):
            if abs(error) > abs(errors[peaks[-1]]):
                peaks[-1] = i
        else:
            peaks.append(i)
    while len(peaks) > count:
        sizes = [abs(errors[i]) for i in peaks]
        least = sizes.index(min(sizes))
        inside = 0 < least < len(peaks) - 1
        if inside and len(peaks) > count + 1:  # the neighbours have one sign: the larger remains
            del peaks[least], peaks[least if sizes[least + 1] < sizes[least - 1] else least - 1]
        else:
            peaks.pop(0 if sizes[0] < sizes[-1] else -1)
    return peaks


def fitted(fit: Fit, dtype: str) -> tuple[list[Real], Real]:
    """The least coefficients that are good enough, rounded, and their largest error."""
    low, high = fit.interval[dtype] if isinstance(fit.interval, dict) else fit.interval
    middle, half = (mpf(low) + high) / 2, (mpf(high) - low) / 2
    x = [middle - half * mpmath.cos(mpmath.pi * k / POINTS) for k in range(POINTS + 1)]
    x = [each for each in x if abs(each) > mpf("1e-9")]
    values = [fit.function(each) for each in x]
    problem = Problem(x, [fit.weight(each) for each in x])
    count = len(fit.fixed) + 1
    while True:
        count += 1
        if worst(problem, values, problem.best(values, count, 0)) > fit.error[dtype]:
            continue
        found = [mpf(each) for each in fit.fixed]
        while len(found) < count:
            known = [mpmath.polyval(found[::-1], each) if found else mpf(0) for each in x]
            rest = [value - part for value, part in zip(values, known, strict=True)]
            after = problem.best(rest, count - len(found), len(found))
            wanted = 1 if len(found) < SINGLY else len(after)
            found += [rounded(each, dtype) for each in after[:wanted]]
        error = worst(problem, values, found)
        if error < fit.error[dtype]:
            return found, error


def worst(problem: Problem, values: Sequence[Real], coefficients: Sequence[Real]) -> Real:
    """The largest weighted error."""
    return max(abs(error) for error in problem.errors(values, coefficients, 0))


def limits(single: float, double: float) -> dict[str, float]:
    """The errors that the types allow, as powers of two."""
    return {"f32": 2.0**single, "f64": 2.0**double}


def precisely(function: Callable[[Real], Real]) -> Callable[[Real], Real]:
    """The function with digits for what cancels."""

    def value(x: Real) -> Real:
        with mp.workdps(100):
            return +function(x)

    return value


def root(function: Callable[[Real], Real]) -> Callable[[Real], Real]:
    """The function of the square root of its argument."""
    return precisely(lambda z: function(mpmath.sqrt(z)))


def exponent_of_erfc(t: Real) -> Real:
    return -mpmath.log(mpmath.erfc(t)) / t


LN_2, LN_10 = mpmath.log(2), mpmath.log(10)
HALF_LN_2 = LN_2 / 2 * mpf("1.001")
THIRD = mpf("0.33334")
EIGHTH_TURN = (mpmath.pi / 4 * mpf("1.006")) ** 2


def _log_part(base: Real) -> Callable[[Real], Real]:
    return precisely(lambda f: (mpmath.log1p(f) - f) / (f * f) / mpmath.log(base))


def _log_weight(base: Real) -> Callable[[Real], Real]:
    return lambda f: f * f / mpmath.log1p(f) * mpmath.log(base)


FITS = (
    Fit(
        *("EXP", "(exp(r) - 1 - r) / r**2, |r| <= ln(2) / 2"),
        precisely(lambda r: (mpmath.expm1(r) - r) / r**2),
        lambda r: r * r * mpmath.exp(-r),
        (-HALF_LN_2, HALF_LN_2),
        limits(-30, -56),
        (0.5,),
    ),
    Fit(
        *("EXP2", "(2**r - 1) / r, |r| <= 1/2"),
        precisely(lambda r: mpmath.expm1(r * LN_2) / r),
        lambda r: r * mpmath.exp(-r * LN_2),
        (-mpf("0.5001"), mpf("0.5001")),
        limits(-27, -56),
    ),
    Fit(
        *("EXP10", "(10**r - 1) / r, |r| <= log10(2) / 2"),
        precisely(lambda r: mpmath.expm1(r * LN_10) / r),
        lambda r: r * mpmath.exp(-r * LN_10),
        (-HALF_LN_2 / LN_10, HALF_LN_2 / LN_10),
        {"f64": 2.0**-56},
    ),
    Fit(
        *("LOG", "(log(1 + f) - f) / f**2, |f| <= 1/3"),
        *(_log_part(mpmath.e), _log_weight(mpmath.e), (-THIRD, THIRD), {"f32": 2.0**-27}),
    ),
    Fit(
        *("LOG2", "(log2(1 + f) - f log2(e)) / f**2, |f| <= 1/3"),
        *(_log_part(2), _log_weight(2), (-THIRD, THIRD), {"f32": 2.0**-27}),
    ),
    Fit(
        *("SIN", "(sin(r) - r) / r**3 at z = r**2, |r| <= pi / 4"),
        root(lambda r: (mpmath.sin(r) - r) / r**3),
        root(lambda r: r**3 / mpmath.sin(r)),
        (mpf(0), EIGHTH_TURN),
        limits(-27.5, -56),
    ),
    Fit(
        *("COS", "(cos(r) - 1) / z at z = r**2, |r| <= pi / 4"),
        root(lambda r: (mpmath.cos(r) - 1) / r**2),
        root(lambda r: r**2 / mpmath.cos(r)),
        (mpf(0), EIGHTH_TURN),
        limits(-27.5, -56),
        (-0.5,),
    ),
    Fit(
        *("TAN", "(tan(r) - r) / r**3 at z = r**2, |r| <= pi / 4"),
        root(lambda r: (mpmath.tan(r) - r) / r**3),
        root(lambda r: r**3 / mpmath.tan(r)),
        (mpf(0), EIGHTH_TURN),
        limits(-27, -56),
    ),
    Fit(
        *("ATAN", "(atan(q) - q) / q**3 at z = q**2, |q| <= 1"),
        root(lambda q: (mpmath.atan(q) - q) / q**3),
        root(lambda q: q**3 / mpmath.atan(q)),
        (mpf(0), mpf(1)),
        limits(-26, -56),
    ),
    Fit(
        *("ASIN", "(asin(q) - q) / q**3 at z = q**2, |q| <= 1/2"),
        root(lambda q: (mpmath.asin(q) - q) / q**3),
        root(lambda q: q**3 / mpmath.asin(q)),
        (mpf(0), mpf("0.2501")),
        limits(-27.5, -56),
    ),
    Fit(
        *("ERF", "erf(x) / x - 1 at z = x**2, |x| <= 1"),
        root(lambda x: mpmath.erf(x) / x - 1),
        root(lambda x: x / mpmath.erf(x)),
        (mpf(0), mpf("1.0001")),
        limits(-27, -56),
    ),
    Fit(
        *("ERFC", "-log(erfc(x)) / x, x >= 1 until erf(x) is 1"),
        precisely(exponent_of_erfc),
        precisely(lambda x: x * mpmath.erfc(x) / mpmath.erf(x)),
        {"f32": (mpf(1), mpf(4)), "f64": (mpf(1), mpf(6))},
        limits(-27, -56),
    ),
    Fit(
        *("SINH", "(sinh(r) - r) / r**3 at z = r**2, |r| <= ln(2) / 2"),
        root(lambda r: (mpmath.sinh(r) - r) / r**3),
        root(lambda r: r**3 / mpmath.sinh(r)),
        (mpf(0), HALF_LN_2**2),
        limits(-28, -57),
    ),
    Fit(
        *("COSH", "(cosh(r) - 1) / z at z = r**2, |r| <= ln(2) / 2"),
        root(lambda r: (mpmath.cosh(r) - 1) / r**2),
        root(lambda r: r**2),
        (mpf(0), HALF_LN_2**2),
        limits(-28, -57),
        (0.5,),
    ),
    Fit(
        *("TANH", "(tanh(x) / x - 1) / z at z = x**2, |x| <= 1"),
        root(lambda x: (mpmath.tanh(x) / x - 1) / x**2),
        root(lambda x: x**3 / mpmath.tanh(x)),
        (mpf(0), mpf("1.0001")),
        {"f32": 2.0**-27},
    ),
    Fit(
        *("CBRT", "m**(-1/3), 1 <= m <= 2"),
        *(lambda m: mpmath.cbrt(1 / m), lambda m: mpmath.cbrt(m), (mpf(1), mpf(2))),
        limits(-9, -9),
    ),
)

HEAD = "# benchmarks/fit_fused.py prints this file; do not edit. polynomials.py reads it."


def print_fit(fit: Fit) -> None:
    """Print a polynomial of the file."""
    print(fit.name, fit.text)
    for dtype in fit.error:
        found, error = fitted(fit, dtype)
        print(row_of(dtype, error_text(error), [repr(float(each)) for each in found]), flush=True)


def row_of(dtype: str, error: str, numbers: Sequence[str]) -> str:
    """The lines of a type."""
    words = " ".join((dtype, error, *numbers))
    indents = {"initial_indent": "  ", "subsequent_indent": "    "}
    return textwrap.fill(words, 100, break_on_hyphens=False, **indents)


def error_text(error: Real) -> str:
    """An error with two digits."""
    return f"{float(error):.1e}"


def main() -> None:
    """Print the file."""
    print(HEAD)
    for fit in FITS:
        print_fit(fit)


if __name__ == "__main__":
    main()
