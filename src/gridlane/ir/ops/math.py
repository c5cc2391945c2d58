"""Mathematical functions of floats.

A function not marked exact or correctly rounded is within the ulp that docs/math.md and the
tests state for a target. Special cases are C's.
"""

from __future__ import annotations

from gridlane.core.dtypes import i32
from gridlane.ir.op import Op, Scope, family, operation
from gridlane.ir.ops.arith import FastBinary, FastUnary, check_accepts
from gridlane.ir.values import Value


@family
class MathUnary(FastUnary):
    """A function of one float."""

    accepts = "floats"


@family
class MathBinary(FastBinary):
    """A function of two floats."""

    accepts = "floats"


@family
class Approximate(MathUnary):
    """A function of one float that need not be correctly rounded."""

    approximate = True


@family
class ApproximateBinary(MathBinary):
    """A function of two floats that need not be correctly rounded."""

    approximate = True


@operation("sqrt")
class Sqrt(MathUnary):
    """The square root, correctly rounded; NaN below 0."""


@operation("rsqrt")
class Rsqrt(Approximate):
    """1 / sqrt(value)."""


@operation("cbrt")
class Cbrt(Approximate):
    """The cube root."""


@operation("exp")
class Exp(Approximate):
    """e to the value."""


@operation("exp2")
class Exp2(Approximate):
    """2 to the value."""


@operation("exp10")
class Exp10(Approximate):
    """10 to the value."""


@operation("expm1")
class Expm1(Approximate):
    """exp(value) - 1 without cancellation near 0."""


@operation("log")
class Log(Approximate):
    """The natural logarithm; NaN below 0, -inf at 0."""


@operation("log2")
class Log2(Approximate):
    """The logarithm to base 2."""


@operation("log10")
class Log10(Approximate):
    """The logarithm to base 10."""


@operation("log1p")
class Log1p(Approximate):
    """log(1 + value) without cancellation near 0."""


@operation("sin")
class Sin(Approximate):
    """The sine of an angle in radians."""


@operation("cos")
class Cos(Approximate):
    """The cosine of an angle in radians."""


@operation("tan")
class Tan(Approximate):
    """The tangent of an angle in radians."""


@operation("asin")
class Asin(Approximate):
    """The arc sine; NaN outside [-1, 1]."""


@operation("acos")
class Acos(Approximate):
    """The arc cosine; NaN outside [-1, 1]."""


@operation("atan")
class Atan(Approximate):
    """The arc tangent."""


@operation("sinh")
class Sinh(Approximate):
    """The hyperbolic sine."""


@operation("cosh")
class Cosh(Approximate):
    """The hyperbolic cosine."""


@operation("tanh")
class Tanh(Approximate):
    """The hyperbolic tangent."""


@operation("asinh")
class Asinh(Approximate):
    """The inverse hyperbolic sine."""


@operation("acosh")
class Acosh(Approximate):
    """The inverse hyperbolic cosine; NaN below 1."""


@operation("atanh")
class Atanh(Approximate):
    """The inverse hyperbolic tangent; NaN outside [-1, 1]."""


@operation("erf")
class Erf(Approximate):
    """The error function."""


@operation("erfc")
class Erfc(Approximate):
    """1 - erf(value) without cancellation for large values."""


@operation("tgamma")
class Tgamma(Approximate):
    """The gamma function; NaN at negative integers and -inf, infinite at 0."""


@operation("lgamma")
class Lgamma(Approximate):
    """The logarithm of the magnitude of the gamma function."""


@operation("floor")
class Floor(MathUnary):
    """The largest integral value not above; exact."""


@operation("ceil")
class Ceil(MathUnary):
    """The smallest integral value not below; exact."""


@operation("trunc")
class Trunc(MathUnary):
    """The integral value towards zero; exact."""


@operation("rint")
class Rint(MathUnary):
    """The nearest integral value, ties to even; exact."""


@operation("round")
class Round(MathUnary):
    """The nearest integral value, ties away from zero; exact."""


@operation("pow")
class Pow(ApproximateBinary):
    """lhs to the power rhs, with C's special cases."""


@operation("atan2")
class Atan2(ApproximateBinary):
    """The angle of the point (x = rhs, y = lhs), with C's special cases."""


@operation("hypot")
class Hypot(ApproximateBinary):
    """sqrt(lhs*lhs + rhs*rhs) without overflow; infinite when either is."""


@operation("copysign")
class Copysign(MathBinary):
    """The magnitude of lhs with the sign of rhs; exact."""


@operation("nextafter")
class Nextafter(MathBinary):
    """The next representable value after lhs towards rhs; exact."""


@operation("ldexp")
class Ldexp(Op):
    """value * 2**exponent, rounded once; the exponent is an i32."""

    value: Value
    exponent: Value
    pure = True
    elementwise = True
    produces = ("value",)

    def check(self, scope: Scope) -> None:
        check_accepts(self, self.value.type, "floats")
        self.require(self.exponent.type is i32, "the exponent is an i32")


@operation("frexp")
class Frexp(Op):
    """The fraction in [0.5, 1) and the i32 exponent of a float; (value, 0) for 0, inf and NaN."""

    value: Value
    pure = True
    elementwise = True
    produces = ("value", i32)

    def check(self, scope: Scope) -> None:
        check_accepts(self, self.value.type, "floats")
