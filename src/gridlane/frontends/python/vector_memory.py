"""Short vectors in memory: one access for a whole vector wherever its address allows it.

The element type of a pointer records the alignment: a vector of the IR is aligned, a struct of
numbers may not be. For a struct a test of the array's first address chooses between one access and
one for each component; optimisers compute it once for the array.
"""

from __future__ import annotations

from gridlane.analysis.alignment import shared_factor
from gridlane.core import argtypes
from gridlane.core.dtypes import u64
from gridlane.frontends.python.cells import read, write
from gridlane.frontends.python.layout import loose_type, memory_type
from gridlane.frontends.python.operands import Scalar, Vector
from gridlane.frontends.python.translator import Translator
from gridlane.ir.ops import memory
from gridlane.ir.types import PointerType, StructType, VectorType, pointer
from gridlane.ir.values import Value


def load_vector(t: Translator, address: Value, kind: argtypes.VectorType) -> Vector:
    """The vector at an address."""
    whole = _whole_if_aligned(address, kind)
    if whole is None:
        values = _load_each(t, address, kind.count)
    elif _is_loose(address):
        values = _load_tested(t, address, whole)
    else:
        values = _load_whole(t, address, whole)
    return Vector(tuple([Scalar(value) for value in values]))


def store_vector(t: Translator, address: Value, kind: argtypes.VectorType, value: Vector) -> None:
    """Write a vector to an address."""
    whole = _whole_if_aligned(address, kind)
    values = [number.value for number in value.numbers]
    if whole is None:
        _store_each(t, address, values)
    elif _is_loose(address):
        with t.b.if_(_is_aligned(t, address, whole)) as op:
            _store_whole(t, address, whole, values)
        with t.b.inside(op.orelse):
            _store_each(t, address, values)
    else:
        _store_whole(t, address, whole, values)


def viewed(t: Translator, start: Value, kind: argtypes.VectorType) -> Value:
    """The address of memory as that of vectors: of aligned ones where it is known to be."""
    space = _pointer_type(start).space
    known = _known_alignment(start)
    if known >= kind.alignment:
        return t.b.recast(start, pointer(memory_type(kind), space))
    if known >= kind.element.itemsize:
        return t.b.recast(start, pointer(loose_type(kind), space))
    return t.b.recast(start, pointer(memory_type(kind, packed=True), space))


# ---- the parts of accesses


def _whole_if_aligned(address: Value, kind: argtypes.VectorType) -> VectorType | None:
    """The vector that one access reads, where an address is aligned for it or may be."""
    whole = memory_type(kind)
    packed = _is_loose(address) and _pointer_type(address).element.align < kind.element.itemsize
    return whole if isinstance(whole, VectorType) and not packed else None


def _pointer_type(address: Value) -> PointerType:
    assert isinstance(address.type, PointerType)
    return address.type


def _is_loose(address: Value) -> bool:
    """Whether only the components are known to be aligned, or not even these."""
    return isinstance(_pointer_type(address).element, StructType)


def _load_each(t: Translator, address: Value, count: int) -> list[Value]:
    return [read(t, t.b.field_pointer(address, number)) for number in range(count)]


def _store_each(t: Translator, address: Value, values: list[Value]) -> None:
    for number, value in enumerate(values):
        write(t, t.b.field_pointer(address, number), value)


def _load_whole(t: Translator, address: Value, whole: VectorType) -> list[Value]:
    return _parts(t, t.b.load(_as_whole(t, address, whole)), whole)


def _parts(t: Translator, loaded: Value, whole: VectorType) -> list[Value]:
    return [t.b.value(memory.Part(loaded, number)) for number in range(whole.count)]


def _store_whole(t: Translator, address: Value, whole: VectorType, values: list[Value]) -> None:
    packed = t.b.value(memory.Pack(tuple(values), whole))
    t.b.store(_as_whole(t, address, whole), packed)


def _as_whole(t: Translator, address: Value, whole: VectorType) -> Value:
    return t.b.recast(address, pointer(whole, _pointer_type(address).space))


def _load_tested(t: Translator, address: Value, whole: VectorType) -> list[Value]:
    """Load in either way. The variable is the whole vector, as LLVM would make loads of components
    of both ways if it saw no other use of the vector."""
    b = t.b
    variable = b.variable("vector", whole)
    with b.if_(_is_aligned(t, address, whole)) as op:
        b.write(variable, b.load(_as_whole(t, address, whole)))
    with b.inside(op.orelse):
        each = _load_each(t, address, whole.count)
        b.write(variable, b.value(memory.Pack(tuple(each), whole)))
    return _parts(t, b.read(variable), whole)


# ---- alignment


def _is_aligned(t: Translator, address: Value, whole: VectorType) -> Value:
    """Whether vectors are aligned at an address: as the first one of its array is, since a vector's
    size is a multiple of its alignment."""
    b = t.b
    number = b.value(memory.Address(_first(address)))
    rest = b.and_(number, b.const(whole.align - 1, u64))
    return b.eq(rest, b.const(0, u64))


def _first(address: Value) -> Value:
    """The address from which whole vectors are counted to this one."""
    op = address.op
    while isinstance(op, memory.Offset) and op.pointer.type == address.type:
        address = op.pointer
        op = address.op
    return address


def _known_alignment(address: Value) -> int:
    """The alignment of an address, which is that of its array in memory that a kernel makes."""
    op = address.op
    if isinstance(op, memory.GlobalAddress | memory.DynamicShared):
        return 16
    if isinstance(op, memory.LocalArray):
        return max(op.align, op.element.align)
    if isinstance(op, memory.Recast):
        return max(_known_alignment(op.pointer), _pointer_type(address).element.align)
    if isinstance(op, memory.Offset):
        size = _pointer_type(address).element.size
        return shared_factor(_known_alignment(op.pointer), size)
    return _pointer_type(address).element.align
