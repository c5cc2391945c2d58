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
    fused_single,
    gamma,
    hyperbolic,
    inverse,
    logarithm,
    power,
    trigonometric,
)

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

FUSED_SINGLE: dict[type[Op], Formula] = {
    math.Exp: fused_single.exp,
    math.Tanh: fused_single.tanh,
}
"""Functions of f32 for targets whose fused multiply-add rounds once."""

UNWIDENED = frozenset((math.Nextafter,))
"""Ops whose f16 and bf16 results are not f32's rounded: they have functions of their own."""
