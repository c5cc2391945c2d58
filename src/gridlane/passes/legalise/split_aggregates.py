"""Splits structs and vectors, so that every value is a scalar, a pointer or a fragment.

Memory keeps its layout: a load of a struct becomes loads of its fields. A field with less than its
type's alignment, as in a packed struct, is read in aligned pieces.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from gridlane.core.dtypes import DType, i32, u64
from gridlane.core.dtypes import by_name as dtype_named
from gridlane.ir.builder import Builder
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, memory
from gridlane.ir.types import PointerType, StructType, Type, VectorType
from gridlane.ir.values import Module, Value
from gridlane.passes.legalise.representation import Parts, Representation, Rule, scalar


def split_aggregates(module: Module) -> None:
    """Replace values of struct and vector types by their scalars, in every function."""
    _Split(module).run()


def scalars_of(type_: Type) -> tuple[Type, ...]:
    """The scalars and pointers in a type, in order; the type itself when it is one.

    >>> from gridlane.core.dtypes import f32
    >>> from gridlane.ir.types import struct, vector
    >>> scalars_of(struct("s", {"a": f32, "b": vector(f32, 2)}))
    (f32, f32, f32)
    """
    if isinstance(type_, StructType | VectorType):
        return tuple([s for part in memory.part_types(type_) for s in scalars_of(part)])
    return (type_,)


class _Split(Representation):
    def forms(self, type_: Type) -> tuple[Type, ...] | None:
        return scalars_of(type_) if isinstance(type_, StructType | VectorType) else None

    def pack(self, op: memory.Pack) -> Sequence[Parts]:
        return [tuple([scalar for part in op.parts for scalar in self.of(part)])]

    def part(self, op: memory.Part) -> Sequence[Parts]:
        sizes = [len(scalars_of(part)) for part in memory.part_types(op.whole.type)]
        start = sum(sizes[: op.index])
        return [self.of(op.whole)[start : start + sizes[op.index]]]

    def load(self, op: memory.Load) -> Sequence[Parts]:
        type_ = op.result.type
        places = _places(self.builder, self.one(op.pointer), type_, type_.align)
        return [tuple([_load(self.builder, at, align, op.volatile) for at, align in places])]

    def store(self, op: memory.Store) -> Sequence[Parts]:
        type_ = op.value.type
        places = list(_places(self.builder, self.one(op.pointer), type_, type_.align))
        for (address, align), value in zip(places, self.of(op.value), strict=True):
            _store(self.builder, address, align, value, op.volatile)
        return []

    def bitcast(self, op: arith.Bitcast) -> Sequence[Parts]:
        b = self.builder
        pieces = [b.bitcast(part, scalar(part).unsigned) for part in self.of(op.value)]
        types = [dtype for dtype in scalars_of(op.type) if isinstance(dtype, DType)]
        regrouped = _regrouped(b, pieces, types[0].unsigned)
        return [
            tuple([b.bitcast(item, type_) for item, type_ in zip(regrouped, types, strict=True)])
        ]

    RULES: ClassVar[dict[type[Op], Rule]] = {
        memory.Pack: pack,
        memory.Part: part,
        memory.Load: load,
        memory.Store: store,
        arith.Bitcast: bitcast,
    }


def _regrouped(b: Builder, pieces: list[Value], to: DType) -> list[Value]:
    """Regroup bits, lowest first, into unsigned integers of another width."""
    width = scalar(pieces[0]).bits
    new_values: list[Value] = []
    if width > to.bits:
        for piece in pieces:
            for shift in range(0, width, to.bits):
                by = b.const(shift, scalar(piece))
                new_values.append(b.cast(b.value(arith.Shr(piece, by)), to))
        return new_values
    count = to.bits // width
    return [joined(b, pieces[n : n + count], to) for n in range(0, len(pieces), count)]


def joined(b: Builder, pieces: Sequence[Value], to: DType) -> Value:
    """Join unsigned integers, lowest first, into one wider integer."""
    total = b.cast(pieces[0], to)
    for number, piece in enumerate(pieces[1:], 1):
        by = b.const(number * scalar(piece).bits, to)
        total = b.or_(total, b.value(arith.Shl(b.cast(piece, to), by)))
    return total


def _places(b: Builder, pointer: Value, type_: Type, align: int) -> Iterator[tuple[Value, int]]:
    """The address and the known alignment of each scalar of a type."""
    if isinstance(type_, StructType):
        for number, (field, offset) in enumerate(zip(type_.types, type_.offsets, strict=True)):
            known = min(align, offset & -offset) if offset else align
            yield from _places(b, b.field_pointer(pointer, number), field, known)
    elif isinstance(type_, VectorType):
        first = b.recast(pointer, memory.pointer_beside(pointer, type_.element))
        for number in range(type_.count):
            yield b.offset(first, b.const(number, i32)), min(align, type_.element.align)
    else:
        yield pointer, align


def _pieces(b: Builder, pointer: Value, size: int, align: int) -> Iterator[Value]:
    """The addresses of the aligned unsigned integers that cover so many bytes."""
    piece = dtype_named(f"u{8 * align}")
    first = b.recast(pointer, memory.pointer_beside(pointer, piece))
    for number in range(size // align):
        yield b.offset(first, b.const(number, i32))


def _load(b: Builder, pointer: Value, align: int, volatile: bool) -> Value:
    """Load a scalar or pointer."""
    assert isinstance(pointer.type, PointerType)
    type_ = pointer.type.element
    if align >= type_.align:
        return b.load(pointer, volatile)
    pieces = [b.load(piece, volatile) for piece in _pieces(b, pointer, type_.size, align)]
    if isinstance(type_, PointerType):
        return b.value(memory.FromAddress(joined(b, pieces, u64), type_))
    assert isinstance(type_, DType)
    return b.bitcast(joined(b, pieces, type_.unsigned), type_)


def _store(b: Builder, pointer: Value, align: int, value: Value, volatile: bool) -> None:
    """Store a scalar or pointer."""
    type_ = value.type
    if align >= type_.align:
        b.store(pointer, value, volatile)
        return
    if isinstance(type_, PointerType):
        value = b.value(memory.Address(value))
    value = b.bitcast(value, scalar(value).unsigned)
    pieces = _regrouped(b, [value], dtype_named(f"u{8 * align}"))
    for place, piece in zip(_pieces(b, pointer, type_.size, align), pieces, strict=True):
        b.store(place, piece, volatile)
