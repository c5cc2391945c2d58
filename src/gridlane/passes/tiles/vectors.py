"""Groups of a thread's elements that are neighbours in memory: loads and stores by vectors.

The elements of a group differ in the lowest bits of an index, which are those of the numbers of
registers; so the thread needs all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from gridlane.core.dtypes import DType, u8, u16, u32, u64
from gridlane.core.frozen import frozen
from gridlane.ir.builder import Builder, constant
from gridlane.ir.ops import arith, memory, tile_memory
from gridlane.ir.types import PointerType, TileType, Type, vector
from gridlane.ir.values import Value
from gridlane.passes.tiles.accesses import DEVICE
from gridlane.passes.tiles.halves import pair
from gridlane.passes.tiles.indices import BitIndex, Coordinates, log2
from gridlane.passes.tiles.state import State
from gridlane.passes.tiles.widths import width_of

_WORDS: dict[int, DType] = {1: u8, 2: u16, 4: u32, 8: u64}


@frozen
class Group:
    """Some neighbours.

    Attributes:
        places: their coordinates, in the order of memory.
        index: of the element that is asked for among them.
        element: their type.
    """

    places: tuple[Coordinates, ...]
    index: int
    element: DType

    @property
    def words(self) -> int:
        """The words of 32 bits that they are."""
        return len(self.places) * self.element.size // u32.size


Vectorised = tile_memory.TileLoad | tile_memory.TileStore | tile_memory.TileStoreBlock


def group_of(state: State, op: Vectorised, at: Coordinates) -> Group | None:
    """The group of an element that an op accesses; None where it accesses single elements."""
    if not state.by_registers or not state.machine.vectors:
        return None
    best: Group | None = None
    for axis, index in enumerate(at):
        width = width_of(state.contiguity, op, axis)
        if width == 1 or not isinstance(index, BitIndex):
            continue
        element = _element_of(op)
        bits = min([log2(width) or 0, *[part.at for part in index.parts]])
        if (1 << bits) * element.size < u32.size or not bits:
            continue
        if best is None or 1 << bits > len(best.places):
            best = _group(at, axis, index, bits, element)
    return best


def _element_of(op: Vectorised) -> DType:
    tile = op.value.type if isinstance(op, tile_memory.TileStoreBlock) else op.pointers.type
    assert isinstance(tile, TileType)
    element = tile.element.element if isinstance(tile.element, PointerType) else tile.element
    assert isinstance(element, DType)
    return element


def _group(at: Coordinates, axis: int, index: BitIndex, bits: int, element: DType) -> Group:
    low = index.constant & (1 << bits) - 1
    places = [
        (*at[:axis], BitIndex(index.constant - low + n, index.parts), *at[axis + 1 :])
        for n in range(1 << bits)
    ]
    return Group(tuple(places), low, element)


def load_group(
    state: State, group: Group, pointer: Value, mask: Value | None, others: list[Value], cache: str
) -> list[Value]:
    """What is at an address and behind it, or other values, zeros without any, where it may not be
    read."""
    state.touch(DEVICE)
    b, kind = state.b, _kind(group.words)
    address = b.recast(pointer, memory.pointer_beside(pointer, kind))
    if mask is None:
        return _elements(b, group, _words(b, group, b.load(address, False, cache)))
    if others and any(constant(other) is None for other in others):
        variables = [b.variable("loaded", group.element) for _ in group.places]
        for var, other in zip(variables, others, strict=True):
            b.write(var, other)
        with b.if_(mask):
            read = _elements(b, group, _words(b, group, b.load(address, False, cache)))
            for var, value in zip(variables, read, strict=True):
                b.write(var, value)
        return [b.read(var) for var in variables]
    variables = [b.variable("loaded", u32) for _ in range(group.words)]
    before = packed(b, group, others) if others else [b.const(0, u32)] * group.words
    for var, word in zip(variables, before, strict=True):
        b.write(var, word)
    with b.if_(mask):
        words = _words(b, group, b.load(address, False, cache))
        for var, word in zip(variables, words, strict=True):
            b.write(var, word)
    return _elements(b, group, [b.read(var) for var in variables])


def store_group(
    state: State, group: Group, pointer: Value, mask: Value | None, values: list[Value], cache: str
) -> None:
    """Store values at an address and behind it."""
    store_words(state, pointer, mask, packed(state.b, group, values), cache)


def store_words(
    state: State, pointer: Value, mask: Value | None, words: Sequence[Value], cache: str
) -> None:
    """Store words at an address and behind it."""
    state.touch(DEVICE, True)
    b, kind = state.b, _kind(len(words))
    whole = words[0] if len(words) == 1 else b.value(memory.Pack(tuple(words), kind))  # type: ignore[arg-type]  # a vector
    with state.where(mask):
        b.store(b.recast(pointer, memory.pointer_beside(pointer, kind)), whole, cache=cache)


def _kind(words: int) -> Type:
    return u32 if words == 1 else vector(u32, words)


def _words(b: Builder, group: Group, whole: Value) -> list[Value]:
    if group.words == 1:
        return [whole]
    return [b.value(memory.Part(whole, n)) for n in range(group.words)]


def _elements(b: Builder, group: Group, words: Sequence[Value]) -> list[Value]:
    """The elements of words, the first one lowest."""
    size, plain = group.element.size, _WORDS[group.element.size]
    bits: list[Value] = []
    if size == 8:
        for low, high in zip(words[::2], words[1::2], strict=True):
            upper = b.binary(arith.Shl, b.cast(high, u64), b.const(32, u64))
            bits.append(b.or_(b.cast(low, u64), upper))
    else:
        for word in words:
            for place in range(0, 32, 8 * size):
                moved = b.binary(arith.Shr, word, b.const(place, u32)) if place else word
                bits.append(b.cast(moved, plain) if size < 4 else moved)
    return [b.bitcast(each, group.element) for each in bits]


def packed(b: Builder, group: Group, values: Sequence[Value]) -> list[Value]:
    """Words of elements."""
    size, plain = group.element.size, _WORDS[group.element.size]
    if size == 2 and group.element.is_float:
        return [pair(b, *each) for each in zip(values[::2], values[1::2], strict=True)]
    bits = [b.bitcast(value, plain) for value in values]
    if size == 8:
        words: list[Value] = []
        for each in bits:
            upper = b.binary(arith.Shr, each, b.const(32, u64))
            words += [b.cast(each, u32), b.cast(upper, u32)]
        return words
    each, words = 4 // size, []
    for first in range(0, len(bits), each):
        total = b.cast(bits[first], u32)
        for n in range(1, each):
            wide = b.cast(bits[first + n], u32)
            total = b.or_(total, b.binary(arith.Shl, wide, b.const(8 * size * n, u32)))
        words.append(total)
    return words
