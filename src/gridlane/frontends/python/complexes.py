"""Complex numbers of kernels in Python: the formulas of ``ir/complexes`` for operands."""

from __future__ import annotations

from collections.abc import Callable

from gridlane.core.dtypes import DType
from gridlane.core.errors import TypingError
from gridlane.frontends.python import promotion
from gridlane.frontends.python.conversion import to_complex
from gridlane.frontends.python.operands import ComplexNumber, Operand, Scalar
from gridlane.frontends.python.specs import ComplexSpec, ScalarSpec, spec_of
from gridlane.frontends.python.translator import Translator
from gridlane.frontends.python.unification import complex_part
from gridlane.ir.complexes import arithmetic
from gridlane.ir.complexes.arithmetic import Pair
from gridlane.ir.complexes.functions import Function
from gridlane.ir.values import Value

Binary = Callable[[Translator, ComplexNumber, ComplexNumber], ComplexNumber]


def pair(z: ComplexNumber) -> Pair:
    """A complex operand's values."""
    return Pair(z.real, z.imag)


def lifted(function: Function) -> Callable[[Translator, ComplexNumber], ComplexNumber]:
    """A function of operands."""
    return lambda t, z: ComplexNumber(*function(t.b, pair(z)))


def _contracting(function: Callable[..., Pair]) -> Binary:
    """A function of two operands, whose sums and products may contract to an fma."""
    return lambda t, x, y: ComplexNumber(*function(t.b, pair(x), pair(y), t.contract))


def number(t: Translator, real: float, imag: float, part: DType) -> ComplexNumber:
    """A complex constant."""
    return ComplexNumber(*arithmetic.number(t.b, real, imag, part))


def both(
    t: Translator,
    lhs: Operand,
    rhs: Operand,
    rule: Callable[[DType], DType] = promotion.complex_arithmetic,
) -> tuple[ComplexNumber, ComplexNumber]:
    """Two numbers as complex numbers of their common type."""
    specs = spec_of(lhs), spec_of(rhs)
    for side, spec in zip((lhs, rhs), specs, strict=True):
        if not isinstance(spec, ScalarSpec | ComplexSpec):
            raise t.fail(TypingError, f"a number is required here, not {side.type_name}")
    part = complex_part(t.promoted, *specs, part_for=rule)  # type: ignore[arg-type]  # checked above
    return to_complex(t, lhs, part), to_complex(t, rhs, part)


multiply = _contracting(arithmetic.multiply)
divide = _contracting(arithmetic.divide)
principal_logarithm = lifted(arithmetic.principal_logarithm)


def magnitude(t: Translator, z: ComplexNumber) -> Scalar:
    """abs(z)."""
    return Scalar(arithmetic.magnitude(t.b, pair(z)))


def phase(t: Translator, z: ComplexNumber) -> Scalar:
    """The angle of z."""
    return Scalar(arithmetic.phase(t.b, pair(z)))


def power(t: Translator, x: ComplexNumber, y: ComplexNumber) -> ComplexNumber:
    """x ** y, as ``arithmetic.power`` defines it."""
    return ComplexNumber(*arithmetic.power(t.b, pair(x), pair(y)))


def equal(t: Translator, x: ComplexNumber, y: ComplexNumber) -> Value:
    """x == y."""
    return arithmetic.equal(t.b, pair(x), pair(y))


BINARY: dict[str, Binary] = {
    "+": _contracting(arithmetic.add),
    "-": _contracting(arithmetic.subtract),
    "*": multiply,
    "/": divide,
}
