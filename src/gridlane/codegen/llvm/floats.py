"""Floating-point functions on bits, for scalars (lanes = 0) and vectors of lanes."""

from __future__ import annotations

from gridlane.codegen.llvm import scalars
from gridlane.codegen.llvm.text import Body, literal, splat, widen
from gridlane.core.dtypes import DType, f64


def narrow_fma(body: Body, operands: list[str], own: DType, lanes: int) -> str:
    """A fused multiply-add of f16, bf16 or f32, through f64, where the product is exact. The sum is
    rounded to odd, so that only the last rounding counts."""
    a, b, c = [scalars.convert(body, v, own, f64, lanes) for v in operands]
    product = body.op(f"fmul {widen('double', lanes)} {a}, {b}")
    total = sum_to_odd(body, product, c, lanes)
    return scalars.convert(body, total, f64, own, lanes)


_PRODUCTS = (2.0**-450, 2.0**450)
"""Magnitudes of factors whose product, and its error, are normal numbers."""
_ADDENDS = (2.0**-900, 2.0**900)
"""Magnitudes of addends to which such a product is added without overflow."""
_SPLIT = 2.0**27 + 1.0
"""Veltkamp's factor, which splits the 53 bits of a significand in halves."""


def wide_fma(body: Body, operands: list[str], lanes: int) -> str:
    """A fused multiply-add of f64 without the instruction: by error-free sums and products where no
    operand is very large or small, else by libm."""
    real, mask = widen("double", lanes), widen("i1", lanes)
    a, b, c = operands
    plain = body.op(f"fadd {real} {body.op(f'fmul {real} {a}, {b}')}, {c}")
    # With a zero, an infinity or a NaN among them there is at most one rounding: as a factor
    # always, as an addend if the product neither overflows nor underflows.
    special_a, special_b, special_c = [_is_special(body, value, lanes) for value in operands]
    special = body.op(f"or {mask} {special_a}, {special_b}")
    easy = body.op(f"or {mask} {special}, {special_c}")
    addend = body.op(f"or {mask} {_within(body, c, *_ADDENDS, lanes)}, {special_c}")
    factors = [_within(body, value, *_PRODUCTS, lanes) for value in (a, b)]
    usual = body.op(f"and {mask} {body.op(f'and {mask} {factors[0]}, {factors[1]}')}, {addend}")
    known = body.op(f"or {mask} {usual}, {special}")
    exact, rare, done = body.label("exact"), body.label("rare"), body.label("fused")
    body.branch_if(_all(body, known, lanes), exact, rare)
    body.start(exact)
    total = _fused_sum(body, a, b, c, lanes)
    chosen = body.op(f"select {mask} {easy}, {real} {plain}, {real} {total}")
    body.branch(done)
    body.start(rare)
    called = body.intrinsic("fma", "double", lanes, operands)
    body.branch(done)
    body.start(done)
    return body.op(f"phi {real} [ {chosen}, %{exact} ], [ {called}, %{rare} ]")


def _is_special(body: Body, value: str, lanes: int) -> str:
    """Whether a number is 0, infinite or a NaN."""
    real = widen("double", lanes)
    zero = splat(literal(0.0, f64), "double", lanes)
    nothing = body.op(f"fmul {real} {value}, {zero}")
    odd = body.op(f"fcmp une {real} {nothing}, {zero}")
    none = body.op(f"fcmp oeq {real} {value}, {zero}")
    return body.op(f"or {widen('i1', lanes)} {odd}, {none}")


def _within(body: Body, value: str, least: float, most: float, lanes: int) -> str:
    """Whether the magnitude of a number is in a range."""
    real, mask = widen("double", lanes), widen("i1", lanes)
    size = body.intrinsic("fabs", "double", lanes, [value])
    low, high = [splat(literal(edge, f64), "double", lanes) for edge in (least, most)]
    above = body.op(f"fcmp oge {real} {size}, {low}")
    below = body.op(f"fcmp ole {real} {size}, {high}")
    return body.op(f"and {mask} {above}, {below}")


def _all(body: Body, test: str, lanes: int) -> str:
    """Whether a condition holds in all lanes."""
    if not lanes:
        return test
    bits = body.op(f"bitcast {widen('i1', lanes)} {test} to i{lanes}")
    return body.op(f"icmp eq i{lanes} {bits}, -1")


def _fused_sum(body: Body, a: str, b: str, c: str, lanes: int) -> str:
    """a * b + c rounded once, by Boldo and Melquiond: the product and the sum with their errors are
    rounded to odd together, and to nearest last."""

    def op(word: str, x: str, y: str) -> str:
        return body.op(f"{word} {widen('double', lanes)} {x}, {y}")

    product, low = _product(body, a, b, lanes)
    high, left = _sum(body, c, low, lanes)
    total, rest = _sum(body, product, high, lanes)
    return op("fadd", total, sum_to_odd(body, left, rest, lanes))


def _sum(body: Body, a: str, b: str, lanes: int) -> tuple[str, str]:
    """The f64 sum and its error (Knuth)."""
    real = widen("double", lanes)
    total = body.op(f"fadd {real} {a}, {b}")
    second = body.op(f"fsub {real} {total}, {a}")
    first = body.op(f"fsub {real} {total}, {second}")
    lost_b = body.op(f"fsub {real} {b}, {second}")
    lost_a = body.op(f"fsub {real} {a}, {first}")
    return total, body.op(f"fadd {real} {lost_a}, {lost_b}")


def _product(body: Body, a: str, b: str, lanes: int) -> tuple[str, str]:
    """The f64 product and its error (Dekker)."""
    real = widen("double", lanes)
    product = body.op(f"fmul {real} {a}, {b}")
    (ah, al), (bh, bl) = _halves(body, a, lanes), _halves(body, b, lanes)
    parts = [body.op(f"fmul {real} {x}, {y}") for x, y in ((ah, bh), (ah, bl), (al, bh), (al, bl))]
    error = body.op(f"fsub {real} {parts[0]}, {product}")
    for part in parts[1:]:
        error = body.op(f"fadd {real} {error}, {part}")
    return product, error


def _halves(body: Body, value: str, lanes: int) -> tuple[str, str]:
    """Two numbers of 26 bits whose sum is an f64 (Veltkamp)."""
    real = widen("double", lanes)
    scaled = body.op(f"fmul {real} {value}, {splat(literal(_SPLIT, f64), 'double', lanes)}")
    high = body.op(f"fsub {real} {scaled}, {body.op(f'fsub {real} {scaled}, {value}')}")
    return high, body.op(f"fsub {real} {value}, {high}")


def sum_to_odd(body: Body, a: str, b: str, lanes: int) -> str:
    """The f64 sum rounded to odd, with the error by Knuth's two-sum."""
    real, whole, mask = widen("double", lanes), widen("i64", lanes), widen("i1", lanes)
    total, error = _sum(body, a, b, lanes)
    zero = splat(literal(0.0, f64), "double", lanes)
    inexact = body.op(f"fcmp one {real} {error}, {zero}")
    raw = body.op(f"bitcast {real} {total} to {whole}")
    odd = body.op(f"trunc {whole} {raw} to {mask}")
    up = body.op(f"fcmp ogt {real} {error}, {zero}")
    positive = body.op(f"fcmp ogt {real} {total}, {zero}")
    away = body.op(f"icmp eq {mask} {up}, {positive}")
    one, minus = splat("1", "i64", lanes), splat("-1", "i64", lanes)
    step = body.op(f"select {mask} {away}, {whole} {one}, {whole} {minus}")
    moved = body.op(f"add {whole} {raw}, {step}")
    even = body.op(f"xor {mask} {odd}, {splat('true', 'i1', lanes)}")
    change = body.op(f"and {mask} {inexact}, {even}")
    chosen = body.op(f"select {mask} {change}, {whole} {moved}, {whole} {raw}")
    return body.op(f"bitcast {whole} {chosen} to {real}")
