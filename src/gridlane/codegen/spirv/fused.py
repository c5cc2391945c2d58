"""The fused multiply-add, which GLSL.std.450 allows to round twice."""

from __future__ import annotations

from gridlane.codegen.spirv import conversion, scalars
from gridlane.codegen.spirv.emission import Emission, emits
from gridlane.codegen.spirv.opcodes import Glsl, Opcode
from gridlane.core.dtypes import DType
from gridlane.ir.op import FastMath
from gridlane.ir.ops import arith


@emits(arith.Fma)
def fused(state: Emission, op: arith.Fma) -> None:
    """Emit the instruction, where the device guarantees one rounding; else compute in f64. For f64,
    ``passes.fuse_exactly`` has replaced the op where two roundings are not enough."""
    dtype = op.a.type
    assert isinstance(dtype, DType)
    operands = [state.name(value) for value in op.operands()]
    if state.has("fma") and dtype.name != "bf16":
        fused_id = state.code.ext(Glsl.Fma, dtype, *operands)
    elif dtype.bits == 64:
        assert op.fast & FastMath.CONTRACT, op
        product = state.code.real(Opcode.FMul, dtype, operands[0], operands[1])
        fused_id = state.code.real(Opcode.FAdd, dtype, product, operands[2])
    else:
        operands = scalars.hidden_zeros(state.code, op, operands)
        fused_id = conversion.fused_through_f64(state.code, dtype, operands)
    state.set(op.results[0], fused_id)
