"""Addresses, loads and stores: a scalar, a vector, or a gather, by the shape of the address."""

from __future__ import annotations

from gridlane.analysis.uniformity import Kind
from gridlane.codegen.llvm.cpu import moves, rows
from gridlane.codegen.llvm.cpu.apart import note_scope
from gridlane.codegen.llvm.cpu.dispatch import emits
from gridlane.codegen.llvm.cpu.lanes import (
    Emission,
    InMemory,
    Likely,
    Linear,
    Parts,
    Rep,
    Uniform,
    Varying,
)
from gridlane.codegen.llvm.cpu.likely import choose, tested
from gridlane.codegen.llvm.cpu.prefetch import prefetch
from gridlane.codegen.llvm.text import literal, mangle, memory_name, scalar_name, widen
from gridlane.core.decisions import decided
from gridlane.core.dtypes import DType
from gridlane.core.frozen import frozen
from gridlane.ir.ops import arith, memory
from gridlane.ir.types import PointerType, StructType, Type, VectorType
from gridlane.ir.types import pointer as pointer_type
from gridlane.ir.values import Value

# ---- addresses


@emits(arith.Const)
def constant(state: Emission, op: arith.Const) -> None:
    """Hold a constant as a uniform literal."""
    state.set(op.results[0], Uniform(literal(op.value, op.type)))


@emits(memory.Offset)
def offset(state: Emission, op: memory.Offset) -> None:
    """Emit the address of an element at an index; in an interleaved local array an element is a row
    of lanes."""
    pointer, index = state.rep(op.pointer), state.rep(op.index)
    assert isinstance(op.pointer.type, PointerType)
    size = op.pointer.type.element.size
    scale = size * state.lanes if op.pointer in state.shapes.interleaved else size
    shape = state.shapes.of(op.results[0])
    if shape.kind is not Kind.VARYING:
        assert not isinstance(pointer, Parts | InMemory)
        assert not isinstance(index, Parts | InMemory)
        base = pointer.base if isinstance(pointer, Linear) else pointer.name
        step = index.base if isinstance(index, Linear) else index.name
        moved = _moved(state, base, _index64(state, step, op.index.type, 0), scale, 0)
        rep: Rep = Linear(moved, shape.stride) if shape.kind is Kind.LINEAR else Uniform(moved)
        state.set(op.results[0], rep)
        return
    if isinstance(pointer, Uniform):
        steps = _index64(state, state.vector(op.index), op.index.type, state.lanes)
        state.set(op.results[0], Varying(_moved(state, pointer.name, steps, scale, state.lanes)))
        return
    base = state.vector(op.pointer)
    steps = _index64(state, state.vector(op.index), op.index.type, state.lanes)
    state.set(op.results[0], Varying(_moved(state, base, steps, scale, state.lanes, True)))


def _index64(state: Emission, name: str, type_: Type, lanes: int) -> str:
    """An index sign- or zero-extended to i64, by its type."""
    assert isinstance(type_, DType)
    if type_.bits == 64:
        return name
    if not lanes and name[0] != "%":
        return name
    word = "sext" if type_.is_signed else "zext"
    return state.body.op(f"{word} {widen(f'i{type_.bits}', lanes)} {name} to {widen('i64', lanes)}")


def _moved(
    state: Emission, base: str, index: str, scale: int, lanes: int, vector_base: bool = False
) -> str:
    """base + index * scale bytes; a power-of-two scale folds into the address mode."""
    element = {1: "i8", 2: "i16", 4: "i32", 8: "i64"}.get(scale) or f"[{scale} x i8]"
    base_type = widen("ptr", lanes) if vector_base else "ptr"
    return state.body.op(
        f"getelementptr {element}, {base_type} {base}, {widen('i64', lanes)} {index}"
    )


@emits(memory.FieldPointer)
def field_pointer(state: Emission, op: memory.FieldPointer) -> None:
    """Emit the address of a field, at a constant offset in bytes."""
    assert isinstance(op.pointer.type, PointerType)
    whole = op.pointer.type.element
    distance = whole.offsets[op.index] if isinstance(whole, StructType) else 0
    state.set(op.results[0], _displaced(state, state.rep(op.pointer), distance))


def _displaced(state: Emission, rep: Rep, distance: int) -> Rep:
    """An address plus a constant number of bytes."""
    if distance == 0:
        return rep
    if isinstance(rep, Linear):
        return Linear(_moved(state, rep.base, str(distance), 1, 0), rep.stride)
    if isinstance(rep, Uniform):
        return Uniform(_moved(state, rep.name, str(distance), 1, 0))
    assert isinstance(rep, Varying)
    steps = f"splat (i64 {distance})"
    return Varying(_moved(state, rep.name, steps, 1, state.lanes, True))


@emits(memory.Recast)
def recast(state: Emission, op: memory.Recast) -> None:
    """Reuse the address, which is untyped here."""
    state.set(op.results[0], state.rep(op.pointer))


@emits(memory.Address)
def address(state: Emission, op: memory.Address) -> None:
    """Emit an address as an integer."""
    _convert(state, op.results[0], state.rep(op.pointer), "ptrtoint", "ptr", "i64")


@emits(memory.FromAddress)
def from_address(state: Emission, op: memory.FromAddress) -> None:
    """Emit an integer as an address."""
    _convert(state, op.results[0], state.rep(op.value), "inttoptr", "i64", "ptr")


def _convert(state: Emission, result: Value, rep: Rep, word: str, source: str, target: str) -> None:
    if isinstance(rep, Linear):
        name = state.body.op(f"{word} {source} {rep.base} to {target}")
        state.set(result, Linear(name, rep.stride))
    elif isinstance(rep, Uniform):
        state.set(result, Uniform(state.body.op(f"{word} {source} {rep.name} to {target}")))
    else:
        assert isinstance(rep, Varying)
        types = widen(source, state.lanes), widen(target, state.lanes)
        state.set(result, Varying(state.body.op(f"{word} {types[0]} {rep.name} to {types[1]}")))


@emits(memory.GlobalAddress)
def global_address(state: Emission, op: memory.GlobalAddress) -> None:
    """Emit a global's address, in the worker's arena if shared, else in the code's data."""
    known = state.module.globals[op.symbol]
    if known.data is not None:
        state.set(op.results[0], Uniform(f"@constant.{op.symbol}"))
        return
    where = state.known[f"shared.{op.symbol}"]
    moved = _moved(state, state.known["shared"], where, 1, 0)
    state.set(op.results[0], Uniform(moved))


@emits(memory.DynamicShared)
def dynamic_shared(state: Emission, op: memory.DynamicShared) -> None:
    """Emit the address of the arena after the static arrays."""
    where = state.known["dynamic"]
    state.set(op.results[0], Uniform(_moved(state, state.known["shared"], where, 1, 0)))


def array_bytes(state: Emission, op: memory.LocalArray) -> int:
    """The bytes of all lanes' arrays; interleaved ones lie side by side, at no address."""
    each = op.size if op.results[0] in state.shapes.interleaved else op.pitch
    return each * state.lanes


def aligned(state: Emission, pointer: str, align: int) -> str:
    """The last multiple of an alignment up to an address."""
    arguments = [("ptr", pointer), ("i64", str(-align))]
    return state.body.call("ptr", "llvm.ptrmask.p0.i64", arguments, pure=True)


@emits(memory.LocalArray)
def local_array(state: Emission, op: memory.LocalArray) -> None:
    """Allocate every lane's memory: interleaved where accesses allow it, else an array per lane."""
    pointer = state.arrays.get(op)
    if pointer is None:
        pointer = state.body.alloca(f"[{array_bytes(state, op)} x i8]", align=64)
        state.arrays[op] = pointer
    state.set(op.results[0], Linear(pointer, state.shapes.of(op.results[0]).stride))


# ---- loads


@frozen
class Access:
    """A load or store, or that of a part; ``aligned``: the address is, for the type. The parts of a
    packed struct need not be."""

    op: memory.Load | memory.Store
    aligned: bool = True

    @property
    def word(self) -> str:
        """LLVM's word for it, before the type of an access."""
        return "volatile " if self.op.volatile else ""

    def part(self, whole: Type, offset: int, part: Type) -> Access:
        """The access of a part."""
        aligned = self.aligned and whole.align % part.align == 0 and offset % part.align == 0
        return Access(self.op, aligned)


@emits(memory.Load)
def load(state: Emission, op: memory.Load) -> None:
    """Emit a load by the shape of the address."""
    assert isinstance(op.pointer.type, PointerType)
    type_ = op.pointer.type.element
    state.source = op.loc
    if state.strides:
        prefetch(state, op)
    likely = None if fields_of(type_) else tested(state, op.pointer, (0, type_.size))
    if likely is not None:
        state.set(op.results[0], _load_likely(state, op, likely, type_))
        return
    access, start = Access(op), len(state.body.lines)
    rep = _load(state, state.rep(op.pointer), type_, access)
    note_scope(state, op.pointer, start)
    state.set(op.results[0], rep)


def _load_likely(state: Emission, op: memory.Load, likely: Likely, type_: Type) -> Rep:
    """Load a row or one element where all lanes are as is likely, else what each lane points to."""
    held = memory_name(type_)
    vector = widen(held, state.lanes)

    decided(op.loc, "load", "a row where a test at run time finds one, else gathered")

    def fast() -> str:
        if likely.stride:
            return _load_row(state, likely.base, vector, held, type_.align)
        one = state.body.op(f"load {held}, ptr {likely.base}, align {type_.align}")
        return state.broadcast(one, held)

    def slow() -> str:
        return _gather(state, state.vector(op.pointer), vector, held, type_.align)

    name = choose(state, likely.holds[0], vector, fast, slow)
    return Varying(_from_memory(state, name, type_, state.lanes))


def fields_of(type_: Type) -> list[tuple[int, Type]]:
    """Byte offsets and types of the parts of a struct or vector; [] for a scalar."""
    if isinstance(type_, StructType):
        return list(zip(type_.offsets, type_.types, strict=True))
    if isinstance(type_, VectorType):
        return [(index * type_.element.size, type_.element) for index in range(type_.count)]
    return []


def _load(state: Emission, pointer: Rep, type_: Type, access: Access) -> Rep:
    row = isinstance(pointer, Linear) and rows.is_adjacent(state, pointer, type_)
    if isinstance(pointer, Linear) and row and not access.op.volatile:
        assert isinstance(type_, VectorType)
        decided(state.source, "load", "rows of whole vectors")
        return Parts(tuple([Varying(name) for name in rows.load(state, pointer, type_)]))
    if fields := fields_of(type_):
        if (each := moves.moves_of(type_, access.aligned)) is not None:
            return _load_whole(state, pointer, type_, access, each)
        items = [
            _load(state, _displaced(state, pointer, at), part, access.part(type_, at, part))
            for at, part in fields
        ]
        return Parts(tuple(items))
    held = memory_name(type_)
    if isinstance(pointer, Uniform):
        decided(state.source, "load", "one scalar for all lanes")
        name = state.body.op(f"load {access.word}{held}, ptr {pointer.name}, align {type_.align}")
        return Uniform(_from_memory(state, name, type_, 0))
    vector = widen(held, state.lanes)
    if isinstance(pointer, Linear) and pointer.stride == type_.size:
        decided(state.source, "load", _row_told(state))
        name = _load_row(state, pointer.base, vector, held, type_.align)
    elif isinstance(pointer, Linear) and _is_packed(state, pointer.stride, type_):
        decided(state.source, "load", "every few elements of a vector")
        name = _load_strided(state, pointer, held, type_)
    else:
        decided(state.source, "load", f"gathered{_masked_told(state)}")
        addresses = state.as_vector(pointer, pointer_type(type_))
        name = _gather(state, addresses, vector, held, type_.align)
    return Varying(_from_memory(state, name, type_, state.lanes))


def _row_told(state: Emission) -> str:
    return f"a vector{_masked_told(state)}"


def _masked_told(state: Emission) -> str:
    return "" if state.mask is None else ", masked"


def _load_whole(
    state: Emission, pointer: Rep, type_: Type, access: Access, each: moves.Moves
) -> Rep:
    """Load vectors, each by moves of up to 16 bytes."""
    how = moves.ordered(state, each, access.op)
    parts = memory.part_types(type_)
    if isinstance(pointer, Uniform):
        decided(state.source, "load", "one vector for all lanes")
        names = moves.split(state.body, moves.load_one(state.body, pointer.name, how), how)
        converted = [_from_memory(state, n, t, 0) for n, t in zip(names, parts, strict=True)]
        return Parts(tuple([Uniform(name) for name in converted]))
    decided(state.source, "load", f"a vector for each lane{_masked_told(state)}")
    names = moves.load_each(state, state.as_vector(pointer, pointer_type(type_)), how)
    lanes = state.lanes
    converted = [_from_memory(state, n, t, lanes) for n, t in zip(names, parts, strict=True)]
    return Parts(tuple([Varying(name) for name in converted]))


def _load_row(state: Emission, base: str, vector: str, held: str, align: int) -> str:
    """Load adjacent elements, one for each running lane."""
    if state.mask is None:
        return state.body.op(f"load {vector}, ptr {base}, align {align}")
    name = f"llvm.masked.load.{mangle(held, state.lanes)}.p0"
    row = state.body.call(
        vector,
        name,
        [
            (f"ptr align {align}", base),
            (state.mask_type, state.mask),
            (vector, "zeroinitializer"),
        ],
    )
    # LLVM 22 makes a select of a masked load, by the same mask, a masked load in the select's
    # place, also behind a store to the same address.
    return state.body.op(f"freeze {vector} {row}")


def _is_packed(state: Emission, stride: int, type_: Type) -> bool:
    """Whether to load whole rows and extract the elements: fields of small rows, with all lanes
    running. The last row's tail is not accessed."""
    return state.mask is None and stride in (2 * type_.size, 3 * type_.size, 4 * type_.size)


def _load_strided(state: Emission, pointer: Linear, held: str, type_: Type) -> str:
    """Load every second, third or fourth element, by one wide load and a shuffle."""
    step = pointer.stride // type_.size
    count = (state.lanes - 1) * step + 1
    wide = f"<{count} x {held}>"
    row = state.body.op(f"load {wide}, ptr {pointer.base}, align {type_.align}")
    picks = ", ".join(f"i32 {lane * step}" for lane in range(state.lanes))
    return state.body.op(
        f"shufflevector {wide} {row}, {wide} poison, <{state.lanes} x i32> <{picks}>"
    )


def _gather(state: Emission, addresses: str, vector: str, held: str, align: int) -> str:
    name = f"llvm.masked.gather.{mangle(held, state.lanes)}.{mangle('ptr', state.lanes)}"
    pointers = widen("ptr", state.lanes)
    return state.body.call(
        vector,
        name,
        [
            (f"{pointers} align {align}", addresses),
            (state.mask_type, state.all_lanes()),
            (vector, "zeroinitializer"),
        ],
    )


def _from_memory(state: Emission, name: str, type_: Type, lanes: int) -> str:
    """Convert a bool from its byte in memory."""
    if memory_name(type_) == scalar_name(type_):
        return name
    zero = "zeroinitializer" if lanes else "0"
    return state.body.op(f"icmp ne {widen('i8', lanes)} {name}, {zero}")


# ---- stores


@emits(memory.Store)
def store(state: Emission, op: memory.Store) -> None:
    """Emit a store by the shape of the address."""
    access = Access(op)
    state.source = op.loc
    type_ = op.value.type
    likely = None if fields_of(type_) else tested(state, op.pointer, (type_.size,))
    if likely is not None:
        linear = Linear(likely.base, likely.stride)

        def way(pointer: Rep) -> str:
            _store(state, pointer, state.rep(op.value), type_, access)
            return ""

        lanes = state.rep(op.pointer)
        choose(state, likely.holds[0], "", lambda: way(linear), lambda: way(lanes))
        return
    start = len(state.body.lines)
    _store(state, state.rep(op.pointer), state.rep(op.value), op.value.type, access)
    note_scope(state, op.pointer, start)


def _store(state: Emission, pointer: Rep, rep: Rep, type_: Type, access: Access) -> None:
    row = isinstance(pointer, Linear) and rows.is_adjacent(state, pointer, type_)
    if isinstance(pointer, Linear) and row and not access.op.volatile:
        assert isinstance(rep, Parts) and isinstance(type_, VectorType)
        decided(state.source, "store", "rows of whole vectors")
        parts = [state.as_vector(item, type_.element) for item in rep.items]
        rows.store(state, pointer, parts, type_)
        return
    if fields := fields_of(type_):
        assert isinstance(rep, Parts)
        if (each := moves.moves_of(type_, access.aligned)) is not None:
            _store_whole(state, pointer, rep, type_, access, each)
            return
        for (offset, part), item in zip(fields, rep.items, strict=True):
            inner = access.part(type_, offset, part)
            _store(state, _displaced(state, pointer, offset), item, part, inner)
        return
    held = memory_name(type_)
    if isinstance(pointer, Uniform):
        decided(state.source, "store", "one scalar, by one lane")
        value = _to_memory(state, _any_lane(state, rep, type_), type_, 0)
        state.body.do(f"store {access.word}{held} {value}, ptr {pointer.name}, align {type_.align}")
        return
    vector = widen(held, state.lanes)
    value = _to_memory(state, state.as_vector(rep, type_), type_, state.lanes)
    if isinstance(pointer, Linear) and pointer.stride == type_.size:
        decided(state.source, "store", _row_told(state))
        _store_row(state, pointer.base, value, vector, held, type_.align)
        return
    decided(state.source, "store", f"scattered{_masked_told(state)}")
    addresses = state.as_vector(pointer, pointer_type(type_))
    pointers = widen("ptr", state.lanes)
    name = f"llvm.masked.scatter.{mangle(held, state.lanes)}.{mangle('ptr', state.lanes)}"
    arguments = [
        (vector, value),
        (f"{pointers} align {type_.align}", addresses),
        (state.mask_type, state.all_lanes()),
    ]
    state.body.call("void", name, arguments)


def _store_whole(
    state: Emission, pointer: Rep, rep: Parts, type_: Type, access: Access, each: moves.Moves
) -> None:
    """Store vectors, each by moves of up to 16 bytes."""
    how = moves.ordered(state, each, access.op)
    parts = list(zip(rep.items, memory.part_types(type_), strict=True))
    if isinstance(pointer, Uniform):
        decided(state.source, "store", "one vector, by one lane")
        names = [_to_memory(state, _any_lane(state, item, t), t, 0) for item, t in parts]
        moves.store_one(state.body, pointer.name, moves.joined(state.body, names, how), how)
        return
    decided(state.source, "store", f"a vector for each lane{_masked_told(state)}")
    lanes = state.lanes
    names = [_to_memory(state, state.as_vector(item, t), t, lanes) for item, t in parts]
    moves.store_each(state, state.as_vector(pointer, pointer_type(type_)), names, how)


def _any_lane(state: Emission, rep: Rep, type_: Type) -> str:
    """The value of the last running lane, which wins a store to one address."""
    if isinstance(rep, Uniform):
        return rep.name
    vector, name = state.as_vector(rep, type_), scalar_name(type_)
    if state.mask is None:
        return state.extract(vector, name, state.lanes - 1)
    bits, width = state.bits(state.mask), f"i{state.lanes}"
    state.body.declared.setdefault(
        f"llvm.ctlz.{width}", f"declare {width} @llvm.ctlz.{width}({width}, i1)"
    )
    zeros = state.body.op(f"call {width} @llvm.ctlz.{width}({width} {bits}, i1 false)")
    lane = state.body.op(f"sub {width} {state.lanes - 1}, {zeros}")
    return state.extract(vector, name, state.as_i32(lane, state.lanes))


def _store_row(state: Emission, base: str, value: str, vector: str, held: str, align: int) -> None:
    if state.mask is None:
        state.body.do(f"store {vector} {value}, ptr {base}, align {align}")
        return
    name = f"llvm.masked.store.{mangle(held, state.lanes)}.p0"
    arguments = [(vector, value), (f"ptr align {align}", base), (state.mask_type, state.mask)]
    state.body.call("void", name, arguments)


def _to_memory(state: Emission, name: str, type_: Type, lanes: int) -> str:
    if memory_name(type_) == scalar_name(type_):
        return name
    return state.body.op(f"zext {widen('i1', lanes)} {name} to {widen('i8', lanes)}")
