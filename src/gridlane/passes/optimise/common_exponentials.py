"""Computes several exponentials of float32: five operations each, where no argument is large.

A library's function reduces its argument to a fraction and scales a power of two by eight
operations, so that results may be subnormal, infinite or 0. Up to ``MOST`` exponentials have one
test here, whether all arguments are within ``HIGH``, and a branch for others. Within, the
approximate power of two of PTX (``ex2.approx.ftz``) is within its range: with
``t = x * log2(e)`` rounded, ``2**t`` lacks the factor ``exp(d)`` of ``d = x - t * ln(2)``, which is
tiny, so that it is ``1 + d`` to float32. ``d`` is two fused operations, with ln(2) in two parts.
"""

from __future__ import annotations

import math as numbers

from gridlane.core.dtypes import f32
from gridlane.ir.builder import Builder, constant, rounded
from gridlane.ir.op import FastMath, Op
from gridlane.ir.ops import arith, math
from gridlane.ir.rewriting import replace_values
from gridlane.ir.values import Function, Module, Region, Value
from gridlane.passes.optimise.moves import folded, movable

LEAST, MOST = 4, 8
"""Exponentials of one branch."""
HIGH = 87.0
"""The largest magnitude of an argument: its exponential is no subnormal number."""
_LN2 = numbers.log(2)
_LN2_HIGH = rounded(_LN2, f32)
_PLAIN = FastMath.NONE, FastMath.CONTRACT
_NATIVE = FastMath.ROUGH | FastMath.FTZ
"""Those of ``ex2.approx.ftz``."""


def share_ranges(module: Module) -> None:
    """Test the arguments of several exponentials at once."""
    for function in module.functions.values():
        new: dict[Value, Value] = {}
        _region(module, function, function.body, new)
        if new:
            replace_values(function.body, new)


def _region(module: Module, function: Function, region: Region, new: dict[Value, Value]) -> None:
    found: list[math.Exp] = []
    for op in region.ops:
        if op.REGION_FIELDS:
            for inner in op.regions():
                _region(module, function, inner, new)
        if isinstance(op, math.Exp) and _is_plain(op):
            found.append(op)
    while len(found) >= LEAST:  # the last first: what is no element of a tile precedes these
        moved, ready = movable(region, [(op, op.value) for op in found[-MOST:]], new)
        found = [op for op in found[:-1] if op not in ready]
        if len(ready) >= LEAST:
            _compute(module, function, region, ready, moved, new)


def _is_plain(op: math.Exp) -> bool:
    return op.value.type is f32 and op.fast in _PLAIN and constant(op.value) is None


def _compute(
    module: Module,
    function: Function,
    region: Region,
    ops: list[math.Exp],
    moved: list[Op],
    new: dict[Value, Value],
) -> None:
    """Write exponentials in place of the first."""
    gone = {*moved, *ops}
    begin = region.ops.index(ops[0])
    before = region.ops[:begin]
    after = [op for op in region.ops[begin:] if op not in gone]
    b = Builder(module, function)
    b.loc = ops[0].loc
    variables = [b.variable("exponential", f32) for _ in ops]
    with b.inside(Region()) as made:
        # What ignores a NaN computes with it all the same, and the result is one.
        largest = folded(b, arith.Max, [b.unary(arith.Abs, op.value) for op in ops])
        with b.if_(b.value(arith.Le(largest, b.const(HIGH, f32)))) as branch:
            for variable, op in zip(variables, ops, strict=True):
                b.write(variable, _near(b, op.value))
        with b.inside(branch.orelse):
            for variable, op in zip(variables, ops, strict=True):
                b.write(variable, b.value(math.Exp(op.value, op.fast)))
        for variable, op in zip(variables, ops, strict=True):
            new[op.results[0]] = b.read(variable)
    region.ops = [*before, *moved, *made.ops, *after]


def _near(b: Builder, value: Value) -> Value:
    """The exponential of a value within ``HIGH``."""
    binary = b.mul(value, b.const(1 / _LN2, f32))
    power = b.value(math.Exp2(binary, _NATIVE))
    rest = b.fma(binary, b.const(-_LN2_HIGH, f32), value)
    rest = b.fma(binary, b.const(_LN2_HIGH - _LN2, f32), rest)
    return b.fma(power, rest, power)
