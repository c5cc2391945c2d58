"""The fused multiply-add, which GLSL.std.450 allows to round twice."""

from __future__ import annotations

from gridlane.codegen.spirv import conversion, scalars
from gridlane.codegen.spirv.emission import Emission, emits
from gridlane.codegen.spirv.opcodes import Glsl
from gridlane.core.dtypes import DType
from gridlane.ir.ops import arith


@emits(arith.Fma)
def fused(state: Emission, op: arith.Fma) -> None:
    """Emit the instruction, where the device guarantees one rounding; else compute in f64. For f64,
    ``passes.fuse_exactly`` has replaced the op where the instruction is not enough."""
    dtype = op.a.type
    assert isinstance(dtype, DType)
    operands = [state.name(value) for value in op.operands()]
    if state.has("fma") and dtype.name != "bf16":
        fused_id = state.code.ext(Glsl.Fma, dtype, *operands)
    else:
        assert dtype.bits < 64, op
        operands = scalars.hidden_zeros(state.code, op, operands)
        fused_id = conversion.fused_through_f64(state.code, dtype, operands)
    state.set(op.results[0], fused_id)
