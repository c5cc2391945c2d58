"""Fragments, as cooperative matrices: ``passes/legalise/subgroup_fragments.py`` leaves those that
devices multiply. All lanes of a subgroup run these ops together."""

from __future__ import annotations

from gridlane.codegen.spirv.bit_access import access, place_pointer, quad_type
from gridlane.codegen.spirv.code import Code
from gridlane.codegen.spirv.emission import Emission, emits
from gridlane.codegen.spirv.matrix_types import component_type
from gridlane.codegen.spirv.memory import spot_of
from gridlane.codegen.spirv.opcodes import Access, Decoration, Lines, Opcode, Storage
from gridlane.core.dtypes import DType, bf16, i64, u32
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, matrix
from gridlane.ir.types import FragmentType
from gridlane.ir.values import Value

_LINE = matrix.LINE_ALIGN


def _matrix(value: Value) -> FragmentType:
    assert isinstance(value.type, FragmentType)
    return value.type


def _lines(
    state: Emission, op: matrix.FragmentLoad | matrix.FragmentStore, element: DType
) -> tuple[tuple[int, int, int], tuple[int, ...]]:
    """(pointer, layout, stride) and the memory operands. A line starts at a multiple of 16 bytes,
    so the stride is one in the units of every array."""
    state.require("matrix_halves", op, op.name)
    code, spot = state.code, spot_of(state, op.pointer)
    if spot.place is None:
        pointer, unit, operands = _global_pointer(code, spot.at), _LINE, access(_LINE, False)
    else:
        pointer, unit = place_pointer(state, spot)
        operands = (int(Access.NonPrivatePointer),)
    layout = code.const(Lines.ColumnMajor if op.by_columns else Lines.RowMajor, u32)
    return (pointer, layout, _stride(state, op.stride, element.size, unit)), operands


def _stride(state: Emission, stride: Value, size: int, unit: int) -> int:
    """A stride in units of some bytes."""
    code = state.code
    if isinstance(stride.op, arith.Const):
        return code.const(stride.op.value * size // unit, u32)
    number = code.resized(state.name(stride), i64, u32)
    bits = (unit // size).bit_length() - 1
    if unit < size:
        return code.times(u32, number, size // unit)
    return code.op(Opcode.ShiftRightArithmetic, u32, number, code.const(bits, u32))


def _global_pointer(code: Code, address: int) -> int:
    """A pointer to the first of 16 bytes each: one into an array, as matrices need."""
    quad = quad_type(code)
    array = code.type(Opcode.TypeRuntimeArray, quad)
    known = code.bound
    block = code.type(Opcode.TypeStruct, array)
    if block >= known:
        code.decorate(array, Decoration.ArrayStride, _LINE)
        code.decorate(block, Decoration.Block)
        code.decorations.append((Opcode.MemberDecorate, block, 0, Decoration.Offset, 0))
    kind = code.pointer_type(Storage.PhysicalStorageBuffer, block)
    whole = code.result(Opcode.ConvertUToPtr, kind, address)
    zero = code.const(0, u32)
    inner = code.pointer_type(Storage.PhysicalStorageBuffer, quad)
    return code.result(Opcode.AccessChain, inner, whole, zero, zero)


@emits(matrix.FragmentLoad)
def load(state: Emission, op: matrix.FragmentLoad) -> None:
    """Emit a load of a matrix."""
    where, operands = _lines(state, op, op.type.element)
    type_ = state.register_type(op.type)
    name = state.code.result(Opcode.CooperativeMatrixLoadKHR, type_, *where, *operands)
    state.set(op.results[0], name)


@emits(matrix.FragmentStore)
def store(state: Emission, op: matrix.FragmentStore) -> None:
    """Emit a store of a matrix."""
    (pointer, *rest), operands = _lines(state, op, _matrix(op.fragment).element)
    value = state.name(op.fragment)
    state.code.do(Opcode.CooperativeMatrixStoreKHR, pointer, value, *rest, *operands)


@emits(matrix.FragmentMma)
def multiply(state: Emission, op: matrix.FragmentMma) -> None:
    """Emit a product."""
    names = [state.name(value) for value in (op.a, op.b, op.c)]
    _set(state, op, Opcode.CooperativeMatrixMulAddKHR, *names)


@emits(matrix.FragmentFill)
def fill(state: Emission, op: matrix.FragmentFill) -> None:
    """Emit a matrix of one number."""
    value = state.name(op.value)
    if op.type.element is bf16:
        value = state.code.result(Opcode.Bitcast, component_type(state.code, bf16), value)
    _set(state, op, Opcode.CompositeConstruct, value)


@emits(matrix.FragmentScale)
def scale(state: Emission, op: matrix.FragmentScale) -> None:
    """Emit a matrix times a number."""
    _set(state, op, Opcode.MatrixTimesScalar, state.name(op.fragment), state.name(op.factor))


@emits(matrix.FragmentConvert)
def convert(state: Emission, op: matrix.FragmentConvert) -> None:
    """Emit a conversion of floats."""
    _set(state, op, Opcode.FConvert, state.name(op.fragment))


def _set(state: Emission, op: Op, opcode: Opcode, *names: int) -> None:
    type_ = state.register_type(op.results[0].type)
    state.set(op.results[0], state.code.result(opcode, type_, *names))
