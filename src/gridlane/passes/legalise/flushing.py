"""Expands ops that flush subnormal f32 (``FastMath.FTZ``) into ops that do not, and selects."""

from __future__ import annotations

from collections.abc import Callable

from gridlane.core.dtypes import DType, f32, u32
from gridlane.ir.builder import Builder, constant
from gridlane.ir.op import FastMath, Op, clone_op
from gridlane.ir.ops import arith, floating, math
from gridlane.ir.ops.floating import FLUSHING, flushes
from gridlane.ir.rewriting import Rewriter
from gridlane.ir.values import Function, Module, Value

SCALE = 2.0**24
_LEAST = 2.0**-126 * SCALE


def is_normal_constant(value: Value) -> bool:
    """Whether a value is a constant that is no subnormal f32."""
    known = constant(value)
    return isinstance(known, float) and not 0.0 < abs(known) < 2.0**-126


OF_NVPTX: frozenset[type[Op]] = frozenset((
    arith.Add, arith.Sub, arith.Mul, arith.Div, arith.Fma, math.Sqrt, math.Rsqrt,
    math.Sin, math.Cos, math.Exp2, math.Log2, math.Tanh, floating.FmaTowards,
))  # fmt: skip
"""The ops with an instruction of NVIDIA's that flushes."""


def expand_flushing(module: Module, native: frozenset[type[Op]] = frozenset()) -> None:
    """Expand the ops that flush subnormal f32, but for those ``native`` to the target."""
    own = FLUSHING - native
    for function in module.functions.values():
        if [op for op in function.body.walk() if type(op) in own and flushes(op)]:
            _Expansion(module, function, native).region(function.body)


def tiny_flushed(b: Builder, value: Value, scaled: Value) -> Value:
    """An f32, with 0 of its sign where it is subnormal before its bits are cut to those that a
    subnormal number has: where it is below 2^-126 when rounded to 24 bits. ``scaled`` is 2^24 times
    the number, and has these."""
    sign = b.bitcast(b.and_(b.bitcast(value, u32), b.const(0x80000000, u32)), f32)
    is_tiny = b.lt(b.unary(arith.Abs, scaled), b.const(_LEAST, f32))
    return b.select(is_tiny, sign, value)


def up(b: Builder, value: Value) -> Value:
    """A float times 2^24. It overflows for numbers whose results are normal, and stays infinite."""
    assert isinstance(value.type, DType)
    return b.mul(value, b.const(SCALE, value.type))


def _product(b: Builder, op: Op, x: Value, y: Value) -> Value:
    return b.mul(up(b, x), y)


def _quotient(b: Builder, op: Op, x: Value, y: Value) -> Value:
    return b.div(up(b, x), y)


def _fma(b: Builder, op: Op, x: Value, y: Value, z: Value) -> Value:
    return b.fma(up(b, x), y, up(b, z))


def _fma_towards(b: Builder, op: Op, x: Value, y: Value, z: Value) -> Value:
    assert isinstance(op, floating.FmaTowards)
    return b.value(floating.FmaTowards(up(b, x), y, up(b, z), op.towards))


_SCALED: dict[type[Op], Callable[..., Value]] = {
    arith.Mul: _product,
    arith.Div: _quotient,
    arith.Fma: _fma,
    floating.FmaTowards: _fma_towards,
}
"""The result times 2^24. Tiny sums are exact, and functions approximate."""


class _Expansion(Rewriter):
    def __init__(self, module: Module, function: Function, native: frozenset[type[Op]]) -> None:
        super().__init__(module, function)
        self.native = native
        self.normal: set[Value] = set()

    def replaced(self, op: Op) -> tuple[Value] | None:
        if not flushes(op):
            if isinstance(op, floating.Flush):
                self.normal.update(op.results)
            return None
        if type(op) in self.native:
            self.normal.update(op.results)
            return None
        return (self.expanded(op),)

    def expanded(self, op: Op) -> Value:
        """Append the ops that replace one op."""
        b = self.builder
        given = {value: self.flushed(value) for value in op.operands()}
        copy = clone_op(op, dict(given), {})
        copy.fast &= ~FastMath.FTZ  # type: ignore[attr-defined]  # of a flushing op
        b.region.ops.append(copy)
        scaled = _SCALED.get(type(op))
        if scaled is None:
            result = b.value(floating.Flush(copy.results[0]))
        else:
            operands = (given[value] for value in op.operands())
            result = tiny_flushed(b, copy.results[0], scaled(b, op, *operands))
        self.normal.add(result)
        return result

    def flushed(self, value: Value) -> Value:
        """An operand, flushed unless it is known to be normal."""
        if value in self.normal or is_normal_constant(value):
            return value
        result = self.builder.value(floating.Flush(value))
        self.normal.add(result)
        return result
