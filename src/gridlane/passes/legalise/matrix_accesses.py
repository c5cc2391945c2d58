"""Lowers registers of ``mma`` from and to memory to loads and stores of a lane's own elements, for
targets that emit no such access, and where each load and store is checked."""

from __future__ import annotations

from collections.abc import Sequence

from gridlane.core.dtypes import DType, f16, i32, u8, u16, u32
from gridlane.ir.builder import Builder
from gridlane.ir.op import Op
from gridlane.ir.ops import arith
from gridlane.ir.ops.grid import LaneId
from gridlane.ir.ops.memory import space_of
from gridlane.ir.ops.mma_memory import MmaLoad, MmaStore, Place, lines, register_type, steps
from gridlane.ir.rewriting import Rewriter
from gridlane.ir.types import Role, Space
from gridlane.ir.values import Function, Module, Value


def matrices_by_elements(module: Module) -> None:
    """Lower the loads and stores of registers of ``mma`` to those of each element."""
    _lower(module, by_lines=False)


def others_by_elements(module: Module) -> None:
    """Lower loads and stores of registers of ``mma`` but loads of whole lines, which ``ldmatrix``
    does."""
    _lower(module, by_lines=True)


def _lower(module: Module, by_lines: bool) -> None:
    for function in module.functions.values():
        if any(isinstance(op, MmaLoad | MmaStore) for op in function.body.walk()):
            _Lowering(module, function, by_lines).region(function.body)


def is_by_lines(op: MmaLoad) -> bool:
    """Whether a load is of 16 bytes of lines in shared memory, turned where elements have 2."""
    if not op.aligned or space_of(op.pointer) is not Space.SHARED or op.matrix.role is Role.ACC:
        return False
    size = op.matrix.element.size
    return size == 2 or (size < 8 and op.by_columns == (op.matrix.role is Role.B))


class _Lowering(Rewriter):
    def __init__(self, module: Module, function: Function, by_lines: bool) -> None:
        super().__init__(module, function)
        self.by_lines = by_lines

    def replaced(self, op: Op) -> Sequence[Value] | None:
        if isinstance(op, MmaStore):
            _store(self.builder, op)
            return ()
        if not isinstance(op, MmaLoad) or (self.by_lines and is_by_lines(op)):
            return None
        return _loaded(self.builder, op)


def _loaded(b: Builder, op: MmaLoad) -> list[Value]:
    addresses, new_values = _Addresses(b, op), list[Value]()
    for register in lines(op.matrix, op.by_columns):
        elements = [b.load(addresses.of(place)) for place in register]
        new_values.append(_packed(b, elements, register_type(op.matrix)))
    return new_values


def _store(b: Builder, op: MmaStore) -> None:
    addresses = _Addresses(b, op)
    for register, value in zip(lines(op.matrix, op.by_columns), op.values, strict=True):
        elements = [value] if len(register) == 1 else _halves(b, value)
        for place, element in zip(register, elements, strict=True):
            b.store(addresses.of(place), element)


class _Addresses:
    """The addresses of the own lane's elements."""

    def __init__(self, b: Builder, op: MmaLoad | MmaStore) -> None:
        self.b, self.op = b, op
        lane = b.cast(b.value(LaneId()), u32)
        parts = b.binary(arith.Shr, lane, b.const(2, u32)), b.and_(lane, b.const(3, u32))
        group, thread = steps(op.matrix)
        if op.by_columns:
            group, thread = group[::-1], thread[::-1]
        # One of the two steps goes from line to line, the other one along a line.
        (line, item), (down, across) = (
            (parts, (group[0], thread[1])) if group[0] else (parts[::-1], (thread[0], group[1]))
        )
        self.line = b.mul(line, b.const(down, u32))
        self.item = b.mul(item, b.const(across, u32))

    def of(self, place: Place) -> Value:
        """The address of an element, by that of lane 0 as a line and a distance in it."""
        b = self.b
        line = b.add(self.line, b.const(place[0], u32))
        item = b.add(self.item, b.const(place[1], u32))
        index = b.add(b.mul(line, self.op.stride), item)
        return b.offset(self.op.pointer, b.cast(index, i32))


def _packed(b: Builder, elements: Sequence[Value], type_: DType) -> Value:
    """Elements in a register, the first one lowest."""
    if len(elements) == 1:
        return b.bitcast(elements[0], type_)
    width, total = 32 // len(elements), b.const(0, u32)
    for place, element in enumerate(elements):
        bits = element if element.type is u8 else b.bitcast(element, u16)
        shifted = b.binary(arith.Shl, b.cast(bits, u32), b.const(place * width, u32))
        total = b.or_(total, shifted)
    return total


def _halves(b: Builder, word: Value) -> list[Value]:
    """The two f16 of a register."""
    upper = b.binary(arith.Shr, word, b.const(16, u32))
    return [b.bitcast(b.cast(each, u16), f16) for each in (word, upper)]
