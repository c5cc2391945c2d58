"""The pieces of a parameter: scalars of its alignment."""

from __future__ import annotations

from gridlane.core.dtypes import DType
from gridlane.frontends.ptx.declarations import Declared
from gridlane.frontends.ptx.types import TYPES, unsigned

Piece = tuple[int, DType]
"""The offset and the type of a piece."""


def pieces(param: Declared) -> list[Piece]:
    """The pieces of a parameter, in order.

    >>> from gridlane.frontends.ptx.module import parse_ptx
    >>> text = ".version 8.0 .target sm_80\\n.entry k(.param .align 4 .b8 p[10]) { ret; }"
    >>> pieces(parse_ptx(text).functions["k"].params[0])
    [(0, u32), (4, u32), (8, u16)]
    """
    if not param.is_array:
        return [(0, TYPES[param.type])]
    new_pieces: list[Piece] = []
    offset, step = 0, min(4 if param.is_open else 8, param.align)
    while offset < param.size:
        while offset + step > param.size or offset % step:
            step //= 2
        new_pieces.append((offset, unsigned(8 * step)))
        offset += step
    return new_pieces
