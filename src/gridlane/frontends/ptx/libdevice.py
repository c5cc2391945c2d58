"""Functions that a module declares and nothing defines, by the names of NVIDIA's libdevice.

A compiler without libdevice leaves calls of ``__nv_sinf`` and its like in the PTX. They are the
IR's functions. CUDA Math API, "libdevice User's Guide".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gridlane.core.dtypes import DType, f32, f64, i32
from gridlane.ir.builder import Builder
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, math
from gridlane.ir.values import Value


@dataclass(frozen=True, slots=True)
class KnownFunction:
    """A function that needs no body.

    Attributes:
        build: makes its result of its arguments.
    """

    params: tuple[DType, ...]
    result: DType
    build: Callable[..., Value]


_ONE: dict[str, type[Op]] = {
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
_TWO: dict[str, type[Op]] = {
    "pow": math.Pow,
    "atan2": math.Atan2,
    "hypot": math.Hypot,
    "copysign": math.Copysign,
    "nextafter": math.Nextafter,
    "fmod": arith.Rem,
    "fmin": arith.Min,
    "fmax": arith.Max,
}
_QUICK = ("sin", "cos", "tan", "exp", "exp10", "log", "log2", "log10")
"""f32 functions with a ``fast_`` one beside them; these are as exact as the others here."""


def _unary(op: type[Op]) -> Callable[..., Value]:
    return lambda b, value: b.unary(op, value)


def _binary(op: type[Op]) -> Callable[..., Value]:
    return lambda b, first, second: b.binary(op, first, second)


def _ldexp(b: Builder, value: Value, exponent: Value) -> Value:
    return b.value(math.Ldexp(value, exponent))


def _fma(b: Builder, first: Value, second: Value, third: Value) -> Value:
    return b.fma(first, second, third)


def _table() -> dict[str, KnownFunction]:
    made: dict[str, KnownFunction] = {}
    for suffix, kind in (("f", f32), ("", f64)):
        for name, op in _ONE.items():
            made[f"__nv_{name}{suffix}"] = KnownFunction((kind,), kind, _unary(op))
        for name, op in _TWO.items():
            made[f"__nv_{name}{suffix}"] = KnownFunction((kind, kind), kind, _binary(op))
        made[f"__nv_ldexp{suffix}"] = KnownFunction((kind, i32), kind, _ldexp)
        made[f"__nv_fma{suffix}"] = KnownFunction((kind, kind, kind), kind, _fma)
    for name in _QUICK:
        made[f"__nv_fast_{name}f"] = made[f"__nv_{name}f"]
    made["__nv_fast_powf"] = made["__nv_powf"]
    return made


KNOWN = _table()
"""The functions by name."""
