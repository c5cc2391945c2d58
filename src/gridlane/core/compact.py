"""The bounds of a launch that may run code specialised by them (``Target.variant``).

numba's integers are 64 bits wide, and so are its indices. With these bounds a pass can prove that
most of them fit in 32 bits, the native width of GPUs. A launch beyond them runs the general code.
"""

from __future__ import annotations

from typing import NamedTuple

LIMIT = 1 << 30
"""The maximum of a grid's threads along an axis, of the bytes from an array's first to its last
element, and of the magnitude of a 64-bit integer argument, a stride and a length. Twice this fits
in an i32, so that an index may exceed the number of elements by one step of a grid."""

MOST_BLOCKS = 1 << 21
"""The maximum of blocks along an axis: times the threads of a block they still fit in an i32."""

COARSE = 4
"""Blocks along x that one block runs in coarse code; the grid has a multiple of this."""

MANY_BLOCKS = 32
"""The minimum of a grid's blocks per multiprocessor for coarse code."""


class Variant(NamedTuple):
    """The launches that code is specialised for.

    Attributes:
        compact: those within ``LIMIT`` and ``MOST_BLOCKS``.
        coarse: those with a multiple of ``COARSE`` blocks along x, and many in all. The artifact
            says whether its code is coarse.
        buffers: those whose pointers are in buffers with these places, as
            ``shader_abi.buffer_places`` defines; (): all in the first one, or the device has
            pointers of 64 bits.
    """

    compact: bool = False
    coarse: bool = False
    buffers: tuple[int, ...] = ()


ANY = Variant()
