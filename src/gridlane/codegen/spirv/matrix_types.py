"""Types of cooperative matrices (SPV_KHR_cooperative_matrix), which a subgroup holds together."""

from __future__ import annotations

from gridlane.codegen.spirv.code import Code
from gridlane.codegen.spirv.opcodes import Capability, Opcode, Scope, Use
from gridlane.core.dtypes import u32
from gridlane.ir.types import FragmentType, Role

_USES = {Role.A: Use.MatrixA, Role.B: Use.MatrixB, Role.ACC: Use.MatrixAccumulator}


def matrix_type(code: Code, type_: FragmentType) -> int:
    """The type of a fragment, which is one matrix of the device."""
    code.capabilities.add(Capability.CooperativeMatrixKHR)
    code.extensions.add("SPV_KHR_cooperative_matrix")
    numbers = Scope.Subgroup, type_.rows, type_.cols, _USES[type_.role]
    words = [code.const(each, u32) for each in numbers]
    return code.type(Opcode.TypeCooperativeMatrixKHR, code.scalar(type_.element), *words)


def matrix_zero(code: Code, type_: FragmentType) -> int:
    """A matrix of zeros."""
    zero = code.const(0, type_.element)
    return code.shared(Opcode.ConstantComposite, (matrix_type(code, type_),), (zero,))
