"""Functions of NVIDIA's libdevice that are ops, by their names without prefix and suffix.

Source: CUDA Math API, "libdevice User's Guide".
"""

from __future__ import annotations

from gridlane.ir.op import Op
from gridlane.ir.ops import arith, math

ONE: dict[str, type[Op]] = {
    "sqrt": math.Sqrt,
    "rsqrt": math.Rsqrt,
    "cbrt": math.Cbrt,
    "exp": math.Exp,
    "exp2": math.Exp2,
    "exp10": math.Exp10,
    "expm1": math.Expm1,
    "log": math.Log,
    "log2": math.Log2,
    "log10": math.Log10,
    "log1p": math.Log1p,
    "sin": math.Sin,
    "cos": math.Cos,
    "tan": math.Tan,
    "asin": math.Asin,
    "acos": math.Acos,
    "atan": math.Atan,
    "sinh": math.Sinh,
    "cosh": math.Cosh,
    "tanh": math.Tanh,
    "asinh": math.Asinh,
    "acosh": math.Acosh,
    "atanh": math.Atanh,
    "erf": math.Erf,
    "erfc": math.Erfc,
    "tgamma": math.Tgamma,
    "lgamma": math.Lgamma,
    "floor": math.Floor,
    "ceil": math.Ceil,
    "trunc": math.Trunc,
    "rint": math.Rint,
    "nearbyint": math.Rint,
    "round": math.Round,
    "fabs": arith.Abs,
}
"""Of one argument."""
TWO: dict[str, type[Op]] = {
    "pow": math.Pow,
    "atan2": math.Atan2,
    "hypot": math.Hypot,
    "copysign": math.Copysign,
    "nextafter": math.Nextafter,
    "fmod": arith.Rem,
    "fmin": arith.Min,
    "fmax": arith.Max,
}
"""Of two arguments."""
QUICK = ("sin", "cos", "tan", "exp", "exp10", "log", "log2", "log10", "pow")
"""f32 functions with a ``fast_`` one beside them; these are as exact as the others here."""
