"""Types of cooperative matrices (SPV_KHR_cooperative_matrix), which a subgroup holds together."""

from __future__ import annotations

from gridlane.codegen.spirv.code import Code
from gridlane.codegen.spirv.opcodes import Capability, Opcode, Scope, Use
from gridlane.core.dtypes import DType, bf16, u32
from gridlane.ir.types import FragmentType, Role

_USES = {Role.A: Use.MatrixA, Role.B: Use.MatrixB, Role.ACC: Use.MatrixAccumulator}

_BFLOAT16 = 0
"""The encoding BFloat16KHR of a TypeFloat."""


def matrix_type(code: Code, type_: FragmentType) -> int:
    """The type of a fragment, which is one matrix of the device."""
    code.capabilities.add(Capability.CooperativeMatrixKHR)
    code.extensions.add("SPV_KHR_cooperative_matrix")
    numbers = Scope.Subgroup, type_.rows, type_.cols, _USES[type_.role]
    words = [code.const(each, u32) for each in numbers]
    return code.type(Opcode.TypeCooperativeMatrixKHR, component_type(code, type_.element), *words)


def component_type(code: Code, element: DType) -> int:
    """The type of a matrix's elements: bf16 has one of its own there, and is bits elsewhere."""
    if element is not bf16:
        return code.scalar(element)
    code.capabilities |= {Capability.BFloat16TypeKHR, Capability.BFloat16CooperativeMatrixKHR}
    code.extensions.add("SPV_KHR_bfloat16")
    return code.type(Opcode.TypeFloat, 16, _BFLOAT16)


def matrix_zero(code: Code, type_: FragmentType) -> int:
    """A matrix of zeros."""
    zero = code.constant(component_type(code, type_.element), 0)
    return code.shared(Opcode.ConstantComposite, (matrix_type(code, type_),), (zero,))
