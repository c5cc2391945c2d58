"""Loads, stores, addresses, variables, and the parts of structs and vectors."""

from __future__ import annotations

from typing import TypeGuard

from gridlane.analysis.alignment import alignment
from gridlane.codegen.spirv.bit_access import (
    QUAD,
    Spot,
    access,
    dynamic_bytes,
    global_pointer,
    load_bits,
    load_quad,
    narrow_storage,
    store_bits,
    store_quad,
)
from gridlane.codegen.spirv.code import unsigned
from gridlane.codegen.spirv.emission import Emission, address_type, emits
from gridlane.codegen.spirv.gridops import push_constant
from gridlane.codegen.spirv.opcodes import Opcode
from gridlane.codegen.spirv.pointer_provenance import DYNAMIC, Root, is_quad, root_of
from gridlane.core.dtypes import DType, u32, u64
from gridlane.ir.ops import arith, grid, memory
from gridlane.ir.types import PointerType, Space, StructType, Type, VectorType
from gridlane.ir.values import Value

# ---- loads and stores


def spot_of(state: Emission, pointer: Value, volatile: bool = False) -> Spot:
    """The spot that a pointer points to."""
    place = state.places.of(pointer)
    word, quad = state.distances.get(pointer, 0), state.quads.get(pointer, 0)
    return Spot(place, state.name(pointer), alignment(pointer), volatile, word, quad)


@emits(memory.Load)
def load(state: Emission, op: memory.Load) -> None:
    """Emit a load; for a struct or vector, a load of each part."""
    spot = spot_of(state, op.pointer, op.volatile)
    state.set(op.results[0], _load(state, spot, op.results[0].type))


def _load(state: Emission, spot: Spot, type_: Type) -> int:
    code = state.code
    if isinstance(type_, DType):
        if _moves_whole(spot, type_):
            narrow_storage(state, type_.bits)
            pointer = global_pointer(state, spot.at, code.scalar(type_))
            return code.op(Opcode.Load, type_, pointer, *access(type_.size, spot.volatile))
        return code.from_bits(load_bits(state, spot, 8 * type_.size), type_)
    if isinstance(type_, PointerType):
        return code.resized(load_bits(state, spot, 64), u64, address_type(type_))
    if spot.place is not None and spot.place.quads and is_quad(type_):
        assert isinstance(type_, VectorType)
        elements = [code.from_bits(word, type_.element) for word in load_quad(state, spot)]
        return code.result(Opcode.CompositeConstruct, state.register_type(type_), *elements)
    if _is_vector(type_, spot):
        return _load_vector(state, spot, type_)
    parts = [_load(state, spot.further(state.code, at), part) for at, part in fields(type_)]
    return code.result(Opcode.CompositeConstruct, state.register_type(type_), *parts)


def _moves_whole(spot: Spot, type_: DType) -> bool:
    """Whether a scalar of global memory has a load of its own type."""
    return spot.place is None and not type_.is_bool and spot.align >= type_.size


@emits(memory.Store)
def store(state: Emission, op: memory.Store) -> None:
    """Emit a store; for a struct or vector, a store of each part."""
    spot = spot_of(state, op.pointer, op.volatile)
    _store(state, spot, state.name(op.value), op.value.type)


def _store(state: Emission, spot: Spot, value: int, type_: Type) -> None:
    code = state.code
    if isinstance(type_, DType):
        if not _moves_whole(spot, type_):
            store_bits(state, spot, code.bits(value, type_), 8 * type_.size)
            return
        narrow_storage(state, type_.bits)
        pointer = global_pointer(state, spot.at, code.scalar(type_))
        code.do(Opcode.Store, pointer, value, *access(type_.size, spot.volatile))
        return
    if isinstance(type_, PointerType):
        store_bits(state, spot, code.resized(value, address_type(type_), u64), 64)
        return
    items = [
        code.result(Opcode.CompositeExtract, state.register_type(part_type), value, index)
        for index, (_, part_type) in enumerate(fields(type_))
    ]
    if spot.place is not None and spot.place.quads and is_quad(type_):
        assert isinstance(type_, VectorType)
        store_quad(state, spot, [code.bits(item, type_.element) for item in items])
        return
    if _is_vector(type_, spot):
        _store_vector(state, spot, type_, items)
        return
    for item, (offset, part_type) in zip(items, fields(type_), strict=True):
        _store(state, spot.further(state.code, offset), item, part_type)


def _is_vector(type_: Type, spot: Spot) -> TypeGuard[VectorType]:
    """Whether a vector of global memory has a load and a store of its own."""
    if spot.place is not None or not isinstance(type_, VectorType) or type_.count not in (2, 4):
        return False
    return type_.element.bits == 32 and spot.align >= type_.size


def _load_vector(state: Emission, spot: Spot, type_: VectorType) -> int:
    code, element = state.code, state.code.scalar(type_.element)
    vector = code.type(Opcode.TypeVector, element, type_.count)
    pointer = global_pointer(state, spot.at, vector)
    whole = code.result(Opcode.Load, vector, pointer, *access(type_.size, spot.volatile))
    parts = [code.result(Opcode.CompositeExtract, element, whole, n) for n in range(type_.count)]
    return code.result(Opcode.CompositeConstruct, state.register_type(type_), *parts)


def _store_vector(state: Emission, spot: Spot, type_: VectorType, items: list[int]) -> None:
    code = state.code
    vector = code.type(Opcode.TypeVector, code.scalar(type_.element), type_.count)
    pointer = global_pointer(state, spot.at, vector)
    whole = code.result(Opcode.CompositeConstruct, vector, *items)
    code.do(Opcode.Store, pointer, whole, *access(type_.size, spot.volatile))


def fields(type_: Type) -> list[tuple[int, Type]]:
    """(byte offset, type) of the parts."""
    if isinstance(type_, StructType):
        return list(zip(type_.offsets, type_.types, strict=True))
    assert isinstance(type_, VectorType)
    return [(n * type_.element.size, type_.element) for n in range(type_.count)]


# ---- addresses


def _address_type(state: Emission, pointer: Value) -> DType:
    """The type of a pointer; a generic one may be known to point into a place."""
    return u64 if state.places.of(pointer) is None else u32


@emits(memory.Offset)
def offset(state: Emission, op: memory.Offset) -> None:
    """Emit the address of an element at an index; it wraps."""
    code, index = state.code, op.index.type
    assert isinstance(index, DType) and isinstance(op.pointer.type, PointerType)
    dtype, size = _address_type(state, op.pointer), op.pointer.type.element.size
    wide = code.resized(state.name(op.index), index, dtype)
    step = code.times(dtype, wide, size)
    state.set(op.results[0], code.add(dtype, state.name(op.pointer), step))
    place, before = state.places.of(op.pointer), state.distances.get(op.pointer)
    if place is not None and before is not None and size == place.bits // 8:
        state.distances[op.results[0]] = code.add(u32, before, wide)
    if op.pointer in state.quads and size == QUAD:
        state.quads[op.results[0]] = code.add(u32, state.quads[op.pointer], wide)


@emits(memory.FieldPointer)
def field_pointer(state: Emission, op: memory.FieldPointer) -> None:
    """Emit the address of a field."""
    assert isinstance(op.pointer.type, PointerType)
    whole = op.pointer.type.element
    offset = whole.offsets[op.index] if isinstance(whole, StructType) else 0
    dtype = _address_type(state, op.pointer)
    state.set(op.results[0], state.code.plus(dtype, state.name(op.pointer), offset))


@emits(memory.Recast)
def recast(state: Emission, op: memory.Recast) -> None:
    """Reuse the address. A generic pointer without a known place points to global memory.

    Raises:
        TargetError: the pointer may point elsewhere.
    """
    source = op.pointer.type
    assert isinstance(source, PointerType)
    sure = root_of(op.pointer) is not None or source.space in (Space.GLOBAL, Space.GENERIC)
    if op.type.space is Space.GENERIC and not sure:
        raise state.refuse(
            op, "of such a pointer: which array it points into is known at run time only"
        )
    state.set(op.results[0], state.name(op.pointer))
    if op.pointer in state.distances:
        state.distances[op.results[0]] = state.distances[op.pointer]
    if op.pointer in state.quads:
        state.quads[op.results[0]] = state.quads[op.pointer]


@emits(memory.Address)
def address(state: Emission, op: memory.Address) -> None:
    """Emit the address as an integer; outside global memory, the offset in the space."""
    value = state.code.resized(state.name(op.pointer), _address_type(state, op.pointer), u64)
    state.set(op.results[0], value)


@emits(memory.FromAddress)
def from_address(state: Emission, op: memory.FromAddress) -> None:
    """Emit an integer as a pointer.

    Raises:
        TargetError: the integer may be an address outside global memory.
    """
    if op.type.space is Space.GENERIC and _takes_other_addresses(state):
        raise state.refuse(op, "of a generic pointer in a kernel that takes the address of shared "
                           "or local memory")  # fmt: skip
    state.set(op.results[0], state.code.resized(state.name(op.value), u64, address_type(op.type)))


def _takes_other_addresses(state: Emission) -> bool:
    return any(
        isinstance(op, memory.Address) and state.places.of(op.pointer) is not None
        for op in state.module.kernel.body.walk()
    )


def _start(state: Emission, value: Value, root: Root) -> None:
    start = state.places.start(root)
    state.set(value, state.code.const(start, u32))
    place = state.places.of(value)
    if place is not None and start % (place.bits // 8) == 0:
        state.distances[value] = state.code.const(start // (place.bits // 8), u32)
    if place is not None and place.quads and start % QUAD == 0:
        state.quads[value] = state.code.const(start // QUAD, u32)


@emits(memory.GlobalAddress)
def global_address(state: Emission, op: memory.GlobalAddress) -> None:
    """Emit the address of a shared array, or of constant data, which long tables have in memory."""
    if op.type.space is Space.GLOBAL:
        address = state.module.constants_at + state.module.offset_of(op.symbol)
        block = push_constant(state, "params")
        state.set(op.results[0], state.code.plus(u64, block, address))
        return
    _start(state, op.results[0], op.symbol)


@emits(memory.DynamicShared)
def dynamic_shared(state: Emission, op: memory.DynamicShared) -> None:
    """Emit the address after the static arrays of the place."""
    _start(state, op.results[0], DYNAMIC)


@emits(grid.DynamicSharedSize)
def dynamic_shared_size(state: Emission, op: grid.DynamicSharedSize) -> None:
    """Emit a constant of the pipeline."""
    state.asks_shared = True
    state.set(op.results[0], dynamic_bytes(state))


@emits(memory.LocalArray)
def local_array(state: Emission, op: memory.LocalArray) -> None:
    """Emit the address of memory of the thread."""
    _start(state, op.results[0], op)


# ---- variables


@emits(memory.ReadVar)
def read(state: Emission, op: memory.ReadVar) -> None:
    """Read a variable of the function, which drivers promote to registers."""
    type_ = state.register_type(op.var.type)
    state.set(op.results[0], state.code.result(Opcode.Load, type_, state.slots[op.var]))


@emits(memory.WriteVar)
def write(state: Emission, op: memory.WriteVar) -> None:
    """Write a variable."""
    state.code.set(state.slots[op.var], state.name(op.value))


# ---- parts


@emits(memory.Pack)
def pack(state: Emission, op: memory.Pack) -> None:
    """Emit a struct or vector from its parts."""
    parts = [state.name(part) for part in op.parts]
    type_ = state.register_type(op.type)
    state.set(op.results[0], state.code.result(Opcode.CompositeConstruct, type_, *parts))


@emits(memory.Part)
def part(state: Emission, op: memory.Part) -> None:
    """Extract one part."""
    type_ = state.register_type(op.results[0].type)
    name = state.code.result(Opcode.CompositeExtract, type_, state.name(op.whole), op.index)
    state.set(op.results[0], name)


# ---- arith's ops on more than scalars


@emits(arith.Select)
def select(state: Emission, op: arith.Select) -> None:
    """Emit a select between values of any type, part by part."""
    sides = state.name(op.on_true), state.name(op.on_false)
    chosen = _chosen(state, state.name(op.condition), *sides, op.on_true.type)
    state.set(op.results[0], chosen)


def _chosen(state: Emission, condition: int, a: int, b: int, type_: Type) -> int:
    code, register = state.code, state.register_type(type_)
    types = memory.part_types(type_)
    if not types:
        return code.result(Opcode.Select, register, condition, a, b)
    parts: list[int] = []
    for index, part_type in enumerate(types):
        inner = state.register_type(part_type)
        x, y = (code.result(Opcode.CompositeExtract, inner, side, index) for side in (a, b))
        parts.append(_chosen(state, condition, x, y, part_type))
    return code.result(Opcode.CompositeConstruct, register, *parts)


@emits(arith.Bitcast)
def bitcast(state: Emission, op: arith.Bitcast) -> None:
    """Emit a bitcast of scalars and vectors."""
    code = state.code
    source, target = op.value.type, op.type
    assert not isinstance(source, PointerType) and not isinstance(target, PointerType)
    unit = min(_element(source).bits, _element(target).bits)
    pieces = _pieces(state, state.name(op.value), source, unit)
    step = _element(target).bits // unit
    joined = [
        _joined(state, pieces[at : at + step], _element(target))
        for at in range(0, len(pieces), step)
    ]
    if isinstance(target, DType):
        state.set(op.results[0], joined[0])
        return
    type_ = state.register_type(target)
    state.set(op.results[0], code.result(Opcode.CompositeConstruct, type_, *joined))


def _element(type_: Type) -> DType:
    """A scalar type, or that of a vector's elements."""
    element = type_.element if isinstance(type_, VectorType) else type_
    assert isinstance(element, DType)
    return element


def _pieces(state: Emission, value: int, type_: Type, unit: int) -> list[int]:
    """The bits of a scalar or vector as integers of ``unit`` bits, the lowest first."""
    code, element = state.code, _element(type_)
    items = [value]
    if isinstance(type_, VectorType):
        items = [
            code.result(Opcode.CompositeExtract, code.scalar(element), value, index)
            for index in range(type_.count)
        ]
    pieces: list[int] = []
    for item in items:
        raw = code.bits(item, element)
        for shift in range(0, element.bits, unit):
            down = code.shifted_down(unsigned(element.bits), raw, shift)
            pieces.append(code.unsigned_resized(down, element.bits, unit))
    return pieces


def _joined(state: Emission, pieces: list[int], dtype: DType) -> int:
    """The scalar with the bits of some integers, the lowest first."""
    code, raw = state.code, unsigned(dtype.bits)
    bits = dtype.bits // len(pieces)
    whole = code.unsigned_resized(pieces[0], bits, dtype.bits)
    for number, piece in enumerate(pieces[1:], 1):
        wide = code.unsigned_resized(piece, bits, dtype.bits)
        whole = code.op(Opcode.BitwiseOr, raw, whole, code.shifted_up(raw, wide, number * bits))
    return code.from_bits(whole, dtype)
