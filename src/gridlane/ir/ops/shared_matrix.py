"""Matrices in shared memory as a warpgroup's product reads them: by a pointer and a layout.

The layout is the u64 of PTX ISA 9.0, "Matrix Descriptor", without its start address, which the
pointer has: bits 16 to 29 hold the leading, bits 32 to 45 the stride byte offset, both divided by
16; bits 49 to 51 the base offset; bits 62 and 63 the swizzle: 0 none, 1 of 128 bytes, 2 of 64, 3 of
32.

A matrix is *lines* (rows of A, columns of B) of *items* along the product's depth. Along the depth,
16 bytes are consecutive: lines lie ``pitch`` bytes apart, which is 16 without a swizzle, else its
size. Eight lines are a group; groups lie the stride offset apart, the next 16 bytes of a line the
leading offset without a swizzle, else 16 bytes. Across the lines (16-bit items only), items of
``pitch`` bytes of lines are consecutive, and eight of such rows follow along the depth; the next
lines lie the leading offset apart, the next eight items the stride offset; without a swizzle these
two change places. Of each address, bits 4 and up are then xored with its bits 7 and up, less the
base offset: one bit for 32 bytes, two for 64, three for 128.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gridlane.core.dtypes import i32, u8, u16, u32, u64
from gridlane.core.frozen import frozen
from gridlane.ir.ops import arith, memory
from gridlane.ir.ops.memory import element_of, space_of
from gridlane.ir.types import Space, pointer
from gridlane.ir.values import Op, Value

if TYPE_CHECKING:
    from gridlane.ir.builder import Builder

LEADING, STRIDE, BASE, SWIZZLE = 16, 32, 49, 62
"""The first bits of the fields of a layout."""

OFFSET_BITS = 14
"""Bits of an offset, in units of 16 bytes."""

ALIGN = 1024
"""The alignment of memory in which the patterns of all swizzles begin where offsets do."""


def layout_of(leading: int, stride: int, swizzle: int, base: int = 0) -> int:
    """The layout of two byte offsets, and of a swizzle of 0, 32, 64 or 128 bytes.

    >>> hex(layout_of(16, 1024, 128))
    '0x4000004000010000'
    """
    mode = {0: 0, 128: 1, 64: 2, 32: 3}[swizzle]
    return leading >> 4 << LEADING | stride >> 4 << STRIDE | base << BASE | mode << SWIZZLE


def check_matrix(op: Op, start: Value, layout: Value) -> None:
    """Verify the operands of a matrix."""
    is_shared = element_of(op, start) is u8 and space_of(start) is Space.SHARED
    op.require(is_shared, f"{start.type}: a matrix begins at a pointer to u8 in shared memory")
    op.require(layout.type is u64, "the layout of a matrix is a u64")


@frozen
class SharedMatrix:
    """The fields of a layout as values, and the start of a matrix.

    Attributes:
        address: the low bits of the start's address.
        pitch: bytes from one line, or row of lines, to the next; ``shift`` is its logarithm.
        outer: for items across the lines: bytes to the next ``pitch`` bytes of lines.
        group: bytes from eight lines, or items across the lines, to the next.
        chunk: bytes from 16 bytes of a line to the next.
        pattern: the bits of an address's row that are xored.
    """

    start: Value
    address: Value
    pitch: Value
    shift: Value
    outer: Value
    group: Value
    chunk: Value
    base: Value
    pattern: Value

    @staticmethod
    def read(b: Builder, start: Value, layout: Value, across: bool) -> SharedMatrix:
        """Decode a layout; ``across``: consecutive items are those of several lines."""

        def part(place: int, bits: int) -> Value:
            field = b.cast(b.binary(arith.Shr, layout, b.const(place, u32)), u32)
            return b.and_(field, b.const((1 << bits) - 1, u32))

        def offset(place: int) -> Value:
            return b.binary(arith.Shl, part(place, OFFSET_BITS), b.const(4, u32))

        leading, stride, mode = offset(LEADING), offset(STRIDE), part(SWIZZLE, 2)
        plain = b.eq(mode, b.const(0, u32))
        sixteen = b.const(16, u32)
        shift = b.select(plain, b.const(4, u32), b.sub(b.const(8, u32), mode))
        pitch = b.binary(arith.Shl, b.const(1, u32), shift)
        pattern = b.sub(b.binary(arith.Shr, pitch, b.const(4, u32)), b.const(1, u32))
        group = b.select(plain, leading, stride) if across else stride
        return SharedMatrix(
            start=start,
            address=b.cast(b.value(memory.Address(start)), u32),
            pitch=pitch,
            shift=shift,
            outer=b.select(plain, stride, leading),
            group=group,
            chunk=b.select(plain, leading, sixteen),
            base=part(BASE, 3),
            pattern=pattern,
        )

    def _pointer(self, b: Builder, linear: Value) -> Value:
        """The place of a byte whose distance from the start is that before the swizzle."""
        plain = b.add(self.address, linear)
        row = b.sub(b.binary(arith.Shr, plain, b.const(7, u32)), self.base)
        moved = b.binary(arith.Shl, b.and_(row, self.pattern), b.const(4, u32))
        return b.offset(
            self.start, b.cast(b.sub(b.binary(arith.Xor, plain, moved), self.address), i32)
        )

    def word(self, b: Builder, group: Value, line: Value, place: Value, chunk: int) -> Value:
        """Four bytes of a line whose items are consecutive.

        Args:
            group, line: the line, as a number of eight lines and one in them.
            place: the byte in a chunk of 16 bytes.
        """
        linear = b.add(b.mul(line, self.pitch), b.mul(group, self.group))
        linear = b.add(linear, b.add(b.mul(b.const(chunk, u32), self.chunk), place))
        return b.load(b.recast(self._pointer(b, linear), pointer(u32, Space.SHARED)))

    def pair(self, b: Builder, group: Value, line: Value, item: Value, eight: int) -> Value:
        """Two items of 16 bits that follow each other in a line, across which items are
        consecutive.

        Args:
            item: the first one's number among eight; ``eight``: the number of these.
        """
        sixteen = b.mul(group, b.const(16, u32))
        inner = b.and_(sixteen, b.sub(self.pitch, b.const(1, u32)))
        outer = b.mul(b.binary(arith.Shr, sixteen, self.shift), self.outer)
        linear = b.add(b.add(inner, outer), b.mul(line, b.const(2, u32)))
        linear = b.add(linear, b.mul(b.const(eight, u32), self.group))
        halves: list[Value] = []
        for odd in (0, 1):
            row = b.mul(b.add(item, b.const(odd, u32)), self.pitch)
            place = b.recast(self._pointer(b, b.add(linear, row)), pointer(u16, Space.SHARED))
            halves.append(b.cast(b.load(place), u32))
        return b.or_(halves[0], b.binary(arith.Shl, halves[1], b.const(16, u32)))
