"""Factors of products that are floats of 8 bits, which warpgroups multiply as they are.

Programs have them as bytes that functions convert to f16. What such functions compute is found by
their results for all 256 bytes, so it does not matter how they do it, or what they are called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gridlane.core.dtypes import DType, f32, u8
from gridlane.core.frozen import frozen
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, control, tiles
from gridlane.ir.ops.products import Factor
from gridlane.ir.values import Function, Module, Value
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
        numbers = _results(function, numbers) if numbers is not None else None
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


# ---- what functions compute


def _shifted(left: bool) -> Callable[[Array, Array], Array]:
    def shift(value: Array, amount: Array) -> Array:
        bits = 8 * value.dtype.itemsize
        moved = np.left_shift if left else np.right_shift
        inside = np.minimum(amount, bits - 1).astype(value.dtype)
        return np.where(amount < bits, moved(value, inside), value.dtype.type(0))

    return shift


_RULES: dict[type[Op], Callable[..., Any]] = {
    arith.Add: np.add,
    arith.Sub: np.subtract,
    arith.Mul: np.multiply,
    arith.And: np.bitwise_and,
    arith.Or: np.bitwise_or,
    arith.Xor: np.bitwise_xor,
    arith.Shl: _shifted(True),
    arith.Shr: _shifted(False),
    arith.Eq: np.equal,
    arith.Ne: np.not_equal,
    arith.Lt: np.less,
    arith.Le: np.less_equal,
    arith.Gt: np.greater,
    arith.Ge: np.greater_equal,
    arith.Select: np.where,
    arith.Neg: np.negative,
}
_OF_WHOLE: dict[type[Op], Callable[..., Any]] = {arith.Min: np.minimum, arith.Max: np.maximum}
"""Ops that differ from numpy's of floats."""


def _results(function: Function, numbers: Array) -> Array | None:
    """What a function of one number returns for several; None where it is not known."""
    values: dict[Value, Array] = {}
    if len(function.params) != 1 or function.variables:
        return None
    param = function.params[0].value
    if not isinstance(param.type, DType) or param.type.numpy != numbers.dtype:
        return None
    values[param] = numbers
    with np.errstate(all="ignore"):
        for op in function.body.ops:
            if isinstance(op, control.Return):
                return values[op.values[0]] if len(op.values) == 1 else None
            made = _result(op, [values[each] for each in op.operands()], len(numbers))
            if made is None:
                return None
            values[op.results[0]] = made
    return None


def _result(op: Op, operands: list[Array], count: int) -> Array | None:
    type_ = op.results[0].type if op.results else None
    if not isinstance(type_, DType):
        return None
    if isinstance(op, arith.Const):
        return np.full(count, op.value, type_.numpy)
    if isinstance(op, arith.Bitcast):
        return operands[0].view(type_.numpy)
    whole = all(each.dtype.kind in "ui" for each in operands)
    if isinstance(op, arith.Cast):
        widens = whole or operands[0].dtype.kind == "f" == type_.numpy.kind
        return operands[0].astype(type_.numpy) if widens else None
    rule = _RULES.get(type(op)) or (_OF_WHOLE.get(type(op)) if whole else None)
    if rule is None or (isinstance(op, arith.Shr) and operands[0].dtype.kind != "u"):
        return None
    return np.asarray(rule(*operands)).astype(type_.numpy)
