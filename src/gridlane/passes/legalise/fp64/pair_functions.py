"""Arithmetic of pairs as library functions."""

from __future__ import annotations

from collections.abc import Callable

from gridlane.core.dtypes import f32
from gridlane.ir.builder import Builder
from gridlane.ir.expressions import FORMATS, Expression, Writer
from gridlane.ir.values import Function, Module, Param, Value
from gridlane.passes.legalise.library import library_function
from gridlane.passes.legalise.math.doubled import Pair

Formula = Callable[..., Pair | Expression]
Operand = Pair | Expression


def called(w: Writer, name: str, formula: Callable[..., Pair], *operands: Operand) -> Pair:
    """A call of the function that computes a formula of pairs and other scalars."""
    return Pair(*_called(w, name, formula, operands))


def called_for(w: Writer, name: str, formula: Callable[..., Expression], a: Pair) -> Expression:
    """A call of a pair's function whose result is a scalar."""
    (output,) = _called(w, name, formula, (a,))
    return output


def _called(
    w: Writer, name: str, formula: Formula, operands: tuple[Operand, ...]
) -> tuple[Expression, ...]:
    module, name = w.builder.module, f"gridlane.pairs.{name}"
    function = library_function(module, name, lambda: _written(module, name, formula, operands))
    parts = tuple([part.value for operand in operands for part in _parts(operand)])
    return tuple([w.wrap(value) for value in w.builder.call(function, parts)])


def _parts(operand: Operand) -> tuple[Expression, ...]:
    return (operand,) if isinstance(operand, Expression) else (operand.hi, operand.lo)


def _written(
    module: Module, name: str, formula: Formula, operands: tuple[Operand, ...]
) -> Function:
    types = [part.dtype for operand in operands for part in _parts(operand)]
    params = [Param(Value(type_, None, f"x{n}")) for n, type_ in enumerate(types)]
    function = Function(name, params)
    w = Writer(Builder(module, function), FORMATS[f32])
    parts = iter([w.wrap(param.value) for param in params])
    outputs = formula(
        w,
        *[
            next(parts) if isinstance(operand, Expression) else Pair(next(parts), next(parts))
            for operand in operands
        ],
    )
    function.results = tuple([result.dtype for result in _parts(outputs)])
    w.builder.return_(tuple([result.value for result in _parts(outputs)]))
    function.body.ops[:0] = w.constants.values()
    return function
