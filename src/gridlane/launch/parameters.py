"""The layout of a parameter block: the one description of how arguments become bytes.

It is derived from an artifact's slots. The packers (packing.py), the native launcher's matchers
(matchers.py), the test of compact launches (compact.py), and the packed bytes of a device array
(``array_layout``) derive from it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple

from gridlane.core.artifact import ParamSlot
from gridlane.core.dtypes import DType, Kind, bf16
from gridlane.core.parameters import array_members, lay_out

_CODES = {
    (Kind.BOOL, 1): "?",
    **{(Kind.SIGNED, size): code for size, code in ((1, "b"), (2, "h"), (4, "i"), (8, "q"))},
    **{(Kind.UNSIGNED, size): code for size, code in ((1, "B"), (2, "H"), (4, "I"), (8, "Q"))},
    **{(Kind.FLOAT, size): code for size, code in ((2, "e"), (4, "f"), (8, "d"))},
}


def code_of(dtype: DType | None) -> str:
    """The code of ``struct`` for a scalar, or for a pointer. bfloat16 is packed by its bits.

    >>> from gridlane.core.dtypes import bf16, f32
    >>> code_of(f32), code_of(bf16), code_of(None)
    ('f', 'H', 'Q')
    """
    if dtype is None:
        return "Q"
    return "H" if dtype is bf16 else _CODES[dtype.kind, dtype.size]


def struct_of(codes_by_offset: Sequence[tuple[int, str]], size: int) -> str:
    """The ``struct`` format with a code at each of some offsets, in their order.

    >>> struct_of([(4, "i"), (8, "2s")], 16)
    '<4xi2s6x'

    Raises:
        ValueError: they overlap, or exceed the size.
    """
    codes, end = ["<"], 0
    for offset, code in codes_by_offset:
        codes.append(f"{_gap(end, offset)}{code}")
        end = offset + struct.calcsize(f"<{code}")
    return "".join([*codes, _gap(end, size)])


def _gap(end: int, offset: int) -> str:
    if offset < end:
        raise ValueError(f"a parameter ends at byte {end}, behind byte {offset}")
    return f"{offset - end}x" if offset > end else ""


class Piece(NamedTuple):
    """A number, an array or a record: an argument, or an item of a tuple argument.

    Attributes:
        argument: the index of the argument.
        items: the indices that lead to it through tuples.
        slots: its scalars.
    """

    argument: int
    items: tuple[int, ...]
    slots: tuple[ParamSlot, ...]

    @property
    def offset(self) -> int:
        """The offset of its first byte."""
        return self.slots[0].offset

    def tail(self, slot: ParamSlot) -> tuple[str | int, ...]:
        """The path of a slot from this piece."""
        return slot.path[len(self.items) :]

    @property
    def array(self) -> ArrayLayout | None:
        """Its layout, if that is the layout of a device array; a record is an array of no axes."""
        layout = array_layout((len(self.slots) - 1) // 2)
        record = [(None, ("record",))]
        members = [(slot.dtype, self.tail(slot)) for slot in self.slots]
        if members != record and members != [(slot.dtype, slot.path) for slot in layout.slots]:
            return None
        same = all(
            mine.offset == self.offset + own.offset for mine, own in zip(self.slots, layout.slots)
        )
        return layout if same else None


class Parameters:
    """The layout of a kernel's arguments in its parameter block.

    Attributes:
        slots, size: the block; see ``core.artifact.Artifact``. Tensor maps, which drivers encode,
            are left out.
        pieces: its numbers, arrays and records.
    """

    def __init__(self, slots: tuple[ParamSlot, ...], size: int) -> None:
        self.slots, self.size = tuple([each for each in slots if not each.by_value]), size
        slots_by_item: dict[tuple[int, tuple[int, ...]], list[ParamSlot]] = {}
        for slot in self.slots:
            slots_by_item.setdefault((slot.argument, _items(slot)), []).append(slot)
        self.pieces = tuple([Piece(*key, tuple(own)) for key, own in slots_by_item.items()])

    @cached_property
    def flat(self) -> Parameters:
        """The same block for callers that give one value per slot."""
        slots = [
            ParamSlot(slot.name, slot.offset, slot.dtype, number)
            for number, slot in enumerate(self.slots)
        ]
        return Parameters(tuple(slots), self.size)

    def of(self, argument: int) -> list[Piece]:
        """The pieces of an argument."""
        return [piece for piece in self.pieces if piece.argument == argument]


def _items(slot: ParamSlot) -> tuple[int, ...]:
    """The indices that lead through tuples to a scalar or array."""
    items: list[int] = []
    for step in slot.path:
        if not isinstance(step, int):
            break
        items.append(step)
    return tuple(items)


class ArrayLayout(Parameters):
    """The packed form of an array of so many axes.

    Attributes:
        pack: packs an address, the lengths and the strides in bytes.
        places: the offsets of the address, the lengths and the strides.
    """

    def __init__(self, ndim: int) -> None:
        super().__init__(*lay_out(("", dtype, 0, path) for dtype, path in array_members(ndim)))
        begin = {slot.path[0]: slot.offset for slot in reversed(self.slots)}
        self.places = begin["data"], begin.get("shape", 0), begin.get("strides", 0)
        codes_by_offset = [(slot.offset, code_of(slot.dtype)) for slot in self.slots]
        self.pack = struct.Struct(struct_of(codes_by_offset, self.size)).pack


@cache
def array_layout(ndim: int) -> ArrayLayout:
    """The layout of arrays of so many axes."""
    return ArrayLayout(ndim)


class Packed:
    """The base of objects that hold their parameters as packed bytes: device arrays.

    Attributes:
        address: of the first element.
        ndim: axes.
    """

    __slots__ = ()
    address: int
    ndim: int
    __gridlane_packed__: bytes
    """The packed bytes, in the layout of ``array_layout``."""

    __gridlane_launch__: tuple[Any, bytes]
    """(a key of the array's type, and of its size if that selects the code; the packed bytes): the
    native launcher's view of the array."""
