"""Makes fused multiply-adds calls of a function of integers, for targets whose own may round
twice.

Where the flags of one allow to contract, two roundings will do, and it stays. It runs in front of
``legalize_math``, whose functions are as accurate with two.
"""

from __future__ import annotations

from gridlane.core.dtypes import DType, f32, f64
from gridlane.ir.builder import Builder
from gridlane.ir.op import FastMath, Op
from gridlane.ir.ops import arith
from gridlane.ir.values import Function, Module, Param, Value
from gridlane.passes.legalise.library import call_instead, library_function
from gridlane.passes.legalise.math.expression import FORMATS, Writer
from gridlane.passes.legalise.math.fused import fma
from gridlane.passes.legalise.small.formats import odd_fma


def fuse_exactly(module: Module, dtype: DType = f64) -> None:
    """Replace every Fma of a type, which is f32, f64, or one that f32 holds."""

    def callee(op: Op) -> Function | None:
        if not isinstance(op, arith.Fma) or op.a.type is not dtype:
            return None
        return None if op.fast & FastMath.CONTRACT else _function(module, dtype)

    call_instead(module, callee)


def _function(module: Module, dtype: DType) -> Function:
    """The module's function; written at its first use."""
    name = f"gridlane.fma.{dtype}"
    return library_function(module, name, lambda: _written(module, name, dtype))


def _written(module: Module, name: str, dtype: DType) -> Function:
    function = Function(name, [Param(Value(dtype, None, x)) for x in "abc"], (dtype,))
    writer = Writer(Builder(module, function), FORMATS.get(dtype, FORMATS[f32]))
    operands = [writer.wrap(param.value) for param in function.params]
    if dtype in FORMATS:
        made = fma(writer, *operands)
    else:  # rounded to odd, an f32 may be rounded again
        made = odd_fma(writer, *[operand.cast(f32) for operand in operands]).cast(dtype)
    writer.builder.return_((made.value,))
    function.body.ops = [*writer.constants.values(), *function.body.ops]
    return function
