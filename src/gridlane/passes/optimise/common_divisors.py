"""Divides several float32 values by one: a reciprocal, and three operations for each quotient.

A GPU divides by an approximate reciprocal, which it corrects, and by a branch for operands at the
ends of the range, all of it for each quotient. Here the reciprocal is computed once, and one branch
serves up to ``MOST`` quotients. They stay exact: ``r = 1 / s`` rounded to nearest, ``q = x * r``,
``e = x - q * s`` without an error, and ``q + e * r`` is the quotient rounded to nearest (Markstein,
"Computation of elementary functions on the IBM RISC System/6000 processor", 1990), where no
magnitude is beyond ``LOW`` or ``HIGH``: no result overflows, and none, nor an error, is subnormal.
Others are divided one by one. Whether magnitudes are from 2**-63 to 2, as those of exponentials of
what is no more than 0, two bits of each tell: for these there is half an instruction a bit.
"""

from __future__ import annotations

from gridlane.core.dtypes import b1, f32, u32
from gridlane.ir.builder import Builder, constant
from gridlane.ir.op import FastMath, Op
from gridlane.ir.ops import arith
from gridlane.ir.rewriting import replace_values
from gridlane.ir.values import Function, Module, Region, Value
from gridlane.passes.optimise.moves import folded, movable

LEAST, MOST = 4, 8
"""Quotients of one branch."""
LOW, HIGH = 2.0**-60, 2.0**60
_FROM_2, _FROM_LOW = 1 << 30, 1 << 29
"""A bit of magnitudes of 2 and more, and one that those from 2**-63 to 2 have."""
_EXACT = FastMath.NONE, FastMath.CONTRACT


def share_reciprocals(module: Module) -> None:
    """Divide values by what others are divided by through one reciprocal."""
    for function in module.functions.values():
        new: dict[Value, Value] = {}
        _region(module, function, function.body, new)
        if new:
            replace_values(function.body, new)


def _region(module: Module, function: Function, region: Region, new: dict[Value, Value]) -> None:
    groups: dict[Value, list[arith.Div]] = {}
    for op in region.ops:
        if op.REGION_FIELDS:
            for inner in op.regions():
                _region(module, function, inner, new)
        if isinstance(op, arith.Div) and _is_plain(op):
            groups.setdefault(op.rhs, []).append(op)
    for divisions in groups.values():
        reciprocal: Value | None = None
        while len(divisions) >= LEAST:
            moved, ready = movable(region, [(op, op.lhs) for op in divisions[:MOST]], new)
            divisions = [op for op in divisions[1:] if op not in ready]
            if len(ready) >= LEAST:
                reciprocal = _divide(module, function, region, ready, moved, reciprocal, new)


def _is_plain(op: arith.Div) -> bool:
    """Whether a division is one of exact float32, of no constants, which LLVM folds."""
    plain = op.lhs.type is f32 and op.fast in _EXACT
    return plain and constant(op.lhs) is None and constant(op.rhs) is None


def _divide(
    module: Module,
    function: Function,
    region: Region,
    divisions: list[arith.Div],
    moved: list[Op],
    reciprocal: Value | None,
    new: dict[Value, Value],
) -> Value:
    """Write divisions by one value, in place of the first; return the reciprocal."""
    gone = {*moved, *divisions}
    begin = region.ops.index(divisions[0])
    before = region.ops[:begin]
    after = [op for op in region.ops[begin:] if op not in gone]
    b, divisor = Builder(module, function), divisions[0].rhs
    b.loc = divisions[0].loc
    variables = [b.variable("quotient", f32) for _ in divisions]
    with b.inside(Region()) as made:
        if reciprocal is None:
            reciprocal = b.value(arith.Div(b.const(1.0, f32), divisor))
        fits = _fit(b, divisor, [op.lhs for op in divisions])
        with b.if_(fits) as branch:
            minus = b.neg(divisor)
            for variable, op in zip(variables, divisions, strict=True):
                first = b.mul(op.lhs, reciprocal)
                rest = b.fma(minus, first, op.lhs)
                b.write(variable, b.fma(rest, reciprocal, first))
        with b.inside(branch.orelse):
            for variable, op in zip(variables, divisions, strict=True):
                b.write(variable, b.value(arith.Div(op.lhs, divisor, op.fast)))
        for variable, op in zip(variables, divisions, strict=True):
            new[op.results[0]] = b.read(variable)
    region.ops = [*before, *moved, *made.ops, *after]
    return reciprocal


def _fit(b: Builder, divisor: Value, dividends: list[Value]) -> Value:
    """Whether the quotients are exact."""
    bits = [b.bitcast(value, u32) for value in dividends]
    all_of, any_of = (folded(b, op, bits) for op in (arith.And, arith.Or))
    small = b.eq(b.and_(any_of, b.const(_FROM_2, u32)), b.const(0, u32))
    large = b.eq(b.and_(all_of, b.const(_FROM_LOW, u32)), b.const(_FROM_LOW, u32))
    fits, size = b.variable("fits", b1), b.unary(arith.Abs, divisor)
    b.write(fits, b.and_(small, large))
    with b.if_(b.not_(b.read(fits))):
        # What ignores a NaN divides by it all the same, and the quotient is one.
        sizes = [b.unary(arith.Abs, value) for value in dividends]
        low = b.value(arith.Le(b.const(LOW, f32), folded(b, arith.Min, sizes)))
        high = b.value(arith.Le(folded(b, arith.Max, sizes), b.const(HIGH, f32)))
        b.write(fits, b.and_(low, high))
    low = b.value(arith.Le(b.const(LOW, f32), size))
    high = b.value(arith.Le(size, b.const(HIGH, f32)))
    return b.and_(b.read(fits), b.and_(low, high))
