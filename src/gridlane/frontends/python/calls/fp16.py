"""``cuda.fp16``: arithmetic of float16, rounded to float16 after every operation."""

from __future__ import annotations

from gridlane.core.dtypes import f16
from gridlane.frontends.python import stubs
from gridlane.frontends.python.calls.registry import handles, register
from gridlane.frontends.python.conversion import scalar
from gridlane.frontends.python.operands import Operand, Scalar
from gridlane.frontends.python.translator import Translator
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, math
from gridlane.ir.values import Value

_ONE: dict[str, type[Op]] = {
    "habs": arith.Abs,
    "hneg": arith.Neg,
    "hsin": math.Sin,
    "hcos": math.Cos,
    "hexp": math.Exp,
    "hexp2": math.Exp2,
    "hexp10": math.Exp10,
    "hlog": math.Log,
    "hlog2": math.Log2,
    "hlog10": math.Log10,
    "hsqrt": math.Sqrt,
    "hrsqrt": math.Rsqrt,
    "hceil": math.Ceil,
    "hfloor": math.Floor,
    "hrint": math.Rint,
    "htrunc": math.Trunc,
}
_TWO: dict[str, type[Op]] = {
    "hadd": arith.Add,
    "hsub": arith.Sub,
    "hmul": arith.Mul,
    "hdiv": arith.Div,
    "hmax": arith.Max,
    "hmin": arith.Min,
    "heq": arith.Eq,
    "hne": arith.Ne,
    "hlt": arith.Lt,
    "hle": arith.Le,
    "hgt": arith.Gt,
    "hge": arith.Ge,
}


def _half(t: Translator, operand: Operand) -> Value:
    return t.b.cast(scalar(t, operand).value, f16)


def _register() -> None:
    for name, op in _ONE.items():

        def one(t: Translator, a: Operand, op: type[Op] = op) -> Operand:
            return Scalar(t.b.unary(op, _half(t, a)))

        register((getattr(stubs.fp16, name),), f"cuda.fp16.{name}", one, "a")
    for name, op in _TWO.items():

        def two(t: Translator, a: Operand, b: Operand, op: type[Op] = op) -> Operand:
            return Scalar(t.b.binary(op, _half(t, a), _half(t, b)))

        register((getattr(stubs.fp16, name),), f"cuda.fp16.{name}", two, "a, b")


_register()


@handles(stubs.fp16.hfma)
def _hfma(t: Translator, a: Operand, b: Operand, c: Operand) -> Operand:
    return Scalar(t.b.fma(_half(t, a), _half(t, b), _half(t, c)))


@handles(stubs.fp16.hrcp)
def _hrcp(t: Translator, a: Operand) -> Operand:
    return Scalar(t.b.div(t.b.const(1.0, f16), _half(t, a)))
