"""Mathematical functions: instructions where they are exact, else libdevice's.

NVIDIA documents libdevice's errors (CUDA C++ Programming Guide, mathematical functions); tests/ops
measure what it does here. f16 and bf16 compute in f32 and round once.
"""

from __future__ import annotations

from gridlane.codegen.llvm import floats, scalars
from gridlane.codegen.llvm.gpu.emission import Emission
from gridlane.codegen.llvm.gpu.nvptx.overlay import capability_of, emits
from gridlane.codegen.llvm.text import flags, literal, scalar_name
from gridlane.core.dtypes import DType, f32
from gridlane.ir.op import FastMath, Op
from gridlane.ir.ops import arith, math

UNARY = (
    *(math.Cbrt, math.Exp, math.Exp2, math.Exp10, math.Expm1),
    *(math.Log, math.Log2, math.Log10, math.Log1p),
    *(math.Sin, math.Cos, math.Tan, math.Asin, math.Acos, math.Atan),
    *(math.Sinh, math.Cosh, math.Tanh, math.Asinh, math.Acosh, math.Atanh),
    *(math.Erf, math.Erfc, math.Tgamma, math.Lgamma),
)
BINARY = (math.Pow, math.Atan2, math.Hypot)

_FAST = frozenset(("sin", "cos", "tan", "exp", "exp10", "log", "log2", "log10", "pow"))
"""Functions of f32 that libdevice has an approximate form of."""


def from_library(op: Op) -> bool:
    """Whether an op is a call of libdevice."""
    if isinstance(op, (*UNARY, *BINARY)):
        return True
    return isinstance(op, arith.Rem) and _type(op).is_float


def _type(op: Op) -> DType:
    type_ = next(op.operands()).type
    assert isinstance(type_, DType)
    return type_


def _wide(op: Op) -> DType:
    """What an op computes in."""
    own = _type(op)
    return own if own.bits >= 32 else f32


def _operands(state: Emission, op: Op) -> list[str]:
    """The operands in that type."""
    own, wide = _type(op), _wide(op)
    return [
        scalars.convert(state.body, state.name(value), own, wide, 0)
        if value.type is own
        else state.name(value)
        for value in op.operands()
    ]


def _give(state: Emission, op: Op, name: str) -> None:
    state.set(op.results[0], scalars.convert(state.body, name, _wide(op), _type(op), 0))


@emits(*UNARY, *BINARY)
def function(state: Emission, op: Op) -> None:
    """A function of libdevice."""
    fast = getattr(op, "fast", FastMath.NONE)
    stem = op.name
    if fast & FastMath.AFN and _wide(op) is f32 and stem in _FAST:
        stem = f"fast_{stem}"
    _give(state, op, call(state, stem, _wide(op), _operands(state, op)))


def call(state: Emission, stem: str, type_: DType, operands: list[str]) -> str:
    """Call ``__nv_stem``, which has an f at its end for f32."""
    name = scalar_name(type_)
    symbol = f"__nv_{stem}{'f' if type_ is f32 else ''}"
    state.library.add(symbol)
    return state.body.call(name, symbol, [(name, value) for value in operands])


@emits(arith.Rem)
def remainder(state: Emission, op: arith.Rem) -> None:
    """The exact remainder of floats is a function; of integers, scalars.py has it."""
    if _type(op).is_float:
        _give(state, op, call(state, "fmod", _wide(op), _operands(state, op)))
        return
    made = scalars.emit(state.body, op, 0, [state.name(op.lhs), state.name(op.rhs)])
    assert made is not None
    state.set(op.results[0], made)


@emits(math.Rsqrt)
def reciprocal_root(state: Emission, op: math.Rsqrt) -> None:
    """The instruction for f32, within 2 ulp; for f64 the quotient of two rounded results."""
    (value,) = _operands(state, op)
    if _wide(op) is f32:
        made = state.body.call("float", "llvm.nvvm.rsqrt.approx.f", [("float", value)])
    else:
        fast = flags(op.fast)
        root = state.body.intrinsic("sqrt", "double", 0, [value], fast)
        made = state.body.op(f"fdiv {fast}double {literal(1.0, _wide(op))}, {root}")
    _give(state, op, made)


@emits(arith.Fma)
def fused(state: Emission, op: arith.Fma) -> None:
    """One instruction, but for bf16 before 8.0."""
    own = _type(op)
    operands = [state.name(value) for value in op.operands()]
    if own.name != "bf16":
        made = state.body.intrinsic("fma", scalar_name(own), 0, operands, flags(op.fast))
    elif capability_of(state) >= 80:
        reals = [state.body.op(f"bitcast i16 {value} to bfloat") for value in operands]
        arguments = [("bfloat", value) for value in reals]
        real = state.body.call("bfloat", "llvm.fma.bf16", arguments)
        made = state.body.op(f"bitcast bfloat {real} to i16")
    else:
        made = floats.narrow_fma(state.body, operands, own, 0)
    state.set(op.results[0], made)


@emits(math.Ldexp)
def scale(state: Emission, op: math.Ldexp) -> None:
    """value * 2**exponent, which LLVM makes multiplications of."""
    name = scalar_name(_wide(op))
    value, exponent = _operands(state, op)
    arguments = [(name, value), ("i32", exponent)]
    mangled = {"float": "f32", "double": "f64"}[name]
    _give(state, op, state.body.call(name, f"llvm.ldexp.{mangled}.i32", arguments))


@emits(math.Frexp)
def split(state: Emission, op: math.Frexp) -> None:
    """Fraction and exponent."""
    (value,) = _operands(state, op)
    fraction, power = floats.split(state.body, value, _wide(op), 0)
    _give(state, op, fraction)
    state.set(op.results[1], power)


@emits(math.Nextafter)
def neighbour(state: Emission, op: math.Nextafter) -> None:
    """One step towards the other operand."""
    a, b = state.name(op.lhs), state.name(op.rhs)
    state.set(op.results[0], floats.neighbour(state.body, a, b, _type(op), 0))
