"""The functions of ``cmath``."""

from __future__ import annotations

import cmath
from collections.abc import Callable

from gridlane.frontends.python import complexes, promotion
from gridlane.frontends.python.calls.mathematics import (
    float_operands,
    is_finite,
    is_infinite,
    is_nan,
)
from gridlane.frontends.python.calls.registry import handles, register
from gridlane.frontends.python.conversion import scalar, to_complex
from gridlane.frontends.python.operands import ComplexNumber, Operand, Scalar, TupleOperand
from gridlane.frontends.python.translator import Translator
from gridlane.ir.complexes import arithmetic, edges
from gridlane.ir.complexes.functions import FUNCTIONS
from gridlane.ir.ops import arith, math

Emit = Callable[["Translator", ComplexNumber], Operand]


def complex_operand(t: Translator, x: Operand) -> ComplexNumber:
    """A number as a complex one."""
    if isinstance(x, ComplexNumber):
        return x
    real = scalar(t, x)
    return to_complex(t, real, t.promoted(promotion.complex_arithmetic, real.dtype))


UNARY: dict[str, Emit] = {
    **{name: complexes.lifted(function) for name, function in FUNCTIONS.items()},
    "phase": complexes.phase,
}
"""The functions of one number by their names in ``cmath``, and ``log2``."""
_OWN = ("log", "log2")
"""Those that ``cmath`` lacks, or that take another operand there."""

for _name, _emit in UNARY.items():
    if _name in _OWN:
        continue
    register(
        (getattr(cmath, _name),),
        f"cmath.{_name}",
        lambda t, x, emit=_emit: emit(t, complex_operand(t, x)),
        "x",
    )
for _test_name, _test in (("isnan", is_nan), ("isinf", is_infinite)):
    register(
        (getattr(cmath, _test_name),),
        f"cmath.{_test_name}",
        lambda t, x, test=_test: Scalar(test(t, x)),
        "x",
    )


@handles(cmath.log, params="x, base=")
def _log(t: Translator, x: Operand, base: Operand | None) -> Operand:
    top = complexes.principal_logarithm(t, complex_operand(t, x))
    if base is None:
        return top
    return complexes.divide(t, *complexes.both(t, top, _log(t, base, None)))


@handles(cmath.isfinite, params="x")
def _isfinite(t: Translator, x: Operand) -> Operand:
    return Scalar(is_finite(t, x))


@handles(cmath.polar, params="x")
def _polar(t: Translator, x: Operand) -> Operand:
    z = complex_operand(t, x)
    return TupleOperand((complexes.magnitude(t, z), complexes.phase(t, z)))


@handles(cmath.rect, params="r, phi")
def _rect(t: Translator, r: Operand, phi: Operand) -> Operand:
    """A radius of 0 has the result 0 at every angle, even infinity and NaN; an angle of 0 a real
    result."""
    radius, angle, _ = float_operands(t, r, phi)
    result, zero = arithmetic.polar(t.b, radius, angle), edges.constant_of(t.b, 0.0, radius)
    none = t.b.and_(edges.is_zero(t.b, radius), edges.is_nan(t.b, result.real))
    real, imag = (t.b.select(none, zero, part) for part in (result.real, result.imag))
    lost = t.b.and_(edges.is_infinite(t.b, radius), edges.is_nan(t.b, angle))
    real = t.b.select(lost, t.b.unary(arith.Abs, radius), real)
    sign = t.b.binary(math.Copysign, edges.constant_of(t.b, 1.0, radius), radius)
    flat = edges.is_zero(t.b, angle)  # an infinite radius has no part there either
    level = t.b.select(edges.is_nan(t.b, radius), zero, t.b.mul(angle, sign))
    return ComplexNumber(real, t.b.select(flat, level, imag))
