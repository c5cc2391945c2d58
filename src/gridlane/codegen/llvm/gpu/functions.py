"""Mathematical functions that LLVM IR supports on any GPU.

f16 and bf16 compute in f32 and round once.
"""

from __future__ import annotations

from gridlane.codegen.llvm import floats, scalars
from gridlane.codegen.llvm.gpu.emission import Emission, emits
from gridlane.codegen.llvm.text import flags, scalar_name
from gridlane.core.dtypes import DType, f32
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, math


def own_type(op: Op) -> DType:
    """The type of the first operand."""
    type_ = next(op.operands()).type
    assert isinstance(type_, DType)
    return type_


def wide_type(op: Op) -> DType:
    """The type that an op computes in."""
    own = own_type(op)
    return own if own.bits >= 32 else f32


def wide_operands(state: Emission, op: Op) -> list[str]:
    """The operands in the type that the op computes in."""
    own, wide = own_type(op), wide_type(op)
    return [
        scalars.convert(state.body, state.name(value), own, wide, 0)
        if value.type is own
        else state.name(value)
        for value in op.operands()
    ]


def give(state: Emission, op: Op, name: str) -> None:
    """Round a value to the op's own type, as its result."""
    state.set(op.results[0], scalars.convert(state.body, name, wide_type(op), own_type(op), 0))


@emits(arith.Fma)
def fused(state: Emission, op: arith.Fma) -> None:
    """Emit a fused multiply-add: one instruction, except for bf16."""
    own = own_type(op)
    operands = [state.name(value) for value in op.operands()]
    if own.name == "bf16":
        fused_name = floats.narrow_fma(state.body, operands, own, 0)
    else:
        fused_name = state.body.intrinsic("fma", scalar_name(own), 0, operands, flags(op.fast))
    state.set(op.results[0], fused_name)


@emits(math.Ldexp)
def scale(state: Emission, op: math.Ldexp) -> None:
    """Emit value * 2**exponent, which LLVM expands into multiplications."""
    name = scalar_name(wide_type(op))
    value, exponent = wide_operands(state, op)
    arguments = [(name, value), ("i32", exponent)]
    mangled = {"float": "f32", "double": "f64"}[name]
    give(state, op, state.body.call(name, f"llvm.ldexp.{mangled}.i32", arguments))
