"""Pointers, loads and stores, variables, and the parts of structs and vectors."""

from __future__ import annotations

from gridlane.analysis.alignment import alignment, shared_factor
from gridlane.codegen.llvm.gpu.emission import Emission, emits
from gridlane.codegen.llvm.gpu.trace import traced
from gridlane.codegen.llvm.text import memory_name, scalar_name
from gridlane.core.dtypes import DType
from gridlane.ir.ops import arith, memory
from gridlane.ir.ops.memory import space_of
from gridlane.ir.types import PointerType, Space, StructType, Type, VectorType

DYNAMIC_SHARED = "@gridlane_dynamic_shared"
ALL_SHARED = "@gridlane_static_shared"
"""The array that has all static ones."""


@emits(memory.Load)
def load(state: Emission, op: memory.Load) -> None:
    """Emit a load; for a struct, a load of each part."""
    volatile = "volatile " if op.volatile else ""
    with traced(state, op, op.pointer):
        align = alignment(op.pointer)
        name = _load(state, state.typed(op.pointer), op.results[0].type, align, volatile)
    state.set(op.results[0], name)


def _load(state: Emission, pointer: str, type_: Type, align: int, volatile: str) -> str:
    body = state.body
    if not _in_parts(type_):
        held = _held_name(state, type_)
        name = body.op(f"load {volatile}{held}, {pointer}, align {align}")
        return body.op(f"icmp ne i8 {name}, 0") if state.register_name(type_) == "i1" else name
    whole, aggregate = state.register_name(type_), "poison"
    for index, (offset, part) in enumerate(_fields(type_)):
        inner = min(part.align, shared_factor(align, offset))
        item = _load(state, _displaced(state, pointer, offset), part, inner, volatile)
        aggregate = body.op(
            f"insertvalue {whole} {aggregate}, {state.register_name(part)} {item}, {index}"
        )
    return aggregate


@emits(memory.Store)
def store(state: Emission, op: memory.Store) -> None:
    """Emit a store; for a struct, a store of each part."""
    volatile = "volatile " if op.volatile else ""
    with traced(state, op, op.pointer):
        pointer, value = state.typed(op.pointer), state.name(op.value)
        _store(state, pointer, value, op.value.type, alignment(op.pointer), volatile)


def _store(
    state: Emission, pointer: str, value: str, type_: Type, align: int, volatile: str
) -> None:
    body = state.body
    if not _in_parts(type_):
        if state.register_name(type_) == "i1":
            value = body.op(f"zext i1 {value} to i8")
        body.do(f"store {volatile}{_held_name(state, type_)} {value}, {pointer}, align {align}")
        return
    whole = state.register_name(type_)
    for index, (offset, part) in enumerate(_fields(type_)):
        item = _taken(state, whole, value, type_, index)
        inner = min(part.align, shared_factor(align, offset))
        _store(state, _displaced(state, pointer, offset), item, part, inner, volatile)


def _in_parts(type_: Type) -> bool:
    """Whether a value has no single load: a struct, or a vector of bools, a byte each in memory."""
    if isinstance(type_, VectorType):
        return type_.element.is_bool
    return isinstance(type_, StructType)


def _held_name(state: Emission, type_: Type) -> str:
    """LLVM's name of a type in memory."""
    return memory_name(type_) if isinstance(type_, DType) else state.register_name(type_)


def _fields(type_: Type) -> list[tuple[int, Type]]:
    """(byte offset, type) of the parts."""
    if isinstance(type_, StructType):
        return list(zip(type_.offsets, type_.types, strict=True))
    assert isinstance(type_, VectorType)
    return [(n * type_.element.size, type_.element) for n in range(type_.count)]


def _displaced(state: Emission, pointer: str, offset: int) -> str:
    """A typed pointer plus ``offset`` bytes."""
    if not offset:
        return pointer
    type_ = pointer.rpartition(" ")[0]
    return f"{type_} {state.body.op(f'getelementptr i8, {pointer}, i32 {offset}')}"


# ---- addresses


@emits(memory.Offset)
def offset(state: Emission, op: memory.Offset) -> None:
    """Emit the address of an element at an index."""
    index = op.index.type
    assert isinstance(index, DType) and isinstance(op.pointer.type, PointerType)
    name, type_ = state.name(op.index), scalar_name(index)
    if not index.is_signed and index.bits < 64:  # LLVM sign-extends an index
        name, type_ = state.body.op(f"zext {type_} {name} to i64"), "i64"
    element = op.pointer.type.element
    step = _held_name(state, element) if _is_plain(element) else f"[{element.size} x i8]"
    state.set(
        op.results[0],
        state.body.op(f"getelementptr {step}, {state.typed(op.pointer)}, {type_} {name}"),
    )


def _is_plain(type_: Type) -> bool:
    """Whether the named LLVM type has the IR type's size."""
    return isinstance(type_, DType | PointerType)


@emits(memory.FieldPointer)
def field_pointer(state: Emission, op: memory.FieldPointer) -> None:
    """Emit the address of a field."""
    assert isinstance(op.pointer.type, PointerType)
    whole = op.pointer.type.element
    offset = whole.offsets[op.index] if isinstance(whole, StructType) else 0
    state.set(op.results[0], _displaced(state, state.typed(op.pointer), offset).rpartition(" ")[2])


@emits(memory.Recast)
def recast(state: Emission, op: memory.Recast) -> None:
    """Reuse the address; cast it for the generic space."""
    if space_of(op.pointer) is op.type.space:
        state.set(op.results[0], state.name(op.pointer))
        return
    target = state.pointer_name(op.type.space)
    state.set(op.results[0], state.body.op(f"addrspacecast {state.typed(op.pointer)} to {target}"))


@emits(memory.Address)
def address(state: Emission, op: memory.Address) -> None:
    """Emit the address as an integer: the generic one, so that it is the same in every space."""
    pointer = state.typed(op.pointer)
    if space_of(op.pointer) is not Space.GENERIC:
        pointer = f"ptr {state.body.op(f'addrspacecast {pointer} to ptr')}"
    state.set(op.results[0], state.body.op(f"ptrtoint {pointer} to i64"))


@emits(memory.FromAddress)
def from_address(state: Emission, op: memory.FromAddress) -> None:
    """Emit an integer as a pointer."""
    name = state.body.op(f"inttoptr i64 {state.name(op.value)} to ptr")
    if op.type.space is not Space.GENERIC:
        name = state.body.op(f"addrspacecast ptr {name} to {state.pointer_name(op.type.space)}")
    state.set(op.results[0], name)


@emits(memory.GlobalAddress)
def global_address(state: Emission, op: memory.GlobalAddress) -> None:
    """Emit the address of a shared array, or of constant data."""
    place = state.shared_places.get(op.symbol)
    if place is None:
        state.set(op.results[0], global_name(op.symbol))
        return
    whole = f"{state.pointer_name(Space.SHARED)} {ALL_SHARED}"
    state.set(op.results[0], f"getelementptr (i8, {whole}, i64 {place})")


def place_shared(state: Emission) -> None:
    """Join the static shared arrays if dynamic memory needs more alignment than 16.

    NVIDIA's driver places dynamic memory at the next multiple of 16 behind them, whatever its own
    alignment (measured on an H200), so their size has to be a multiple of that alignment.
    """
    static = state.module.static_shared()
    if not static:
        return
    state.shared_bytes = sum(round_up(item.size, 16) for item in static)
    ops = (op for each in state.module.functions.values() for op in each.body.walk())
    aligns = [op.align for op in ops if isinstance(op, memory.DynamicShared)]
    state.dynamic_align = max([16, *aligns])
    if state.dynamic_align == 16:
        return
    end = 0
    for item in static:
        state.shared_places[item.name] = end = round_up(end, max(16, item.align))
        end += item.size
    state.shared_bytes = round_up(end, state.dynamic_align)


def round_up(number: int, align: int) -> int:
    """The next multiple of an alignment."""
    return -(-number // align) * align


def global_name(symbol: str) -> str:
    """LLVM's name of a module global."""
    return f'@"gridlane.{symbol}"'


@emits(memory.DynamicShared)
def dynamic_shared(state: Emission, op: memory.DynamicShared) -> None:
    """Emit the address of the array without a size, which the driver places after the others."""
    state.uses_dynamic_shared = True
    state.dynamic_align = max(state.dynamic_align, op.align)
    state.set(op.results[0], DYNAMIC_SHARED)


@emits(memory.LocalArray)
def local_array(state: Emission, op: memory.LocalArray) -> None:
    """Allocate memory of the thread, once at the start of the kernel."""
    align = max(op.align, min(16, max(op.element.align, 4)))
    memory_of_thread = state.body.alloca(f"[{op.size} x i8]", align=align)
    local, target = state.body.fresh("local"), state.pointer_name(Space.LOCAL)
    state.body.allocas.append(f"  {local} = addrspacecast ptr {memory_of_thread} to {target}")
    state.set(op.results[0], local)


# ---- variables


@emits(memory.ReadVar)
def read(state: Emission, op: memory.ReadVar) -> None:
    """Read a variable from its slot in the frame, which LLVM promotes to registers."""
    type_ = state.register_name(op.var.type)
    state.set(op.results[0], state.body.op(f"load {type_}, ptr {state.slots[op.var]}"))


@emits(memory.WriteVar)
def write(state: Emission, op: memory.WriteVar) -> None:
    """Write a variable."""
    state.body.do(f"store {state.typed(op.value)}, ptr {state.slots[op.var]}")


# ---- parts


@emits(memory.Pack)
def pack(state: Emission, op: memory.Pack) -> None:
    """Emit a struct or vector from its parts."""
    whole, aggregate = state.register_name(op.type), "poison"
    for index, part in enumerate(op.parts):
        if isinstance(op.type, VectorType):
            text = f"insertelement {whole} {aggregate}, {state.typed(part)}, i32 {index}"
        else:
            text = f"insertvalue {whole} {aggregate}, {state.typed(part)}, {index}"
        aggregate = state.body.op(text)
    state.set(op.results[0], aggregate)


@emits(memory.Part)
def part(state: Emission, op: memory.Part) -> None:
    """Extract one part."""
    whole = op.whole.type
    name = _taken(state, state.register_name(whole), state.name(op.whole), whole, op.index)
    state.set(op.results[0], name)


def _taken(state: Emission, whole: str, value: str, type_: Type, index: int) -> str:
    if isinstance(type_, VectorType):
        return state.body.op(f"extractelement {whole} {value}, i32 {index}")
    return state.body.op(f"extractvalue {whole} {value}, {index}")


# ---- arith's ops on more than scalars


@emits(arith.Select)
def select(state: Emission, op: arith.Select) -> None:
    """Emit a select between values of any type."""
    sides = f"{state.typed(op.on_true)}, {state.typed(op.on_false)}"
    name = state.body.op(f"select i1 {state.name(op.condition)}, {sides}")
    state.set(op.results[0], name)


@emits(arith.Bitcast)
def bitcast(state: Emission, op: arith.Bitcast) -> None:
    """Emit a bitcast of scalars and vectors."""
    target = state.register_name(op.type)
    if state.register_name(op.value.type) == target:
        state.set(op.results[0], state.name(op.value))
        return
    state.set(op.results[0], state.body.op(f"bitcast {state.typed(op.value)} to {target}"))
