"""Functions on the bits of binary64, each written once per module, on first use."""

from __future__ import annotations

from collections.abc import Callable

from gridlane.core.dtypes import f64
from gridlane.ir.builder import Builder
from gridlane.ir.expressions import FORMATS, Expression, Writer
from gridlane.ir.values import Function, Module, Param, Value
from gridlane.passes.legalise.library import library_function

Formula = Callable[..., Expression]
FormulaOfSeveral = Callable[..., tuple[Expression, ...]]


def called(w: Writer, name: str, formula: Formula, *operands: Expression) -> Expression:
    """A call of the function for a formula."""
    (output,) = called_for_several(w, name, lambda *args: (formula(*args),), *operands)
    return output


def called_for_several(
    w: Writer, name: str, formula: FormulaOfSeveral, *operands: Expression
) -> tuple[Expression, ...]:
    """A call of the function for a formula of several results."""
    module, name = w.builder.module, f"gridlane.soft.{name}"
    function = library_function(module, name, lambda: _written(module, name, formula, operands))
    results = w.builder.call(function, tuple([operand.value for operand in operands]))
    return tuple([w.wrap(value) for value in results])


def _written(
    module: Module, name: str, formula: FormulaOfSeveral, operands: tuple[Expression, ...]
) -> Function:
    params = [Param(Value(operand.dtype, None, f"x{n}")) for n, operand in enumerate(operands)]
    function = Function(name, params)
    inner = Writer(Builder(module, function), FORMATS[f64])
    outputs = formula(inner, *[inner.wrap(param.value) for param in params])
    function.results = tuple([result.dtype for result in outputs])
    inner.builder.return_(tuple([result.value for result in outputs]))
    function.body.ops[:0] = inner.constants.values()
    return function
