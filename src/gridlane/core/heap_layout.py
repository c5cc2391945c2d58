"""How the memory of ``malloc`` in kernels begins: frontends/ptx/forms/heap.py has its functions."""

from __future__ import annotations

PIECE = 32
"""Bytes of a piece."""

WORDS, PIECES, NEXT, HEADER = 0, 1, 2, 16
"""The word with the number of words of bits, that with the offset of the pieces in bytes, that with
the word of bits where the search begins; and how many words these and unused ones are."""


def layout(size: int) -> tuple[int, list[int]]:
    """The words of bits in a memory of so many bytes, and its first words.

    >>> layout(1 << 20)
    (1019, [1019, 4160, 0])
    """
    words = (size - 4 * HEADER - PIECE) // (32 * PIECE + 4)
    start = 4 * (HEADER + words)
    return words, [words, -(-start // PIECE) * PIECE, 0]
