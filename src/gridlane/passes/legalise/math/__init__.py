"""Replaces mathematical ops that a target lacks by calls of functions composed of other ops.

Each (op, type) becomes one device function of the module, written on first use. f32 functions use
f32, 32-bit integers, comparisons, selects, sqrt, rint and trunc; f64 functions use f64 and 64-bit
integers as well. f16 and bf16 compute in f32 and round once.

f32 functions are as accurate where Fma rounds twice; f64 functions need it fused. All of them need
sums and products that are rounded once and not reordered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from gridlane.core.dtypes import DType, f32, f64
from gridlane.ir.builder import Builder
from gridlane.ir.expressions import FORMATS, NARROW, Expression, Writer
from gridlane.ir.op import FastMath, Op
from gridlane.ir.rewriting import Rewriter
from gridlane.ir.values import Function, Module, Param, Value
from gridlane.passes.legalise.library import library_function
from gridlane.passes.legalise.math.functions import (
    BY_FMA,
    DOUBLE_ONLY,
    FUNCTIONS,
    UNWIDENED,
    Formula,
)
from gridlane.passes.legalise.math.natives import CPU, NOTHING, NVPTX, Natives

Keep: TypeAlias = Callable[[type[Op], DType], bool]
"""Whether a target supports an op on a float type."""


def legalize_math(module: Module, keep: Keep) -> None:
    """Lower functions of floats that ``keep`` rejects to gridlane's own."""
    for function in list(module.functions.values()):
        replacement = _Replacement(module, function, keep)
        if any(map(replacement.lacks, function.body.walk())):
            replacement.region(function.body)


class _Replacement(Rewriter):
    def __init__(self, module: Module, function: Function, keep: Keep) -> None:
        super().__init__(module, function)
        self.keep = keep

    def replaced(self, op: Op) -> tuple[Value, ...] | None:
        if not self.lacks(op):
            return None
        replacements = self.computed(op)
        for old, new in zip(op.results, replacements, strict=True):
            new.name = new.name or old.name
        return replacements

    def lacks(self, op: Op) -> bool:
        """Whether the target lacks an op."""
        if type(op) not in FUNCTIONS:
            return False
        dtype = _float_of(op)
        may_be_rough = dtype is f32 and getattr(op, "fast", FastMath.NONE) & FastMath.ROUGH
        if may_be_rough and type(op) in getattr(self.keep, "rough", ()):
            return False
        return dtype.is_float and not self.keep(type(op), dtype)

    def computed(self, op: Op) -> tuple[Value, ...]:
        """The values that replace the results of an op."""
        own = _float_of(op)
        wide = own if own in FORMATS or type(op) in UNWIDENED else f32
        if wide is f32 and type(op) in getattr(self.keep, "widened", ()):
            wide = f64
        b = self.builder
        operands = [b.cast(v, wide) if v.type is own else v for v in op.operands()]
        if wide is not own and self.keep(type(op), wide):
            replacements = b.emit(type(op)(*operands)).results
        else:
            fuses = getattr(self.keep, "fuses", False)
            replacements = b.call(function_for(self.module, type(op), wide, fuses), tuple(operands))
        return tuple([b.cast(v, own) if v.type is wide else v for v in replacements])


def _float_of(op: Op) -> DType:
    """The type of an op's first operand."""
    dtype = next(op.operands()).type
    assert isinstance(dtype, DType)
    return dtype


def function_for(module: Module, op: type[Op], dtype: DType, fuses: bool = False) -> Function:
    """The module's function that computes ``op`` on a type, written on first use.

    Args:
        fuses: a fused multiply-add of f32 rounds once, as that of f64 must.
    """
    formula, others = FUNCTIONS[op]
    name = f"gridlane.{op.name}.{dtype}"
    fuses = fuses and dtype is f32
    if dtype is f64 or (fuses and op not in DOUBLE_ONLY):
        formula = BY_FMA.get(op, formula)
    name = f"{name}.fused" if fuses else name
    types = (dtype, *others(dtype))
    return library_function(module, name, lambda: _written(module, name, formula, types, fuses))


def _written(
    module: Module, name: str, formula: Formula, types: tuple[DType, ...], fuses: bool
) -> Function:
    function = Function(name)
    for type_ in types:
        value = Value(type_, None, f"x{len(function.params)}")
        function.params.append(Param(value))
    writer = Writer(Builder(module, function), (FORMATS | NARROW)[types[0]], fuses)
    outputs = formula(writer, *[writer.wrap(param.value) for param in function.params])
    results = (outputs,) if isinstance(outputs, Expression) else outputs
    function.results = tuple([result.value.type for result in results])
    writer.builder.return_(tuple([result.value for result in results]))
    function.body.ops = [*writer.constants.values(), *function.body.ops]
    return function


__all__ = [
    "CPU", "FUNCTIONS", "NOTHING", "NVPTX", "Keep", "Natives", "function_for", "legalize_math",
]  # fmt: skip
