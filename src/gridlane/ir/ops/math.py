"""Mathematical functions of floats.

A function not marked exact or correctly rounded is within the ulp that docs/math.md and the
tests state for a target. Special cases are C's.
"""

from __future__ import annotations

from gridlane.core.dtypes import i32
from gridlane.ir.op import FastMath, Op, Scope, operation
from gridlane.ir.ops.arith import Binary, Unary, check_accepts
from gridlane.ir.types import Type
from gridlane.ir.values import Value


class MathUnary(Unary):
    """A function of one float."""

    __slots__ = ()
    accepts = "floats"


class MathBinary(Binary):
    """A function of two floats."""

    __slots__ = ()
    accepts = "floats"


class Approximate(MathUnary):
    """A function of one float that need not be correctly rounded."""

    __slots__ = ()
    approximate = True


class ApproximateBinary(MathBinary):
    """A function of two floats that need not be correctly rounded."""

    __slots__ = ()
    approximate = True


@operation("sqrt")
class Sqrt(MathUnary):
    """The square root, correctly rounded; NaN below 0."""

    value: Value
    fast: FastMath = FastMath.NONE


@operation("rsqrt")
class Rsqrt(Approximate):
    """1 / sqrt(value)."""

    value: Value
    fast: FastMath = FastMath.NONE


@operation("cbrt")
class Cbrt(Approximate):
    """The cube root."""

    value: Value
    fast: FastMath = FastMath.NONE


@operation("exp")
class Exp(Approximate):
    """e to the value."""

    value: Value
    fast: FastMath = FastMath.NONE


@operation("exp2")
class Exp2(Approximate):
    """2 to the value."""

    value: Value
    fast: FastMath = FastMath.NONE


@operation("exp10")
class Exp10(Approximate):
    """10 to the value."""

    value: Value
    fast: FastMath = FastMath.NONE


@operation("expm1")
class Expm1(Approximate):
    """exp(value) - 1 without cancellation near 0."""

    value: Value
    fast: FastMath = FastMath.NONE


@operation("log")
class Log(Approximate):
    """The natural logarithm; NaN below 0, -inf at 0."""

    value: Value
    fast: FastMath = FastMath.NONE


@operation("log2")
class Log2(Approximate):
    """The logarithm to base 2."""

    value: Value
    fast: FastMath = FastMath.NONE


@operation("log10")
class Log10(Approximate):
    """The logarithm to base 10."""

    value: Value
    fast: FastMath = FastMath.NONE


@operation("log1p")
class Log1p(Approximate):
    """log(1 + value) without cancellation near 0."""

    value: Value
    fast: FastMath = FastMath.NONE


@operation("sin")
class Sin(Approximate):
    """The sine of an angle in radians."""

    value: Value
    fast: FastMath = FastMath.NONE


@operation("cos")
class Cos(Approximate):
    """The cosine of an angle in radians."""

    value: Value
    fast: FastMath = FastMath.NONE


@operation("tan")
class Tan(Approximate):
    """The tangent of an angle in radians."""

    value: Value
    fast: FastMath = FastMath.NONE


@operation("asin")
class Asin(Approximate):
    """The arc sine; NaN outside [-1, 1]."""

    value: Value
    fast: FastMath = FastMath.NONE


@operation("acos")
class Acos(Approximate):
    """The arc cosine; NaN outside [-1, 1]."""

    value: Value
    fast: FastMath = FastMath.NONE


@operation("atan")
class Atan(Approximate):
    """The arc tangent."""

    value: Value
    fast: FastMath = FastMath.NONE


@operation("sinh")
class Sinh(Approximate):
    """The hyperbolic sine."""

    value: Value
    fast: FastMath = FastMath.NONE


@operation("cosh")
class Cosh(Approximate):
    """The hyperbolic cosine."""

    value: Value
    fast: FastMath = FastMath.NONE


@operation("tanh")
class Tanh(Approximate):
    """The hyperbolic tangent."""

    value: Value
    fast: FastMath = FastMath.NONE


@operation("asinh")
class Asinh(Approximate):
    """The inverse hyperbolic sine."""

    value: Value
    fast: FastMath = FastMath.NONE


@operation("acosh")
class Acosh(Approximate):
    """The inverse hyperbolic cosine; NaN below 1."""

    value: Value
    fast: FastMath = FastMath.NONE


@operation("atanh")
class Atanh(Approximate):
    """The inverse hyperbolic tangent; NaN outside [-1, 1]."""

    value: Value
    fast: FastMath = FastMath.NONE


@operation("erf")
class Erf(Approximate):
    """The error function."""

    value: Value
    fast: FastMath = FastMath.NONE


@operation("erfc")
class Erfc(Approximate):
    """1 - erf(value) without cancellation for large values."""

    value: Value
    fast: FastMath = FastMath.NONE


@operation("tgamma")
class Tgamma(Approximate):
    """The gamma function; NaN at negative integers and -inf, infinite at 0."""

    value: Value
    fast: FastMath = FastMath.NONE


@operation("lgamma")
class Lgamma(Approximate):
    """The logarithm of the magnitude of the gamma function."""

    value: Value
    fast: FastMath = FastMath.NONE


@operation("floor")
class Floor(MathUnary):
    """The largest integral value not above; exact."""

    value: Value
    fast: FastMath = FastMath.NONE


@operation("ceil")
class Ceil(MathUnary):
    """The smallest integral value not below; exact."""

    value: Value
    fast: FastMath = FastMath.NONE


@operation("trunc")
class Trunc(MathUnary):
    """The integral value towards zero; exact."""

    value: Value
    fast: FastMath = FastMath.NONE


@operation("rint")
class Rint(MathUnary):
    """The nearest integral value, ties to even; exact."""

    value: Value
    fast: FastMath = FastMath.NONE


@operation("round")
class Round(MathUnary):
    """The nearest integral value, ties away from zero; exact."""

    value: Value
    fast: FastMath = FastMath.NONE


@operation("pow")
class Pow(ApproximateBinary):
    """lhs to the power rhs, with C's special cases."""

    lhs: Value
    rhs: Value
    fast: FastMath = FastMath.NONE


@operation("atan2")
class Atan2(ApproximateBinary):
    """The angle of the point (x = rhs, y = lhs), with C's special cases."""

    lhs: Value
    rhs: Value
    fast: FastMath = FastMath.NONE


@operation("hypot")
class Hypot(ApproximateBinary):
    """sqrt(lhs*lhs + rhs*rhs) without overflow; infinite when either is."""

    lhs: Value
    rhs: Value
    fast: FastMath = FastMath.NONE


@operation("copysign")
class Copysign(MathBinary):
    """The magnitude of lhs with the sign of rhs; exact."""

    lhs: Value
    rhs: Value
    fast: FastMath = FastMath.NONE


@operation("nextafter")
class Nextafter(MathBinary):
    """The next representable value after lhs towards rhs; exact."""

    lhs: Value
    rhs: Value
    fast: FastMath = FastMath.NONE


@operation("ldexp")
class Ldexp(Op):
    """value * 2**exponent, rounded once; the exponent is an i32."""

    value: Value
    exponent: Value
    pure = True
    elementwise = True

    def result_types(self) -> tuple[Type, ...]:
        return (self.value.type,)

    def check(self, scope: Scope) -> None:
        check_accepts(self, self.value.type, "floats")
        self.require(self.exponent.type is i32, "the exponent is an i32")


@operation("frexp")
class Frexp(Op):
    """The fraction in [0.5, 1) and the i32 exponent of a float; (value, 0) for 0, inf and NaN."""

    value: Value
    pure = True
    elementwise = True

    def result_types(self) -> tuple[Type, ...]:
        return (self.value.type, i32)

    def check(self, scope: Scope) -> None:
        check_accepts(self, self.value.type, "floats")
