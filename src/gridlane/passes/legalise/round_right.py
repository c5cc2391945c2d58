"""Replaces quotients and square roots by calls of functions that round them correctly, for
languages that allow an error of some ulp.

The pass runs before ``legalize_math``, whose functions, like those of f64, work with approximate
ones.
"""

from __future__ import annotations

from collections.abc import Callable

from gridlane.core.dtypes import DType, bf16, f16, f32
from gridlane.ir.builder import Builder
from gridlane.ir.expressions import FORMATS, Expression, Writer
from gridlane.ir.op import FastMath, Op
from gridlane.ir.ops import arith, math
from gridlane.ir.values import Function, Module, Param, Value
from gridlane.passes.legalise.library import call_instead, library_function
from gridlane.passes.legalise.math.rounded import quotient, sqrt

_FORMULAS: dict[type[Op], tuple[Callable[..., Expression], FastMath]] = {
    arith.Div: (quotient, FastMath.ARCP),
    math.Sqrt: (sqrt, FastMath.AFN),
}
"""The formula of each op, and the flag of an op that may be approximate."""


def round_right(module: Module) -> None:
    """Replace every Div and Sqrt of f32, f16 and bf16 that may not be approximate."""
    call_instead(module, lambda op: _callee(module, op))


def _callee(module: Module, op: Op) -> Function | None:
    if type(op) not in _FORMULAS:
        return None
    dtype = next(op.operands()).type
    rough = getattr(op, "fast", FastMath.NONE) & _FORMULAS[type(op)][1]
    if rough or not isinstance(dtype, DType) or dtype not in (f32, f16, bf16):
        return None
    name = f"gridlane.{op.name}.{dtype}"
    return library_function(module, name, lambda: _written(module, name, type(op), dtype))


def _written(module: Module, name: str, op: type[Op], dtype: DType) -> Function:
    formula = _FORMULAS[op][0]
    names = "ab" if op is arith.Div else "a"
    function = Function(name, [Param(Value(dtype, None, x)) for x in names], (dtype,))
    writer = Writer(Builder(module, function), FORMATS[f32])
    operands = [writer.wrap(param.value) for param in function.params]
    if dtype is f32:
        rounded = formula(writer, *operands)
    else:  # f32 has more than twice the bits, so so its result may be rounded again
        rounded = formula(writer, *[operand.cast(f32) for operand in operands]).cast(dtype)
    writer.builder.return_((rounded.value,))
    function.body.ops = [*writer.constants.values(), *function.body.ops]
    return function
