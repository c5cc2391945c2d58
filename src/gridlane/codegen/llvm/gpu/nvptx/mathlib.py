"""Mathematical functions: instructions where they are exact, else libdevice's.

NVIDIA documents libdevice's errors (CUDA C++ Programming Guide, mathematical functions); tests/ops
measure the error here.
"""

from __future__ import annotations

from gridlane.codegen.llvm import scalars
from gridlane.codegen.llvm.gpu import functions
from gridlane.codegen.llvm.gpu.emission import Emission
from gridlane.codegen.llvm.gpu.functions import give, own_type, wide_operands, wide_type
from gridlane.codegen.llvm.gpu.nvptx.flushing import own_instruction
from gridlane.codegen.llvm.gpu.nvptx.overlay import capability_of, emits
from gridlane.codegen.llvm.libraries import BINARY, UNARY
from gridlane.codegen.llvm.text import flags, literal, scalar_name
from gridlane.core.dtypes import DType, f32
from gridlane.ir.op import FastMath, Op
from gridlane.ir.ops import arith, math

_FAST = frozenset(("sin", "cos", "tan", "exp", "exp10", "log", "log2", "log10", "pow"))
"""Functions of f32 with an approximate form in libdevice."""


@emits(*UNARY, *BINARY)
def function(state: Emission, op: Op) -> None:
    """Emit a function of libdevice, or an approximate instruction."""
    if own_instruction(state, op):
        return
    fast = getattr(op, "fast", FastMath.NONE)
    stem = op.name
    if fast & FastMath.AFN and wide_type(op) is f32 and stem in _FAST:
        stem = f"fast_{stem}"
    give(state, op, call(state, stem, wide_type(op), wide_operands(state, op)))


def call(state: Emission, stem: str, type_: DType, operands: list[str]) -> str:
    """Call ``__nv_stem``, which ends in f for f32."""
    name = scalar_name(type_)
    symbol = f"__nv_{stem}{'f' if type_ is f32 else ''}"
    state.library.add(symbol)
    return state.body.call(name, symbol, [(name, value) for value in operands])


@emits(arith.Rem)
def remainder(state: Emission, op: arith.Rem) -> None:
    """Emit the exact remainder: of floats a function; of integers as in scalars.py."""
    if own_type(op).is_float:
        give(state, op, call(state, "fmod", wide_type(op), wide_operands(state, op)))
        return
    remainder_name = scalars.emit(state.body, op, 0, [state.name(op.lhs), state.name(op.rhs)])
    assert remainder_name is not None
    state.set(op.results[0], remainder_name)


@emits(math.Rsqrt)
def reciprocal_root(state: Emission, op: math.Rsqrt) -> None:
    """Emit the instruction for f32, within 2 ulp; for f64 the quotient of two rounded results."""
    if own_instruction(state, op):
        return
    (value,) = wide_operands(state, op)
    if wide_type(op) is f32:
        root_name = state.body.call("float", "llvm.nvvm.rsqrt.approx.f", [("float", value)])
    else:
        fast = flags(op.fast)
        root = state.body.intrinsic("sqrt", "double", 0, [value], fast)
        root_name = state.body.op(f"fdiv {fast}double {literal(1.0, wide_type(op))}, {root}")
    give(state, op, root_name)


@emits(arith.Fma)
def fused(state: Emission, op: arith.Fma) -> None:
    """Emit a fused multiply-add: one instruction, for bf16 from 8.0 on."""
    if own_instruction(state, op):
        return
    if own_type(op).name != "bf16" or capability_of(state) < 80:
        functions.fused(state, op)
        return
    body = state.body
    reals = [body.op(f"bitcast i16 {state.name(value)} to bfloat") for value in op.operands()]
    real = body.call("bfloat", "llvm.fma.bf16", [("bfloat", value) for value in reals])
    state.set(op.results[0], body.op(f"bitcast bfloat {real} to i16"))
