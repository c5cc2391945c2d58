"""Arithmetic of pairs as library functions."""

from __future__ import annotations

from collections.abc import Callable

from gridlane.core.dtypes import f32
from gridlane.ir.builder import Builder
from gridlane.ir.values import Function, Module, Param, Value
from gridlane.passes.legalise.library import library_function
from gridlane.passes.legalise.math.doubled import Pair
from gridlane.passes.legalise.math.expression import FORMATS, Expression, Writer

Formula = Callable[..., Pair | Expression]


def called(w: Writer, name: str, formula: Callable[..., Pair], *operands: Pair) -> Pair:
    """A call of the function that computes a formula of pairs."""
    return Pair(*_called(w, name, formula, operands))


def called_for(w: Writer, name: str, formula: Callable[..., Expression], a: Pair) -> Expression:
    """A call of the function of a pair that gives another scalar."""
    (made,) = _called(w, name, formula, (a,))
    return made


def _called(
    w: Writer, name: str, formula: Formula, operands: tuple[Pair, ...]
) -> tuple[Expression, ...]:
    module, name = w.builder.module, f"gridlane.pairs.{name}"
    function = library_function(
        module, name, lambda: _written(module, name, formula, len(operands))
    )
    parts = tuple([part.value for pair in operands for part in (pair.hi, pair.lo)])
    return tuple([w.wrap(value) for value in w.builder.call(function, parts)])


def _written(module: Module, name: str, formula: Formula, count: int) -> Function:
    params = [Param(Value(f32, None, f"x{n}")) for n in range(2 * count)]
    function = Function(name, params)
    w = Writer(Builder(module, function), FORMATS[f32])
    parts = [w.wrap(param.value) for param in params]
    made = formula(w, *[Pair(*parts[n : n + 2]) for n in range(0, 2 * count, 2)])
    results = (made,) if isinstance(made, Expression) else (made.hi, made.lo)
    function.results = tuple([result.dtype for result in results])
    w.builder.return_(tuple([result.value for result in results]))
    function.body.ops[:0] = w.constants.values()
    return function
