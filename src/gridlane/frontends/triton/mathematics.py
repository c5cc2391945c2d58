"""``tl.math``: functions of floats and integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridlane.core.dtypes import DType
from gridlane.frontends.triton.arithmetic import BUILDS, abs
from gridlane.frontends.triton.constants import unwrapped
from gridlane.frontends.triton.context import builtin
from gridlane.frontends.triton.elementwise import apply
from gridlane.frontends.triton.numbers import to_tensor
from gridlane.frontends.triton.promotion import operands
from gridlane.frontends.triton.shapes import matched
from gridlane.frontends.triton.types import require_arithmetic
from gridlane.frontends.triton.values import member, tensor
from gridlane.ir.builder import Builder
from gridlane.ir.libdevice import ONE
from gridlane.ir.op import FastMath, Op
from gridlane.ir.ops import arith, math
from gridlane.ir.values import Value

FLOATS = ("fp32", "fp64")
INTEGERS = ("int32", "int64", "uint32", "uint64")


def _require(kinds: tuple[str, ...], *values: Any) -> None:
    for value in values:
        plain = unwrapped(value)
        if isinstance(plain, tensor) and plain.dtype.name not in kinds:
            raise ValueError(f"Expected dtype {[*kinds]} but got {plain.dtype.name}")


def _unary(b: Builder, cls: type[Op], value: Value) -> Value:
    """A function of one float; subnormal powers of 2 may be 0, as in Triton, as NVIDIA's
    instruction for others takes three more."""
    result = b.unary(cls, value)
    if isinstance(result.op, math.Exp2):
        result.op.fast |= FastMath.FLUSHABLE
    return result


def _of_one(name: str, kinds: tuple[str, ...] = FLOATS, op: str = "") -> Callable[..., tensor]:
    """A function of one float."""
    cls = ONE[op or name]

    def function(x: Any) -> tensor:
        _require(kinds, x)
        value = to_tensor(x)
        if not value.dtype.is_floating():
            raise ValueError(f"Expected dtype {[*kinds]} but got {value.dtype.name}")
        return apply(op or name, lambda b, v: _unary(b, cls, v), [value], value.dtype)

    function.__name__ = name
    function.__doc__ = f"The {name} of each element."
    made = builtin(function)
    return made if name == "sqrt_rn" else member(made)


exp, exp2, log, log2 = map(_of_one, ("exp", "exp2", "log", "log2"))
sin, cos, sqrt, rsqrt = map(_of_one, ("sin", "cos", "sqrt", "rsqrt"))
erf, floor, ceil = map(_of_one, ("erf", "floor", "ceil"))
sqrt_rn = _of_one("sqrt_rn", ("fp32",), "sqrt")


@builtin
def umulhi(x: Any, y: Any) -> tensor:
    """The upper half of the product of unsigned integers."""
    _require(INTEGERS, x, y)
    first, second = operands(to_tensor(x), to_tensor(y))

    def build(b: Builder, v: Value, w: Value) -> Value:
        assert isinstance(v.type, DType)
        kind = v.type.unsigned
        high = b.binary(arith.MulHi, b.bitcast(v, kind), b.bitcast(w, kind))
        return b.bitcast(high, v.type)

    return apply("umulhi", build, [first, second], first.dtype)


@builtin
def fdiv(x: Any, y: Any, ieee_rounding: Any = False) -> tensor:
    """The quotient of floats."""
    first, second = to_tensor(x), to_tensor(y)
    for each in (first, second):
        require_arithmetic(each.dtype, "fdiv")
    if not first.dtype.is_floating() or not second.dtype.is_floating():
        raise TypeError("both operands of fdiv must have floating scalar type")
    first, second = operands(first, second)
    return apply("div", BUILDS["div"], [first, second], first.dtype)


@builtin
def div_rn(x: Any, y: Any) -> tensor:
    """The quotient of float32, rounded to nearest even."""
    _require(("fp32",), x, y)
    first, second = operands(to_tensor(x), to_tensor(y))
    return apply("div", BUILDS["div"], [first, second], first.dtype)


@builtin
def fma(x: Any, y: Any, z: Any) -> tensor:
    """x * y + z, rounded once."""
    first, second = operands(to_tensor(x), to_tensor(y))
    third, first = operands(to_tensor(z), first)
    third, second = operands(third, second)
    first, second = operands(first, second)
    if not first.dtype.is_floating():
        raise TypeError(f"fma() takes floats, not {first.dtype}")
    require_arithmetic(first.dtype, "fma")
    values = matched(first, second, third)
    return apply("fma", lambda b, v, w, u: b.value(arith.Fma(v, w, u)), values, first.dtype)


__all__ = [
    "abs", "ceil", "cos", "div_rn", "erf", "exp", "exp2", "fdiv", "floor", "fma", "log", "log2",
    "rsqrt", "sin", "sqrt", "sqrt_rn", "umulhi",
]  # fmt: skip
