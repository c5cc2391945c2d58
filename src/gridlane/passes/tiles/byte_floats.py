"""Factors of products that are floats of 8 bits, which warpgroups multiply as they are.

Programs have them as bytes that functions convert to f16. What such functions compute is found by
their results for all 256 bytes, so it does not matter how they do it, or what they are called.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.core.dtypes import f32, u8
from gridlane.core.frozen import frozen
from gridlane.ir.op import Op
from gridlane.ir.ops import tiles
from gridlane.ir.ops.products import Factor
from gridlane.ir.values import Function, Module, Value
from gridlane.passes.tiles.evaluation import results
from gridlane.passes.tiles.machine import TileMachine

Array = np.ndarray[Any, np.dtype[Any]]


@frozen
class ByteFloats:
    """A product whose factors are bytes in place of what they were.

    Attributes:
        left, right: the floats that the bytes are.
        lhs, rhs: the factors as they were.
    """

    left: Factor
    right: Factor
    lhs: Value
    rhs: Value

    @property
    def name(self) -> str:
        """What the factors are."""
        return " by ".join(dict.fromkeys([self.left.value, self.right.value]))

    def undo(self, op: tiles.TileDot) -> None:
        """Have the old factors again."""
        op.lhs, op.rhs = self.lhs, self.rhs


def in_bytes(module: Module, machine: TileMachine, ops: list[Op]) -> dict[Op, ByteFloats]:
    """Make factors of bytes, on machines with warpgroups, where products may be loose."""
    result = dict[Op, ByteFloats]()
    for op in ops if machine.groups else ():
        if not isinstance(op, tiles.TileDot) or not op.loose:
            continue
        if tiles.tile_of(op, op.acc).element is not f32 or len(tiles.tile_of(op, op.acc).shape) > 2:
            continue
        left, right = _bytes_of(module, op.lhs), _bytes_of(module, op.rhs)
        if left is not None and right is not None:
            result[op] = ByteFloats(left[1], right[1], op.lhs, op.rhs)
            op.lhs, op.rhs = left[0], right[0]
    return result


def _bytes_of(module: Module, value: Value) -> tuple[Value, Factor] | None:
    """The tile of bytes that a tile of f16 is computed of, and the floats that they are."""
    functions: list[Function] = []
    while isinstance(value.op, tiles.TileMap) and len(value.op.arguments) == 1:
        functions.append(module.functions[value.op.callee])
        value = value.op.arguments[0]
    if not functions or getattr(value.type, "element", None) is not u8:
        return None
    numbers: Array | None = np.arange(256, dtype=np.uint8)
    for function in reversed(functions):
        numbers = results(function, numbers) if numbers is not None else None
    if numbers is None or numbers.dtype != np.float16:
        return None
    for factor, wanted in _DECODED.items():
        same = (numbers.view(np.uint16) == wanted.view(np.uint16)) | np.isnan(wanted)
        if same.all() and (np.isnan(numbers) == np.isnan(wanted)).all():
            return value, factor
    return None


def _decoded(mantissa: int, bias: int, has_infinity: bool) -> Array:
    """The numbers of all bytes with one sign and so many bits of a mantissa (P. Micikevicius et
    al., "FP8 Formats for Deep Learning", 2022)."""
    byte = np.arange(128)
    exponent, rest = byte >> mantissa, byte & (1 << mantissa) - 1
    scale = np.exp2(np.maximum(exponent, 1) - bias - mantissa)
    numbers = np.where(exponent > 0, rest + (1 << mantissa), rest) * scale
    if has_infinity:
        top = exponent == exponent.max()
        numbers = np.where(top, np.where(rest == 0, np.inf, np.nan), numbers)
    else:
        numbers[127] = np.nan
    return np.concatenate([numbers, -numbers]).astype(np.float16)


_DECODED = {Factor.E4M3: _decoded(3, 7, False), Factor.E5M2: _decoded(2, 15, True)}
