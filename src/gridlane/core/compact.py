"""What a launch promises to code that was made for launches like it (``Target.variant``).

numba's integers are 64 bits wide, and so are its indices. With these bounds a pass can show that
most of them fit in 32, in which GPUs count. A launch beyond them takes the code for any launch.
"""

from __future__ import annotations

from typing import NamedTuple

LIMIT = 1 << 30
"""The most threads of a grid along an axis, bytes from an array's first to its last element, and
magnitude of an integer argument of 64 bits, of a stride and of a length. Twice this fits in an i32,
so that an index may take one more step of a grid than there are elements."""

MOST_BLOCKS = 1 << 21
"""The most blocks along an axis: times the threads of a block they still fit in an i32."""

COARSE = 4
"""Blocks along x that one block does in coarse code; the grid has a multiple of so many."""

MANY_BLOCKS = 32
"""Blocks of a grid for each multiprocessor from which on there are enough for coarse code."""


class Variant(NamedTuple):
    """For which launches code is.

    Attributes:
        compact: those within ``LIMIT`` and ``MOST_BLOCKS``.
        coarse: those with a multiple of ``COARSE`` blocks along x, and many in all. The artifact
            says whether it makes use of that.
    """

    compact: bool = False
    coarse: bool = False


ANY = Variant()
