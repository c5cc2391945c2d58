"""Pointers, loads and stores, variables, and the parts of structs and vectors."""

from __future__ import annotations

from dataclasses import dataclass

from gridlane.codegen.clike.emission import Emission, emits
from gridlane.codegen.clike.floats import bits_of, from_bits
from gridlane.core.dtypes import DType, i32, u32
from gridlane.ir.ops import memory
from gridlane.ir.types import PointerType, Space, StructType, Type, VectorType
from gridlane.ir.values import Value, Var


@dataclass(frozen=True, slots=True)
class Place:
    """Where a scalar is: an address in a space."""

    space: Space
    pointer: str
    volatile: bool = False


def place_of(state: Emission, pointer: Value, volatile: bool = False) -> Place:
    """Where a pointer points to."""
    return Place(state.spaces.of(pointer), state.name(pointer), volatile)


def alignment(pointer: Value) -> int:
    """What an address is a multiple of: its element's alignment, or less for a field of a record
    that is packed."""
    assert isinstance(pointer.type, PointerType)
    own, op = pointer.type.element.align, pointer.op
    if isinstance(op, memory.FieldPointer):
        whole = _element(op.pointer)
        if isinstance(whole, StructType):
            return min(own, _shared_factor(alignment(op.pointer), whole.offsets[op.index]))
        return min(own, alignment(op.pointer))
    if isinstance(op, memory.Offset):
        return min(own, _shared_factor(alignment(op.pointer), pointer.type.element.size))
    return own


def _element(pointer: Value) -> Type:
    assert isinstance(pointer.type, PointerType)
    return pointer.type.element


def _shared_factor(align: int, distance: int) -> int:
    """The power of two that divides both an alignment and a distance from there."""
    return min(align, distance & -distance) if distance else align


def _moved(state: Emission, place: Place, bytes_: int) -> Place:
    if not bytes_:
        return place
    distance = state.literal(bytes_, i32)
    moved = state.dialect.moved(place.pointer, distance, i32, 1)
    return Place(place.space, moved, place.volatile)


def fields_of(type_: Type) -> list[tuple[int, Type]]:
    """(byte offset, type) of the parts of a struct or vector; none of anything else."""
    if isinstance(type_, StructType):
        return list(zip(type_.offsets, type_.types, strict=True))
    if isinstance(type_, VectorType):
        return [(n * type_.element.size, type_.element) for n in range(type_.count)]
    return []


@emits(memory.Load)
def load(state: Emission, op: memory.Load) -> None:
    """A scalar; of a struct, each of its parts."""
    place = place_of(state, op.pointer, op.volatile)
    type_ = op.results[0].type
    state.give(op.results[0], loaded(state, place, type_, alignment(op.pointer)))


def loaded(state: Emission, place: Place, type_: Type, align: int) -> str:
    """The value at a place whose address is a multiple of ``align``."""
    if isinstance(type_, PointerType):
        return state.dialect.load_pointer(state, place, type_.space or Space.GLOBAL)
    if isinstance(type_, DType):
        if align < type_.size:
            return _loaded_by_bytes(state, place, type_)
        return state.dialect.load(state, place, type_)
    parts: list[str] = []
    for at, part in fields_of(type_):
        inner = min(part.align, _shared_factor(align, at))
        text = loaded(state, _moved(state, place, at), part, inner)
        parts.append(state.named(state.type_name(part), text))
    return state.dialect.construct(state.type_name(type_), parts)


def _loaded_by_bytes(state: Emission, place: Place, dtype: DType) -> str:
    whole = dtype.unsigned
    wide = whole if whole.bits >= 32 else u32
    terms: list[str] = []
    for at in range(dtype.size):
        octet = state.let(u32, state.dialect.load_byte(state, _moved(state, place, at)))
        terms.append(f"({state.dialect.convert(wide, octet)} << {8 * at}u)")
    raw = state.let(whole, state.dialect.convert(whole, " | ".join(terms)))
    return from_bits(state, dtype, raw)


@emits(memory.Store)
def store(state: Emission, op: memory.Store) -> None:
    """A scalar; of a struct, each of its parts."""
    place = place_of(state, op.pointer, op.volatile)
    stored(state, place, op.value.type, state.name(op.value), alignment(op.pointer))


def stored(state: Emission, place: Place, type_: Type, value: str, align: int) -> None:
    """Write a value to a place whose address is a multiple of ``align``."""
    if isinstance(type_, PointerType):
        state.dialect.store_pointer(state, place, type_.space or Space.GLOBAL, value)
    elif isinstance(type_, DType) and align >= type_.size:
        state.dialect.store(state, place, type_, value)
    elif isinstance(type_, DType):
        raw = state.let(type_.unsigned, bits_of(state, type_, value))
        for at in range(type_.size):
            octet = state.dialect.convert(u32, f"({raw} >> {8 * at}u)")
            state.dialect.store_byte(state, _moved(state, place, at), octet)
    for number, (at, part) in enumerate(fields_of(type_)):
        inner = min(part.align, _shared_factor(align, at))
        stored(state, _moved(state, place, at), part, f"{value}.p{number}", inner)


# ---- addresses


@emits(memory.Offset)
def offset(state: Emission, op: memory.Offset) -> None:
    """The address some elements further."""
    index = op.index.type
    assert isinstance(index, DType)
    size = _element(op.pointer).size
    moved = state.dialect.moved(state.name(op.pointer), state.name(op.index), index, size)
    state.give(op.results[0], moved)


@emits(memory.FieldPointer)
def field_pointer(state: Emission, op: memory.FieldPointer) -> None:
    """The address of a field."""
    whole = _element(op.pointer)
    at = whole.offsets[op.index] if isinstance(whole, StructType) else 0
    state.set(op.results[0], state.name(op.pointer))
    if at:
        moved = _moved(state, place_of(state, op.pointer), at)
        state.give(op.results[0], moved.pointer)


@emits(memory.Recast)
def recast(state: Emission, op: memory.Recast) -> None:
    """The same address: pointers have no element types."""
    state.set(op.results[0], state.name(op.pointer))


@emits(memory.Address)
def address(state: Emission, op: memory.Address) -> None:
    """The address as an integer, which is one of global memory's."""
    space = state.spaces.of(op.pointer)
    if space is not Space.GLOBAL:
        raise state.refuse(
            op,
            f"{space.name.lower()} memory has no addresses that are numbers, as global memory has",
        )
    state.give(op.results[0], state.dialect.number(state.name(op.pointer)))


@emits(memory.FromAddress)
def from_address(state: Emission, op: memory.FromAddress) -> None:
    """An integer as a pointer to global memory."""
    space = state.spaces.of(op.results[0])
    if space is not Space.GLOBAL:
        raise state.refuse(op, f"no number is an address of {space.name.lower()} memory")
    state.give(op.results[0], state.dialect.from_address(space, state.name(op.value)))


@emits(memory.GlobalAddress)
def global_address(state: Emission, op: memory.GlobalAddress) -> None:
    """A shared array, or constant data."""
    state.give(op.results[0], state.dialect.global_address(state, op.symbol))


@emits(memory.DynamicShared)
def dynamic_shared(state: Emission, op: memory.DynamicShared) -> None:
    """The array whose size is given at launch."""
    state.uses.add("dynamic")
    state.give(op.results[0], state.dialect.dynamic_shared(state))


@emits(memory.LocalArray)
def local_array(state: Emission, op: memory.LocalArray) -> None:
    """Memory of the thread."""
    text = state.dialect.local_array(state, op.element.size * op.count)
    state.give(op.results[0], text)


# ---- variables and parts


@emits(memory.ReadVar)
def read(state: Emission, op: memory.ReadVar) -> None:
    """A copy of what the variable is now."""
    state.give(op.results[0], state.variables[op.var])


@emits(memory.WriteVar)
def write(state: Emission, op: memory.WriteVar) -> None:
    """Set a variable."""
    state.line(f"{state.variables[op.var]} = {state.name(op.value)};")


@emits(memory.Pack)
def pack(state: Emission, op: memory.Pack) -> None:
    """A struct from its parts."""
    parts = [state.name(part) for part in op.parts]
    state.give(op.results[0], state.dialect.construct(state.type_name(op.type), parts))


@emits(memory.Part)
def part(state: Emission, op: memory.Part) -> None:
    """One of the parts."""
    state.give(op.results[0], f"{state.name(op.whole)}.p{op.index}")


def declare_variables(state: Emission, variables: list[Var]) -> None:
    """Each variable of the kernel, zero at first."""
    for var in variables:
        state.variables[var] = state.variable(state.type_of(var), state.zero(var.type))
