"""The meaning of ``ir.ops.memory``."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gridlane.interp.memory import POISON, Allocation, Memory
from gridlane.interp.state import Frame
from gridlane.interp.values import ADDRESS, Array, Lanes, filled, merged, numpy_of
from gridlane.ir.op import Op
from gridlane.ir.ops import memory as ops
from gridlane.ir.ops.grid import DynamicSharedSize
from gridlane.ir.types import ArrayType, PointerType, StructType, Type, VectorType


def part_offsets(type_: Type) -> tuple[int, ...]:
    """The byte offsets of the parts of a struct or vector in memory."""
    if isinstance(type_, StructType):
        return type_.offsets
    assert isinstance(type_, VectorType)
    return tuple(range(0, type_.size, type_.element.size))


def gather(memory: Memory, addresses: Array, type_: Type, align: int) -> Lanes:
    """Load values of any type from addresses. ``align`` applies to the whole value: the parts of a
    packed struct need no alignment of their own."""
    parts = ops.part_types(type_)
    if not parts:
        return memory.gather(addresses, numpy_of(type_), align)
    # The whole is checked first, so that a fault names the whole.
    memory.check(addresses, type_.size, align)
    offsets = map(ADDRESS.type, part_offsets(type_))
    return tuple(gather(memory, addresses + o, p, 1) for p, o in zip(parts, offsets, strict=True))


def scatter(memory: Memory, addresses: Array, values: Lanes, type_: Type, align: int) -> None:
    """Store values of any type at addresses."""
    if not isinstance(values, tuple):
        memory.scatter(addresses, values, align)
        return
    memory.check(addresses, type_.size, align)
    parts = zip(values, ops.part_types(type_), part_offsets(type_), strict=True)
    for part, part_type, offset in parts:
        scatter(memory, addresses + ADDRESS.type(offset), part, part_type, 1)


def pick(mask: Array, value: Lanes) -> Lanes:
    """The values of the lanes in ``mask``."""
    return tuple(pick(mask, part) for part in value) if isinstance(value, tuple) else value[mask]


def spread(mask: Array, picked: Lanes, whole: Lanes) -> Lanes:
    """``whole`` with ``picked`` in the lanes in ``mask``."""
    if isinstance(picked, tuple):
        return tuple(spread(mask, p, w) for p, w in zip(picked, whole, strict=True))
    assert isinstance(whole, np.ndarray)
    whole[mask] = picked
    return whole


def _load(frame: Frame, op: ops.Load, mask: Array, pointer: Array) -> Lanes:
    type_ = op.result.type
    loaded = gather(frame.block.launch.memory, pointer[mask], type_, type_.align)
    return spread(mask, loaded, filled(type_, frame.block.lanes))


def _store(frame: Frame, op: ops.Store, mask: Array, pointer: Array, value: Lanes) -> None:
    type_ = op.value.type
    memory = frame.block.launch.memory
    scatter(memory, pointer[mask], pick(mask, value), type_, type_.align)


def _element(op: ops.Offset | ops.FieldPointer) -> Type:
    assert isinstance(op.pointer.type, PointerType)
    return op.pointer.type.element


def _offset(op: ops.Offset, pointer: Array, index: Array) -> Array:
    # A signed index is sign-extended; the product and the sum wrap as addresses do.
    return pointer + index.astype(np.int64).view(ADDRESS) * ADDRESS.type(_element(op).size)


def _field_pointer(op: ops.FieldPointer, pointer: Array) -> Array:
    whole = _element(op)
    if isinstance(whole, ArrayType):
        return pointer
    assert isinstance(whole, StructType)
    return pointer + ADDRESS.type(whole.offsets[op.index])


def _same(op: Op, address: Array) -> Array:
    return address


def _pack(op: ops.Pack, *parts: Lanes) -> Lanes:
    return parts


def _part(op: ops.Part, whole: Lanes) -> Lanes:
    return whole[op.index]


def _global(frame: Frame, op: ops.GlobalAddress, mask: Array) -> Array:
    block = frame.block  # whose shared memory is its own, also where blocks take turns
    address = block.shared.get(op.symbol) or block.launch.globals[op.symbol]
    return np.full(block.lanes, address, ADDRESS)


def _dynamic_shared(frame: Frame, op: ops.DynamicShared, mask: Array) -> Array:
    return np.full(frame.block.lanes, frame.block.dynamic_shared, ADDRESS)


def _dynamic_shared_size(frame: Frame, op: DynamicSharedSize, mask: Array) -> Array:
    size = frame.block.launch.dynamic_shared
    return np.full(frame.block.lanes, size, numpy_of(op.results[0].type))


def _local_array(frame: Frame, op: ops.LocalArray, mask: Array) -> Array:
    """The arrays of all lanes in one allocation, with unused gaps of the same size."""
    lanes = frame.block.lanes
    used = op.size
    pitch = max(1 << (2 * used + 255).bit_length(), op.align)
    if op not in frame.arrays:
        data = np.full(lanes * pitch, POISON, np.uint8)
        item = Allocation(0, data, "a local array", pitch=pitch, used=used)
        frame.arrays[op] = frame.block.launch.memory.add(item)
    steps = np.arange(lanes, dtype=ADDRESS) * ADDRESS.type(pitch)
    return ADDRESS.type(frame.arrays[op]) + steps


def _read(frame: Frame, op: ops.ReadVar, mask: Array) -> Lanes:
    return frame.variables[op.var]


def _write(frame: Frame, op: ops.WriteVar, mask: Array, value: Lanes) -> None:
    frame.variables[op.var] = merged(mask, value, frame.variables[op.var])


WITH_OP: dict[type[Op], Callable[..., Lanes]] = {
    ops.Offset: _offset,
    ops.FieldPointer: _field_pointer,
    ops.Recast: _same,
    ops.Address: _same,
    ops.FromAddress: _same,
    ops.Pack: _pack,
    ops.Part: _part,
}

OBSERVE: dict[type[Op], Callable[..., Lanes | None]] = {
    ops.Load: _load,
    ops.Store: _store,
    ops.GlobalAddress: _global,
    ops.DynamicShared: _dynamic_shared,
    DynamicSharedSize: _dynamic_shared_size,
    ops.LocalArray: _local_array,
    ops.ReadVar: _read,
    ops.WriteVar: _write,
}
