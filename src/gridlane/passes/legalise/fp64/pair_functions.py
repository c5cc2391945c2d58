"""Arithmetic of pairs as library functions."""

from __future__ import annotations

from collections.abc import Callable

from gridlane.core.dtypes import f32
from gridlane.ir.builder import Builder
from gridlane.ir.values import Function, Module, Param, Value
from gridlane.passes.legalise.library import library_function
from gridlane.passes.legalise.math.doubled import Pair
from gridlane.passes.legalise.math.expression import FORMATS, Writer

Formula = Callable[..., Pair]


def called(w: Writer, name: str, formula: Formula, *operands: Pair) -> Pair:
    """A call of the function that computes a formula of pairs."""
    module, name = w.builder.module, f"gridlane.pairs.{name}"
    function = library_function(
        module, name, lambda: _written(module, name, formula, len(operands))
    )
    parts = tuple([part.value for pair in operands for part in (pair.hi, pair.lo)])
    hi, lo = w.builder.call(function, parts)
    return Pair(w.wrap(hi), w.wrap(lo))


def _written(module: Module, name: str, formula: Formula, count: int) -> Function:
    params = [Param(Value(f32, None, f"x{n}")) for n in range(2 * count)]
    function = Function(name, params, (f32, f32))
    w = Writer(Builder(module, function), FORMATS[f32])
    parts = [w.wrap(param.value) for param in params]
    made = formula(w, *[Pair(*parts[n : n + 2]) for n in range(0, 2 * count, 2)])
    w.builder.return_((made.hi.value, made.lo.value))
    function.body.ops[:0] = w.constants.values()
    return function
