"""Makes fused multiply-adds calls of a function of integers, for targets whose own may round
twice.

Where the flags of one allow to contract, two roundings will do, and it stays. It runs in front of
``legalize_math``, whose functions are as accurate with two.
"""

from __future__ import annotations

from gridlane.core.dtypes import DType, f32, f64
from gridlane.ir.builder import Builder
from gridlane.ir.op import FastMath, Op
from gridlane.ir.ops import arith, control
from gridlane.ir.values import Function, Module, Param, Region, Value
from gridlane.passes.legalize_math.expression import FORMATS, Writer
from gridlane.passes.legalize_math.fused import fma
from gridlane.passes.legalize_small.formats import odd_fma
from gridlane.passes.library import library_function


def fuse_exactly(module: Module, dtype: DType = f64) -> None:
    """Replace every Fma of a type, which is f32, f64, or one that f32 holds."""
    for function in list(module.functions.values()):
        _rewrite(module, function.body, {}, dtype)


def _rewrite(module: Module, region: Region, values: dict[Value, Value], dtype: DType) -> None:
    ops: list[Op] = []
    for op in region.ops:
        op.replace_operands(lambda value: values.get(value, value))
        for inner in op.regions():
            _rewrite(module, inner, values, dtype)
        if isinstance(op, arith.Fma) and op.a.type is dtype and not op.fast & FastMath.CONTRACT:
            callee = _function(module, dtype)
            call = control.Call(callee.name, (op.a, op.b, op.c), callee.results, loc=op.loc)
            values[op.results[0]] = call.results[0]
            op = call
        ops.append(op)
    region.ops = ops


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
