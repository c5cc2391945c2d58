"""Makes fused multiply-adds of f64 calls of a function of integers, for targets whose own may
round twice."""

from __future__ import annotations

from gridlane.core.dtypes import f64
from gridlane.ir.builder import Builder
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, control
from gridlane.ir.values import Function, Module, Param, Region, Value
from gridlane.passes.legalize_math.expression import FORMATS, Writer
from gridlane.passes.legalize_math.fused import fma

NAME = f"gridlane.fma.{f64}"


def fuse_exactly(module: Module) -> None:
    """Replace every Fma of f64."""
    for function in list(module.functions.values()):
        _rewrite(module, function.body, {})


def _rewrite(module: Module, region: Region, values: dict[Value, Value]) -> None:
    ops: list[Op] = []
    for op in region.ops:
        op.replace_operands(lambda value: values.get(value, value))
        for inner in op.regions():
            _rewrite(module, inner, values)
        if isinstance(op, arith.Fma) and op.a.type is f64:
            callee = _function(module)
            call = control.Call(callee.name, (op.a, op.b, op.c), callee.results, loc=op.loc)
            values[op.results[0]] = call.results[0]
            op = call
        ops.append(op)
    region.ops = ops


def _function(module: Module) -> Function:
    """The module's function; written at its first use."""
    if NAME not in module.functions:
        function = Function(NAME, [Param(Value(f64, None, name)) for name in "abc"], (f64,))
        writer = Writer(Builder(module, function), FORMATS[f64])
        made = fma(writer, *[writer.wrap(param.value) for param in function.params])
        writer.builder.return_((made.value,))
        function.body.ops = [*writer.constants.values(), *function.body.ops]
        module.functions[NAME] = function
    return module.functions[NAME]
