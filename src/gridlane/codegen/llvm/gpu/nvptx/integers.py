"""Integer ops with an instruction in PTX, but no intrinsic in every version of LLVM."""

from __future__ import annotations

from gridlane.codegen.llvm import scalars
from gridlane.codegen.llvm.gpu.emission import Emission
from gridlane.codegen.llvm.gpu.nvptx.overlay import emits
from gridlane.core.dtypes import i32
from gridlane.ir.op import Op
from gridlane.ir.ops import integer

_SATURATING: dict[type[Op], str] = {integer.AddSat: "add.sat.s32", integer.SubSat: "sub.sat.s32"}


@emits(*_SATURATING)
def saturate(state: Emission, op: integer.AddSat | integer.SubSat) -> None:
    """Emit saturating arithmetic, which PTX has for i32 alone."""
    operands = [state.name(op.lhs), state.name(op.rhs)]
    if op.lhs.type is i32:
        saturated = _instruction(state, _SATURATING[type(op)], operands)
    else:
        emitted = scalars.emit(state.body, op, 0, operands)
        assert emitted is not None
        saturated = emitted
    state.set(op.results[0], saturated)


@emits(integer.Prmt)
def permute(state: Emission, op: integer.Prmt) -> None:
    """Emit prmt; the instruction has a name for each mode."""
    suffix = "" if op.mode is integer.PermuteMode.GENERIC else f".{op.mode.value}"
    operands = [state.name(value) for value in op.operands()]
    state.set(op.results[0], _instruction(state, f"prmt.b32{suffix}", operands))


def _instruction(state: Emission, name: str, operands: list[str]) -> str:
    """Emit an instruction on 32-bit registers."""
    placeholders = ", ".join(f"${place}" for place in range(len(operands) + 1))
    constraints = ",".join(["=r", *["r"] * len(operands)])
    arguments = ", ".join(f"i32 {operand}" for operand in operands)
    return state.body.op(f'call i32 asm "{name} {placeholders};", "{constraints}"({arguments})')
