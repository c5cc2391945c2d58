"""Loads and stores of bits: of global memory by address, of places by words.

A value wider than its alignment, or than the words of its place, is moved in pieces.
"""

from __future__ import annotations

from gridlane.analysis.alignment import shared_factor
from gridlane.codegen.spirv.code import Code, unsigned
from gridlane.codegen.spirv.emission import Emission
from gridlane.codegen.spirv.opcodes import (
    Access,
    Capability,
    Glsl,
    Opcode,
    Scope,
    Storage,
)
from gridlane.codegen.spirv.pointer_provenance import Place
from gridlane.core.dtypes import DType, u32, u64
from gridlane.core.frozen import frozen
from gridlane.ir.types import Space

QUAD = 16
"""Bytes of four words."""

_STORAGE = {
    Space.SHARED: Storage.Workgroup,
    Space.LOCAL: Storage.Function,
    Space.CONSTANT: Storage.Private,
}
_NARROW = {8: Capability.StorageBuffer8BitAccess, 16: Capability.StorageBuffer16BitAccess}


@frozen
class Spot:
    """A spot in memory: an address, or an offset from the start of a place.

    Attributes:
        align: in bytes.
        word, quad: the same offset in words, and in units of 16 bytes; 0 where it is unknown.
    """

    place: Place | None
    at: int
    align: int
    volatile: bool = False
    word: int = 0
    quad: int = 0

    def further(self, code: Code, distance: int) -> Spot:
        """The spot plus some bytes."""
        dtype = u64 if self.place is None else u32
        moved = code.plus(dtype, self.at, distance)
        align = shared_factor(self.align, distance)
        word = 0
        if self.place is not None and self.word and distance % (self.place.bits // 8) == 0:
            word = code.plus(u32, self.word, distance // (self.place.bits // 8))
        return Spot(self.place, moved, align, self.volatile, word)


def load_bits(state: Emission, spot: Spot, bits: int) -> int:
    """Load an unsigned integer."""
    piece = _piece(spot, bits)
    if piece == bits:
        return _load(state, spot, bits)
    code, dtype = state.code, unsigned(bits)
    whole = 0
    for number in range(bits // piece):
        part = _load(state, spot.further(code, number * piece // 8), piece)
        part = code.unsigned_resized(part, piece, bits)
        part = code.shifted_up(dtype, part, number * piece)
        whole = code.op(Opcode.BitwiseOr, dtype, whole, part) if whole else part
    return whole


def store_bits(state: Emission, spot: Spot, value: int, bits: int) -> None:
    """Store an unsigned integer."""
    piece, code = _piece(spot, bits), state.code
    for number in range(bits // piece):
        part = code.shifted_down(unsigned(bits), value, number * piece)
        part = code.unsigned_resized(part, bits, piece)
        _store(state, spot.further(code, number * piece // 8), part, piece)


def _piece(spot: Spot, bits: int) -> int:
    """The number of bits that are moved at once."""
    least = min(bits, 8 * spot.align)
    return least if spot.place is None else min(least, spot.place.bits)


# ---- global memory


def global_pointer(state: Emission, address: int, element: int) -> int:
    """An address as a pointer to an element type."""
    type_ = state.code.pointer_type(Storage.PhysicalStorageBuffer, element)
    return state.code.result(Opcode.ConvertUToPtr, type_, address)


def narrow_storage(state: Emission, bits: int) -> None:
    """Require loads and stores of 8 or 16 bits of global memory."""
    if bits in _NARROW:
        state.code.capabilities.add(_NARROW[bits])


def access(align: int, volatile: bool) -> tuple[int, int]:
    """The memory operands of an access to global memory that other threads may access."""
    flags = Access.Aligned | Access.NonPrivatePointer | (Access.Volatile if volatile else 0)
    return int(flags), align


# ---- words


def _load(state: Emission, spot: Spot, bits: int) -> int:
    code, dtype = state.code, unsigned(bits)
    if spot.place is None:
        narrow_storage(state, bits)
        pointer = global_pointer(state, spot.at, code.scalar(dtype))
        operands = access(bits // 8, spot.volatile)
        return code.op(Opcode.Load, dtype, pointer, *operands)
    word = unsigned(spot.place.bits)
    pointer = word_pointer(state, spot)
    result = code.op(Opcode.Load, word, pointer, *_flags(spot))
    if spot.place.bits == bits:
        return result
    down = code.op(Opcode.ShiftRightLogical, word, result, shift_in_word(state, spot))
    return code.resized(down, word, dtype)


def _store(state: Emission, spot: Spot, value: int, bits: int) -> None:
    code = state.code
    if spot.place is None:
        narrow_storage(state, bits)
        pointer = global_pointer(state, spot.at, code.scalar(unsigned(bits)))
        code.do(Opcode.Store, pointer, value, *access(bits // 8, spot.volatile))
        return
    word = unsigned(spot.place.bits)
    pointer = word_pointer(state, spot)
    if spot.place.bits == bits:
        code.do(Opcode.Store, pointer, value, *_flags(spot))
        return
    shift = shift_in_word(state, spot)
    mask = code.op(Opcode.ShiftLeftLogical, word, code.const((1 << bits) - 1, word), shift)
    others = code.op(Opcode.Not, word, mask)
    wide = code.unsigned_resized(value, bits, word.bits)
    wide = code.op(Opcode.ShiftLeftLogical, word, wide, shift)
    if spot.place.space is Space.LOCAL:
        kept = code.op(Opcode.Load, word, pointer, *_flags(spot))
        kept = code.op(Opcode.BitwiseAnd, word, kept, others)
        code.do(Opcode.Store, pointer, code.joined(word, kept, wide), *_flags(spot))
        return
    # Threads may write the other bytes of the word concurrently.
    scope = code.const(Scope.Workgroup, u32), code.const(0, u32)
    atomic_words(state, word)
    code.op(Opcode.AtomicAnd, word, pointer, *scope, others)
    code.op(Opcode.AtomicOr, word, pointer, *scope, wide)


def atomic_words(state: Emission, dtype: DType) -> None:
    """Require atomics of a width."""
    if dtype.bits == 64:
        state.code.capabilities.add(Capability.Int64Atomics)


def _flags(spot: Spot) -> tuple[int, ...]:
    """The memory operands of an access to a place: other threads access shared memory."""
    assert spot.place is not None
    flags = Access.NonPrivatePointer if spot.place.space is Space.SHARED else 0
    flags |= Access.Volatile if spot.volatile else 0
    return (int(flags),) if flags else ()


def shift_in_word(state: Emission, spot: Spot) -> int:
    """The offset in bits of a value in its word."""
    assert spot.place is not None
    low = state.code.masked(u32, spot.at, spot.place.bits // 8 - 1)
    return state.code.shifted_up(u32, low, 3)


def word_pointer(state: Emission, spot: Spot) -> int:
    """A pointer to the word of a place."""
    code, place = state.code, spot.place
    assert place is not None
    element = code.scalar(unsigned(place.bits))
    index = spot.word or code.shifted_down(u32, spot.at, (place.bits // 8).bit_length() - 1)
    index = _within(state, place, index, 4 if place.quads else 1)
    type_ = code.pointer_type(_STORAGE[place.space], element)
    array = array_of(state, place)
    if not place.quads:
        return code.result(Opcode.AccessChain, type_, array, index)
    quad, lane = code.shifted_down(u32, index, 2), code.masked(u32, index, 3)
    return code.result(Opcode.AccessChain, type_, array, quad, lane)


def place_pointer(state: Emission, spot: Spot) -> tuple[int, int]:
    """A pointer to an item of a place's array, at a multiple of 16 bytes, and the item's bytes."""
    place = spot.place
    assert place is not None
    if place.quads:
        return _quad_pointer(state, spot), QUAD
    return word_pointer(state, spot), place.bits // 8


def _quad_pointer(state: Emission, spot: Spot) -> int:
    """A pointer to four words of a place with groups of four. Programs over tiles compute such
    offsets themselves, in their tiles."""
    code, place = state.code, spot.place
    assert place is not None and place.quads
    type_ = code.pointer_type(_STORAGE[place.space], quad_type(code))
    quad = spot.quad
    if not quad or not state.module.program_warps:
        index = spot.word or code.shifted_down(u32, spot.at, 2)
        quad = code.shifted_down(u32, _within(state, place, index, 4), 2)
    return code.result(Opcode.AccessChain, type_, array_of(state, place), quad)


def load_quad(state: Emission, spot: Spot) -> list[int]:
    """Load four words of a place with groups of four."""
    code = state.code
    quad = code.result(Opcode.Load, quad_type(code), _quad_pointer(state, spot), *_flags(spot))
    word = code.scalar(u32)
    return [code.result(Opcode.CompositeExtract, word, quad, at) for at in range(4)]


def store_quad(state: Emission, spot: Spot, words: list[int]) -> None:
    """Store four words of a place with groups of four."""
    code = state.code
    quad = code.result(Opcode.CompositeConstruct, quad_type(code), *words)
    code.do(Opcode.Store, _quad_pointer(state, spot), quad, *_flags(spot))


def quad_type(code: Code) -> int:
    """The type of four words."""
    return code.type(Opcode.TypeVector, code.scalar(u32), 4)


# ---- the variables


def _within(state: Emission, place: Place, index: int, group: int) -> int:
    """An index of words that lies in a place: a wild one is that of its last word. Vulkan keeps
    accesses to buffers in them, and leaves those to other memory undefined: Mesa's device on the
    CPU ends the process.

    Args:
        group: the words of an element of the array.
    """
    code = state.code
    if place.dynamic:
        type_ = code.scalar(u32)
        last = code.spec_op(type_, Opcode.ISub, _dynamic_length(state, place), code.const(1, u32))
        return code.ext(Glsl.UMin, u32, index, last)
    count = _count(place) * group
    known = code.values.get(index)
    if known is not None and known[0] < count:
        return index
    return code.ext(Glsl.UMin, u32, index, code.const(count - 1, u32))


def _count(place: Place) -> int:
    """The elements of the array of a place without dynamic shared memory."""
    return max(1, place.size // 16 if place.quads else -(-place.size // (place.bits // 8)))


def array_of(state: Emission, place: Place) -> int:
    """The variable that holds a place."""
    if place not in state.arrays:
        state.arrays[place] = _declared(state, place)
    return state.arrays[place]


def _declared(state: Emission, place: Place) -> int:
    code = state.code
    element = quad_type(code) if place.quads else code.scalar(unsigned(place.bits))
    length = code.const(_count(place), u32)
    if place.dynamic:
        length = _dynamic_length(state, place)
    array = code.type(Opcode.TypeArray, element, length)
    if place.space is Space.LOCAL:
        return code.variable(array)
    if place.space is Space.SHARED:
        return code.global_variable(Storage.Workgroup, array)
    return code.global_variable(Storage.Private, array, _constant(state, place, array))


DYNAMIC_BYTES = 3
"""The number of the specialisation constant with the bytes of dynamic shared memory."""


def dynamic_bytes(state: Emission) -> int:
    """The bytes of dynamic shared memory."""
    return state.code.spec_constant(state.code.scalar(u32), DYNAMIC_BYTES, 0)


def _dynamic_length(state: Emission, place: Place) -> int:
    """Words of a place with dynamic shared memory at its end; one at least."""
    code, type_ = state.code, state.code.scalar(u32)
    spare = place.bits // 8 - bool(place.size)  # rounds up
    whole = code.const(place.size + spare, u32)
    total = code.spec_op(type_, Opcode.IAdd, dynamic_bytes(state), whole)
    return code.spec_op(type_, Opcode.UDiv, total, code.const(place.bits // 8, u32))


def _constant(state: Emission, place: Place, array: int) -> int:
    """The words of constant data."""
    code, word = state.code, unsigned(place.bits)
    data = bytearray(place.size)
    for root, offset in place.offsets.items():
        assert isinstance(root, str)
        own = state.module.globals[root].data or b""
        data[offset : offset + len(own)] = own
    step = word.size
    words = [
        code.const(int.from_bytes(data[at : at + step], "little"), word)
        for at in range(0, len(data), step)
    ]
    return code.shared(Opcode.ConstantComposite, (array,), tuple(words))
