"""The ops that libraries of functions compute: libm, libmvec and libdevice have all of them."""

from __future__ import annotations

from gridlane.ir.ops import math

UNARY = (
    math.Cbrt, math.Exp, math.Exp2, math.Exp10, math.Expm1, math.Log, math.Log2, math.Log10,
    math.Log1p, math.Sin, math.Cos, math.Tan, math.Asin, math.Acos, math.Atan, math.Sinh,
    math.Cosh, math.Tanh, math.Asinh, math.Acosh, math.Atanh, math.Erf, math.Erfc, math.Tgamma,
    math.Lgamma,
)  # fmt: skip
BINARY = (math.Pow, math.Atan2, math.Hypot)
