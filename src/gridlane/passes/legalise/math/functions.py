"""The table of functions, by the op that each computes."""

from __future__ import annotations

from collections.abc import Callable

from gridlane.core.dtypes import DType, i32
from gridlane.ir.expressions import Expression
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, math
from gridlane.passes.legalise.math import (
    error_function,
    exact,
    exponential,
    gamma,
    hyperbolic,
    inverse,
    logarithm,
    power,
    trigonometric,
)
from gridlane.passes.legalise.math.by_fma import area as fma_area
from gridlane.passes.legalise.math.by_fma import error_function as fma_error_function
from gridlane.passes.legalise.math.by_fma import exponential as fma_exponential
from gridlane.passes.legalise.math.by_fma import inverse as fma_inverse
from gridlane.passes.legalise.math.by_fma import logarithm as fma_logarithm
from gridlane.passes.legalise.math.by_fma import power as fma_power
from gridlane.passes.legalise.math.by_fma import roots as fma_roots
from gridlane.passes.legalise.math.by_fma import trigonometric as fma_trigonometric

Formula = Callable[..., Expression | tuple[Expression, ...]]
Others = Callable[[DType], tuple[DType, ...]]
"""The types of the operands after the first, which is a float of the given type."""


def _none(dtype: DType) -> tuple[DType, ...]:
    return ()


_UNARY: dict[type[Op], Formula] = {
    math.Exp: exponential.exp,
    math.Exp2: exponential.exp2,
    math.Exp10: exponential.exp10,
    math.Expm1: exponential.expm1,
    math.Log: logarithm.log,
    math.Log2: logarithm.log2,
    math.Log10: logarithm.log10,
    math.Log1p: logarithm.log1p,
    math.Sin: trigonometric.sin,
    math.Cos: trigonometric.cos,
    math.Tan: trigonometric.tan,
    math.Asin: inverse.asin,
    math.Acos: inverse.acos,
    math.Atan: inverse.atan,
    math.Sinh: hyperbolic.sinh,
    math.Cosh: hyperbolic.cosh,
    math.Tanh: hyperbolic.tanh,
    math.Asinh: hyperbolic.asinh,
    math.Acosh: hyperbolic.acosh,
    math.Atanh: hyperbolic.atanh,
    math.Erf: error_function.erf,
    math.Erfc: error_function.erfc,
    math.Tgamma: gamma.tgamma,
    math.Lgamma: gamma.lgamma,
    math.Cbrt: power.cbrt,
    math.Rsqrt: power.rsqrt,
}

_BINARY: dict[type[Op], Formula] = {
    math.Atan2: inverse.atan2,
    arith.Rem: exact.remainder,
    math.Nextafter: exact.nextafter,
    math.Pow: power.pow,
    math.Hypot: power.hypot,
}


def _same(dtype: DType) -> tuple[DType, ...]:
    return (dtype,)


def _exponent(dtype: DType) -> tuple[DType, ...]:
    return (i32,)


FUNCTIONS: dict[type[Op], tuple[Formula, Others]] = {
    **{op: (formula, _none) for op, formula in _UNARY.items()},
    **{op: (formula, _same) for op, formula in _BINARY.items()},
    math.Ldexp: (exact.ldexp, _exponent),
    math.Frexp: (exact.frexp, _none),
}
"""The function that computes an op, with the types of its further operands."""

BY_FMA: dict[type[Op], Formula] = {
    math.Exp: fma_exponential.exp,
    math.Exp2: fma_exponential.exp2,
    math.Exp10: fma_exponential.exp10,
    math.Expm1: fma_exponential.expm1,
    math.Tanh: fma_exponential.tanh,
    math.Sinh: fma_exponential.sinh,
    math.Cosh: fma_exponential.cosh,
    math.Sin: fma_trigonometric.sin,
    math.Cos: fma_trigonometric.cos,
    math.Tan: fma_trigonometric.tan,
    math.Asin: fma_inverse.asin,
    math.Acos: fma_inverse.acos,
    math.Atan: fma_inverse.atan,
    math.Asinh: fma_area.asinh,
    math.Acosh: fma_area.acosh,
    math.Erf: fma_error_function.erf,
    math.Erfc: fma_error_function.erfc,
    math.Cbrt: fma_roots.cbrt,
    math.Rsqrt: fma_roots.rsqrt,
    math.Pow: fma_power.pow,
    math.Atan2: fma_inverse.atan2,
    math.Log: fma_logarithm.log,
    math.Log2: fma_logarithm.log2,
    math.Log10: fma_logarithm.log10,
    math.Log1p: fma_logarithm.log1p,
}
"""Functions of f64, and of f32 where a fused multiply-add rounds once."""

DOUBLE_ONLY = frozenset((math.Exp10, math.Log10))
"""Those of ``BY_FMA`` that are more than 1 ulp off for a few floats of f32."""

UNWIDENED = frozenset((math.Nextafter,))
"""Ops whose f16 and bf16 results are not f32's rounded: they have functions of their own."""
