"""Atomic read-modify-writes: an instruction for integers of 32 and 64 bits, else compare and swap
of the word around the value."""

from __future__ import annotations

from collections.abc import Callable

from gridlane.codegen.spirv import conversion, scalars
from gridlane.codegen.spirv.bit_access import (
    Spot,
    atomic_words,
    global_pointer,
    load_bits,
    shift_in_word,
    store_bits,
    word_pointer,
)
from gridlane.codegen.spirv.code import Code, unsigned
from gridlane.codegen.spirv.emission import Emission, emits
from gridlane.codegen.spirv.gridops import memory_barrier, scope_id, semantics_id
from gridlane.codegen.spirv.memory import spot_of
from gridlane.codegen.spirv.opcodes import Capability, Opcode
from gridlane.core.dtypes import DType, f32, u32, u64
from gridlane.core.frozen import frozen
from gridlane.ir.ops.atomic import Atomic, AtomicCas, AtomicKind
from gridlane.ir.ops.grid import MemoryOrder
from gridlane.ir.types import Space

_NATIVE = {
    AtomicKind.ADD: (Opcode.AtomicIAdd, Opcode.AtomicIAdd),
    AtomicKind.SUB: (Opcode.AtomicISub, Opcode.AtomicISub),
    AtomicKind.AND: (Opcode.AtomicAnd, Opcode.AtomicAnd),
    AtomicKind.OR: (Opcode.AtomicOr, Opcode.AtomicOr),
    AtomicKind.XOR: (Opcode.AtomicXor, Opcode.AtomicXor),
    AtomicKind.EXCHANGE: (Opcode.AtomicExchange, Opcode.AtomicExchange),
    AtomicKind.MIN: (Opcode.AtomicSMin, Opcode.AtomicUMin),
    AtomicKind.MAX: (Opcode.AtomicSMax, Opcode.AtomicUMax),
    AtomicKind.NANMIN: (Opcode.AtomicSMin, Opcode.AtomicUMin),
    AtomicKind.NANMAX: (Opcode.AtomicSMax, Opcode.AtomicUMax),
}
"""Instructions for signed and for unsigned integers."""


@frozen
class Cell:
    """A scalar in a word of memory.

    Attributes:
        word: the word's type.
        shift: id of the scalar's lowest bit in the word; 0 when it is the whole word.
    """

    pointer: int
    word: DType
    shift: int
    dtype: DType

    def taken(self, code: Code, word: int) -> int:
        """Extract the scalar from a word."""
        if self.shift:
            down = code.op(Opcode.ShiftRightLogical, self.word, word, self.shift)
            word = code.resized(down, self.word, unsigned(self.dtype.bits))
        return code.from_bits(word, self.dtype)

    def put(self, code: Code, word: int, value: int) -> int:
        """Insert another scalar into a word."""
        bits = code.bits(value, self.dtype)
        if not self.shift:
            return bits
        ones = code.const((1 << self.dtype.bits) - 1, self.word)
        mask = code.op(Opcode.ShiftLeftLogical, self.word, ones, self.shift)
        others = code.op(Opcode.BitwiseAnd, self.word, word, code.op(Opcode.Not, self.word, mask))
        wide = code.resized(bits, unsigned(self.dtype.bits), self.word)
        up = code.op(Opcode.ShiftLeftLogical, self.word, wide, self.shift)
        return code.joined(self.word, others, up)


def _cell_of(state: Emission, spot: Spot, dtype: DType) -> Cell:
    """The word around a scalar."""
    code = state.code
    if spot.place is not None:
        word = unsigned(spot.place.bits)
        atomic_words(state, word)
        shift = shift_in_word(state, spot) if word.bits != dtype.bits else 0
        return Cell(word_pointer(state, spot), word, shift, dtype)
    if dtype.bits >= 32:
        word = unsigned(dtype.bits)
        atomic_words(state, word)
        return Cell(global_pointer(state, spot.at, code.scalar(word)), word, 0, dtype)
    aligned = code.masked(u64, spot.at, -4)
    low = code.masked(u32, code.resized(spot.at, u64, u32), 3)
    pointer = global_pointer(state, aligned, code.scalar(u32))
    return Cell(pointer, u32, code.shifted_up(u32, low, 3), dtype)


def _fence_if_those_wait(state: Emission, op: Atomic | AtomicCas) -> None:
    """Emit a fence before and after an atomic on devices whose fences wait (``fences_wait``): the
    orders of atomics wait as well there, so atomics are relaxed between fences."""
    if op.order is not MemoryOrder.RELAXED and state.has("fences_wait"):
        memory_barrier(state, op.scope, op.order)


def _order_id(state: Emission, order: MemoryOrder) -> int:
    return semantics_id(state, MemoryOrder.RELAXED if state.has("fences_wait") else order)


@emits(Atomic)
def atomic(state: Emission, op: Atomic) -> None:
    """Emit a read-modify-write."""
    code, dtype = state.code, op.value.type
    assert isinstance(dtype, DType)
    spot, value = spot_of(state, op.pointer), state.name(op.value)

    def change(old: int) -> int:
        return combined(code, op.kind, dtype, old, value)

    if spot.place is not None and spot.place.space is Space.LOCAL:
        state.set(op.results[0], _alone(state, spot, dtype, change))
        return
    cell = _cell_of(state, spot, dtype)
    _fence_if_those_wait(state, op)
    scope, semantics = scope_id(state, op.scope), _order_id(state, op.order)
    if not cell.shift and op.kind in _NATIVE and _has_instruction(op, dtype):
        opcode = _NATIVE[op.kind][0 if dtype.is_signed else 1]
        bits = code.bits(value, dtype)
        old = code.op(opcode, cell.word, cell.pointer, scope, semantics, bits)
        state.set(op.results[0], code.from_bits(old, dtype))
    elif spot.place is None and dtype is f32 and _adds(state, op):
        state.set(op.results[0], _float_add(state, op, spot, scope, semantics))
    else:
        state.set(op.results[0], _swapped(state, op, cell, change))
    _fence_if_those_wait(state, op)


def _has_instruction(op: Atomic, dtype: DType) -> bool:
    return dtype.is_integer or op.kind is AtomicKind.EXCHANGE


def _adds(state: Emission, op: Atomic) -> bool:
    return state.has("float32_atomic_add") and op.kind in (AtomicKind.ADD, AtomicKind.SUB)


def _float_add(state: Emission, op: Atomic, spot: Spot, scope: int, semantics: int) -> int:
    """Emit the extension's instruction; a difference adds the negative, which is as exact."""
    code = state.code
    code.capabilities.add(Capability.AtomicFloat32AddEXT)
    code.extensions.add("SPV_EXT_shader_atomic_float_add")
    value = state.name(op.value)
    if op.kind is AtomicKind.SUB:
        value = code.op(Opcode.FNegate, f32, value)
    pointer = global_pointer(state, spot.at, code.scalar(f32))
    return code.op(Opcode.AtomicFAddEXT, f32, pointer, scope, semantics, value)


def _alone(state: Emission, spot: Spot, dtype: DType, change: Callable[[int], int]) -> int:
    """A load and a store, on memory that no other thread accesses."""
    code = state.code
    old = code.from_bits(load_bits(state, spot, dtype.bits), dtype)
    store_bits(state, spot, code.bits(change(old), dtype), dtype.bits)
    return old


def _swapped(state: Emission, op: Atomic, cell: Cell, change: Callable[[int], int]) -> int:
    """Compare and swap until no other thread intervened."""
    code = state.code
    seen = code.local(cell.word)
    code.set(seen, _first_look(state, op, cell))
    with code.again() as labels:
        old = code.get(cell.word, seen)
        new = cell.put(code, old, change(cell.taken(code, old)))
        now = _swap(state, op, cell, old, new)
        code.set(seen, now)
        code.stop_if(code.compare(Opcode.IEqual, now, old), labels.merge)
    return cell.taken(code, code.get(cell.word, seen))


def _first_look(state: Emission, op: Atomic | AtomicCas, cell: Cell) -> int:
    scope, relaxed = scope_id(state, op.scope), semantics_id(state, MemoryOrder.RELAXED)
    return state.code.op(Opcode.AtomicLoad, cell.word, cell.pointer, scope, relaxed)


_UNEQUAL = {
    MemoryOrder.RELEASE: MemoryOrder.RELAXED,
    MemoryOrder.ACQ_REL: MemoryOrder.ACQUIRE,
    MemoryOrder.SEQ_CST: MemoryOrder.ACQUIRE,
}
"""The order of a failed swap, which releases nothing."""


def _swap(state: Emission, op: Atomic | AtomicCas, cell: Cell, expected: int, new: int) -> int:
    """Emit one compare and swap of a word; the old word."""
    unequal = _UNEQUAL.get(op.order, op.order)
    order = _order_id(state, op.order), _order_id(state, unequal)
    scope = scope_id(state, op.scope)
    operands = (cell.pointer, scope, *order, new, expected)
    return state.code.op(Opcode.AtomicCompareExchange, cell.word, *operands)


@emits(AtomicCas)
def cas(state: Emission, op: AtomicCas) -> None:
    """Emit a compare and swap on the bits."""
    code, dtype = state.code, op.desired.type
    assert isinstance(dtype, DType)
    spot = spot_of(state, op.pointer)
    expected, desired = (code.bits(state.name(v), dtype) for v in (op.expected, op.desired))
    raw = unsigned(dtype.bits)
    if spot.place is not None and spot.place.space is Space.LOCAL:
        old = load_bits(state, spot, dtype.bits)
        same = code.compare(Opcode.IEqual, old, expected)
        store_bits(state, spot, code.select(raw, same, desired, old), dtype.bits)
    else:
        cell = _cell_of(state, spot, raw)
        _fence_if_those_wait(state, op)
        if cell.shift:
            old = _cas_in_word(state, op, cell, expected, desired)
        else:
            old = _swap(state, op, cell, expected, desired)
        _fence_if_those_wait(state, op)
    state.set(op.results[0], code.from_bits(old, dtype))


def _cas_in_word(state: Emission, op: AtomicCas, cell: Cell, expected: int, desired: int) -> int:
    """Retry until the scalar's bits differ from the expected ones, or the word was swapped."""
    code = state.code
    seen = code.local(cell.word)
    code.set(seen, _first_look(state, op, cell))
    with code.again() as labels:
        old = code.get(cell.word, seen)
        other = code.compare(Opcode.INotEqual, cell.taken(code, old), expected)
        code.stop_if(other, labels.merge)
        now = _swap(state, op, cell, old, cell.put(code, old, desired))
        code.set(seen, now)
        code.stop_if(code.compare(Opcode.IEqual, now, old), labels.merge)
    return cell.taken(code, code.get(cell.word, seen))


# ---- stored values


def combined(code: Code, kind: AtomicKind, dtype: DType, old: int, value: int) -> int:
    """The value that an atomic stores, from the old value and the operand."""
    if kind is AtomicKind.EXCHANGE:
        return value
    if kind in (AtomicKind.INC, AtomicKind.DEC):
        return _wrapping_step(code, kind, dtype, old, value)
    if kind in (AtomicKind.NANMIN, AtomicKind.NANMAX):
        return scalars.minmax(code, dtype, kind is AtomicKind.NANMIN, old, value)
    if kind in (AtomicKind.MIN, AtomicKind.MAX):
        better = _is_beyond(code, dtype, kind is AtomicKind.MIN, value, old)
        return code.select(dtype, better, value, old)
    if kind in _BITWISE:
        return code.op(_BITWISE[kind], dtype, old, value)
    adds = kind is AtomicKind.ADD
    if not dtype.is_float:
        return code.op(Opcode.IAdd if adds else Opcode.ISub, dtype, old, value)
    wide = f32 if dtype.name == "bf16" else dtype
    value = code.hidden(value, dtype)
    a, b = (conversion.convert(code, x, dtype, wide) for x in (old, value))
    total = code.real(Opcode.FAdd if adds else Opcode.FSub, wide, a, b)
    return conversion.convert(code, total, wide, dtype)


_BITWISE = {
    AtomicKind.AND: Opcode.BitwiseAnd,
    AtomicKind.OR: Opcode.BitwiseOr,
    AtomicKind.XOR: Opcode.BitwiseXor,
}


def _is_beyond(code: Code, dtype: DType, below: bool, a: int, b: int) -> int:
    """a < b, or with ``below`` unset a > b; false for NaN."""
    if not below:
        a, b = b, a
    if dtype.is_float:
        wide = f32 if dtype.name == "bf16" else dtype
        a, b = (conversion.convert(code, x, dtype, wide) for x in (a, b))
        return code.relation(Opcode.FOrdLessThan, wide, a, b)
    return code.order(Opcode.SLessThan if dtype.is_signed else Opcode.ULessThan, dtype, a, b)


def _wrapping_step(code: Code, kind: AtomicKind, dtype: DType, old: int, limit: int) -> int:
    """The value that INC or DEC stores."""
    zero = code.const(0, dtype)
    if kind is AtomicKind.INC:
        past = code.compare(Opcode.UGreaterThanEqual, old, limit)
        return code.select(dtype, past, zero, code.plus(dtype, old, 1))
    past = code.compare(Opcode.UGreaterThan, old, limit)
    wraps = code.either(past, code.compare(Opcode.IEqual, old, zero))
    return code.select(dtype, wraps, limit, code.plus(dtype, old, -1))
