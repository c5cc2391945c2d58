"""Replaces fused multiply-adds by calls of an integer function, for targets whose own may round
twice.

An Fma whose flags allow contraction stays, as two roundings are enough for it. The pass runs before
``legalize_math``, whose functions are as accurate with two roundings.
"""

from __future__ import annotations

from gridlane.core.dtypes import DType, f32, f64
from gridlane.ir.builder import Builder
from gridlane.ir.expressions import FORMATS, Writer
from gridlane.ir.op import FastMath, Op
from gridlane.ir.ops import arith
from gridlane.ir.values import Function, Module, Param, Value
from gridlane.passes.legalise.library import call_instead, library_function
from gridlane.passes.legalise.math.fused import fma
from gridlane.passes.legalise.small.formats import odd_fma


def fuse_exactly(module: Module, dtype: DType = f64) -> None:
    """Replace every Fma of a type: f32, f64, or a type whose values f32 holds."""

    def callee(op: Op) -> Function | None:
        if not isinstance(op, arith.Fma) or op.a.type is not dtype:
            return None
        return None if op.fast & FastMath.CONTRACT else _function(module, dtype)

    call_instead(module, callee)


def _function(module: Module, dtype: DType) -> Function:
    """The module's function, written on first use."""
    name = f"gridlane.fma.{dtype}"
    return library_function(module, name, lambda: _written(module, name, dtype))


def _written(module: Module, name: str, dtype: DType) -> Function:
    function = Function(name, [Param(Value(dtype, None, x)) for x in "abc"], (dtype,))
    writer = Writer(Builder(module, function), FORMATS.get(dtype, FORMATS[f32]))
    operands = [writer.wrap(param.value) for param in function.params]
    if dtype in FORMATS:
        fused = fma(writer, *operands)
    else:  # rounded to odd, an f32 may be rounded again
        fused = odd_fma(writer, *[operand.cast(f32) for operand in operands]).cast(dtype)
    writer.builder.return_((fused.value,))
    function.body.ops = [*writer.constants.values(), *function.body.ops]
    return function
