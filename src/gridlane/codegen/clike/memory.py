"""Pointers, loads and stores, variables, and the pairs of words that passes leave at edges.

Passes have split structs and vectors, packed ones into aligned pieces.
"""

from __future__ import annotations

from dataclasses import replace

from gridlane.codegen.clike.emission import Emission, Place, emits
from gridlane.core.dtypes import DType, i32
from gridlane.ir.ops import memory
from gridlane.ir.types import PointerType, StructType, Type
from gridlane.ir.values import Value, Var


def place_of(state: Emission, pointer: Value, volatile: bool = False) -> Place:
    """The place that a pointer points to."""
    assert isinstance(pointer.type, PointerType)
    return Place(pointer.type.space, state.name(pointer), volatile, pointer.type.buffer)


def alignment(pointer: Value) -> int:
    """The known alignment of an address: that of its element, or less for a field of a packed
    record."""
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
    """The largest power of two that divides both an alignment and an offset from there."""
    return min(align, distance & -distance) if distance else align


def _moved(state: Emission, place: Place, bytes_: int) -> Place:
    if not bytes_:
        return place
    distance = state.literal(bytes_, i32)
    return replace(place, pointer=state.dialect.moved(place.pointer, distance, i32, 1))


@emits(memory.Load)
def load(state: Emission, op: memory.Load) -> None:
    """Load a scalar or a pointer."""
    place, result = place_of(state, op.pointer, op.volatile), op.results[0]
    if isinstance(result.type, PointerType):
        state.give(result, state.dialect.load_pointer(state, place, result.type.space))
        return
    assert isinstance(result.type, DType)
    state.give(result, state.dialect.load(state, place, result.type))


@emits(memory.Store)
def store(state: Emission, op: memory.Store) -> None:
    """Store a scalar or a pointer."""
    place, type_ = place_of(state, op.pointer, op.volatile), op.value.type
    if isinstance(type_, PointerType):
        state.dialect.store_pointer(state, place, type_, state.name(op.value))
        return
    assert isinstance(type_, DType)
    state.dialect.store(state, place, type_, state.name(op.value))


# ---- addresses


@emits(memory.Offset)
def offset(state: Emission, op: memory.Offset) -> None:
    """Emit the address of an element at an index."""
    index = op.index.type
    assert isinstance(index, DType)
    size = _element(op.pointer).size
    moved = state.dialect.moved(state.name(op.pointer), state.name(op.index), index, size)
    state.give(op.results[0], moved)


@emits(memory.FieldPointer)
def field_pointer(state: Emission, op: memory.FieldPointer) -> None:
    """Emit the address of a field."""
    whole = _element(op.pointer)
    offset = whole.offsets[op.index] if isinstance(whole, StructType) else 0
    state.set(op.results[0], state.name(op.pointer))
    if offset:
        moved = _moved(state, place_of(state, op.pointer), offset)
        state.give(op.results[0], moved.pointer)


@emits(memory.Recast)
def recast(state: Emission, op: memory.Recast) -> None:
    """Reuse the address: pointers have no element types."""
    state.set(op.results[0], state.name(op.pointer))


@emits(memory.Address)
def address(state: Emission, op: memory.Address) -> None:
    """Emit the address as an integer."""
    assert isinstance(op.pointer.type, PointerType)
    number = state.dialect.address(state, op.pointer.type, state.name(op.pointer))
    state.give(op.results[0], number)


@emits(memory.FromAddress)
def from_address(state: Emission, op: memory.FromAddress) -> None:
    """Emit an integer as a pointer."""
    state.give(op.results[0], state.dialect.from_address(op.type.space, state.name(op.value)))


@emits(memory.GlobalAddress)
def global_address(state: Emission, op: memory.GlobalAddress) -> None:
    """Emit the address of a shared array, or of constant data."""
    state.give(op.results[0], state.dialect.global_address(state, op.symbol))


@emits(memory.DynamicShared)
def dynamic_shared(state: Emission, op: memory.DynamicShared) -> None:
    """Emit the address of the array whose size is given at launch."""
    state.uses.add("dynamic")
    state.give(op.results[0], state.dialect.dynamic_shared(state))


@emits(memory.LocalArray)
def local_array(state: Emission, op: memory.LocalArray) -> None:
    """Emit the address of memory of the thread."""
    text = state.dialect.local_array(state, op.element.size * op.count)
    state.give(op.results[0], text)


# ---- variables and parts


@emits(memory.ReadVar)
def read(state: Emission, op: memory.ReadVar) -> None:
    """Copy the current value of a variable."""
    state.give(op.results[0], state.variables[op.var])


@emits(memory.WriteVar)
def write(state: Emission, op: memory.WriteVar) -> None:
    """Write a variable."""
    state.line(f"{state.variables[op.var]} = {state.name(op.value)};")


@emits(memory.Pack)
def pack(state: Emission, op: memory.Pack) -> None:
    """Construct a struct from its parts."""
    parts = [state.name(part) for part in op.parts]
    state.give(op.results[0], state.dialect.construct(state.type_name(op.type), parts))


@emits(memory.Part)
def part(state: Emission, op: memory.Part) -> None:
    """Extract one part, by the name of the whole."""
    state.set(op.results[0], f"{state.name(op.whole)}.p{op.index}")


def declare_variables(state: Emission, variables: list[Var]) -> None:
    """Declare each variable of the kernel, initially zero."""
    for var in variables:
        state.variables[var] = state.variable(state.type_of(var), state.zero(var.type))
