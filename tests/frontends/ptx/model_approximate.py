"""The model of approximate instructions: the ISA's bounds, or 2 ulp where that is more."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from tests.frontends.ptx.model import Case, Modifiers, model
from tests.frontends.ptx.model_floats import near_root
from tests.frontends.ptx.model_numbers import (
    F32,
    F64,
    FORMATS,
    Format,
    flushed,
    is_infinite,
    is_nan,
    is_negative,
    is_zero,
    rounded,
    ulp,
    value,
)

Special = int | None
"""The bits of a result that is no number; None for any result."""
Bound = Callable[[Fraction, Fraction], Fraction]
"""The error that is allowed, of the exact result and the source."""


def _near(exact: Fraction, error: Fraction, of: Format, ftz: bool) -> Callable[[int], bool]:
    """A test whether bits are within an error; overflow and flushed results are so as well."""
    low = rounded(exact - error, of, "rm", of.sign)
    high = rounded(exact + error, of, "rp")
    smallest = Fraction(2) ** of.least

    def accepts(bits: int) -> bool:
        if is_nan(bits, of):
            return False
        if ftz and is_zero(bits, of) and abs(exact) - error < smallest:
            return True
        if is_infinite(bits, of):
            return bits in (low, high)
        made = value(bits, of)
        return exact - error <= made <= exact + error

    return accepts


def _judged(
    of: Format, ftz: bool, special: Callable[..., Special | bool], exact: Callable, bound: Bound
) -> Callable[..., tuple]:
    """``compute`` of a case.

    Args:
        special: False where ``exact`` is to tell.
    """

    def compute(*sources: int) -> tuple:
        if ftz:
            sources = tuple(flushed(each, of) for each in sources)
        made = special(*sources)
        if made is not False:
            return (made,)
        wanted = exact(*(value(each, of) for each in sources))
        error = max(bound(wanted, value(sources[0], of)), 2 * ulp(wanted, of))
        return (_near(wanted, error, of, ftz),)

    return compute


def _relative(power: float) -> Bound:
    return lambda exact, source: abs(exact) * Fraction(2**power)


def _none(exact: Fraction, source: Fraction) -> Fraction:
    return Fraction(0)


# --- quotients and roots


@model("div")
def div(root: str, m: Modifiers) -> Case | None:
    """A quotient. ``.approx`` may be 0, or NaN for an infinity, by a divisor above 2^126."""
    if m[0] not in ("approx", "full"):
        return None
    of, approx = F32, m[0] == "approx"

    def special(a: int, b: int) -> Special | bool:
        sign = (a ^ b) & of.sign
        if is_nan(a, of) or is_nan(b, of):
            return of.nan
        if is_infinite(a, of):
            large = not is_infinite(b, of) and abs(value(b, of)) > 2**126
            return None if approx and large else of.nan if is_infinite(b, of) else a ^ b & of.sign
        if is_infinite(b, of):
            return sign
        if is_zero(b, of):
            return of.nan if is_zero(a, of) else of.infinity | sign
        if is_zero(a, of):
            return sign
        return False

    compute = _judged(of, "ftz" in m, special, lambda a, b: a / b, _none)

    def outside(a: int, b: int) -> tuple:
        (made,) = compute(a, b)
        if approx and callable(made) and not 1 << 23 <= b & ~of.sign <= 253 << 23:
            return (lambda bits: made(bits) or is_zero(bits, of) or is_infinite(bits, of),)
        return (made,)

    return Case(("f32", "f32"), ("f32",), outside)


@model("rcp")
def rcp(root: str, m: Modifiers) -> Case | None:
    """A reciprocal; of f64 that of the upper word, to 20 bits."""
    if m[0] != "approx":
        return None
    of = FORMATS[m[-1]]

    def special(a: int) -> Special | bool:
        if is_nan(a, of):
            return of.nan
        if is_infinite(a, of):
            return a & of.sign
        return of.infinity | a & of.sign if is_zero(a, of) else False

    return _upper(of, "ftz" in m, special, lambda a: 1 / a, _none)


@model("sqrt", "rsqrt")
def roots(root: str, m: Modifiers) -> Case | None:
    """A square root or its reciprocal."""
    if m[0] != "approx":
        return None
    of, inverse = FORMATS[m[-1]], root == "rsqrt"

    def special(a: int) -> Special | bool:
        if is_zero(a, of):
            return a | of.infinity if inverse else a
        if is_nan(a, of) or is_negative(a, of):
            return of.nan
        return (0 if inverse else a) if is_infinite(a, of) else False

    def exact(a: Fraction) -> Fraction:
        return 1 / near_root(a) if inverse else near_root(a)

    bound = _relative(-22.9 if inverse else -23) if of is F32 else _none
    return _upper(of, "ftz" in m, special, exact, bound)


def _upper(of: Format, ftz: bool, special: Callable, exact: Callable, bound: Bound) -> Case:
    """A case; of f64 with ``.ftz`` only the upper words take part."""
    if of is F32 or not ftz:
        return Case((of.name,), (of.name,), _judged(of, ftz, special, exact, bound))
    compute = _judged(F64, True, special, exact, _relative(-19))

    def words(a: int) -> tuple:
        (made,) = compute(a & 0xFFFFFFFF_00000000)
        if callable(made):
            return (lambda bits: made(bits) and not bits & 0xFFFFFFFF,)
        return (made,)

    return Case(("f64",), ("f64",), words)


# --- functions of f32, exact in binary64 but for a bit that does not matter


def _angle(exact: Fraction, source: Fraction) -> Fraction:
    """Beyond 100 pi the ISA gives no bound."""
    size = abs(source) / Fraction(math.pi)
    return Fraction(2 ** (-20.5 if size <= 2 else -14.7)) if size <= 100 else Fraction(2)


def _logarithm(exact: Fraction, source: Fraction) -> Fraction:
    small = Fraction(1, 2) <= source <= 2
    return Fraction(1, 1 << 22) * (1 if small else abs(exact))


def _power(a: Fraction) -> Fraction:
    """2^a; what is far outside of f32 is only known to be so."""
    whole = math.floor(a)
    return Fraction(2) ** min(max(whole, -200), 200) * Fraction(2 ** float(a - whole))


_FUNCTIONS: dict[str, tuple[Callable[[Fraction], Fraction], Bound, tuple[int, int]]] = {
    "sin": (lambda a: Fraction(math.sin(a)), _angle, (F32.nan, F32.nan)),
    "cos": (lambda a: Fraction(math.cos(a)), _angle, (F32.nan, F32.nan)),
    "lg2": (lambda a: Fraction(math.log2(a)), _logarithm, (F32.infinity, F32.nan)),
    "ex2": (_power, _none, (F32.infinity, 0)),
    "tanh": (lambda a: Fraction(math.tanh(a)), _relative(-11), (F32.one, F32.one | F32.sign)),
}
"""The function, its bound, and what it is of both infinities."""
_OF_ZERO = {"cos": F32.one, "lg2": F32.infinity | F32.sign, "ex2": F32.one}


@model(*_FUNCTIONS)
def function(root: str, m: Modifiers) -> Case:
    """An elementary function; of halves to 2 ulp, which is more than the ISA's bound."""
    name = m[-1]
    compute = _function(root, FORMATS[name.removesuffix("x2")], "ftz" in m)
    if not name.endswith("x2"):
        return Case((name,), (name,), compute)

    def both(a: int) -> tuple:
        tests = [_test(compute(each)[0], name) for each in (a & 0xFFFF, a >> 16)]
        return (lambda bits: tests[0](bits & 0xFFFF) and tests[1](bits >> 16),)

    return Case((name,), ("b32",), both)


def _test(want: Special | Callable[[int], bool], name: str) -> Callable[[int], bool]:
    """A test of a half for what is wanted."""
    if callable(want):
        return want
    of = FORMATS[name.removesuffix("x2")]
    return lambda bits: bits == want or (is_nan(bits, of) and is_nan(want or 0, of))


def _function(root: str, of: Format, ftz: bool) -> Callable[..., tuple]:
    exact, bound, at_infinity = _FUNCTIONS[root]

    def same(bits: int) -> int:
        """A special number of f32 in the format."""
        if is_nan(bits, F32):
            return of.nan
        sign = of.sign if is_negative(bits, F32) else 0
        if is_infinite(bits, F32):
            return of.infinity | sign
        return rounded(value(bits, F32), of, zero=sign)

    def special(a: int) -> Special | bool:
        if is_nan(a, of):
            return of.nan
        if is_infinite(a, of):
            return same(at_infinity[int(is_negative(a, of))])
        if is_zero(a, of):
            return same(_OF_ZERO[root]) if root in _OF_ZERO else a
        return of.nan if root == "lg2" and is_negative(a, of) else False

    return _judged(of, ftz, special, exact, bound if of is F32 else _none)
