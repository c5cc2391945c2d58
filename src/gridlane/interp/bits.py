"""The dependence of the bits of an op's result on the bits of its operands: the rules of
``poison.py``.

Bits of a value are an unsigned integer per lane, or a bool of a b1, in the shape of the value. A
rule is exact, or reports too many bits, never too few.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from gridlane.core.dtypes import DType, b1
from gridlane.interp import arith as meaning
from gridlane.interp import integer as meaning_of_integers
from gridlane.interp.values import Array, Lanes, filled, merged
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, integer, memory
from gridlane.ir.types import Type

Bits: TypeAlias = Lanes
Rule: TypeAlias = "Callable[[Any, Sequence[Any], Sequence[Any]], Bits | None]"
"""(op, operands, bits of the operands) to the bits of the one result; None if it has no rule for
these types."""


def raw(values: Lanes) -> Bits:
    """The bits of values as unsigned integers."""
    if isinstance(values, tuple):
        return tuple([raw(part) for part in values])
    return values if values.dtype == np.bool_ else values.view(f"u{values.dtype.itemsize}")


def blank(type_: Type, lanes: int) -> Bits:
    """No bits of a value, in every lane."""
    return raw(filled(type_, lanes))


def marked(type_: Type, lanes: Array) -> Bits:
    """All bits of a value in some lanes."""
    none = blank(type_, len(lanes))
    return merged(lanes, _inverted(none), none)


def anywhere(bits: Bits) -> Array:
    """The lanes in which any bit is set."""
    if isinstance(bits, tuple):
        return np.logical_or.reduce([anywhere(part) for part in bits])
    return bits != 0


def _inverted(bits: Bits) -> Bits:
    return tuple([_inverted(part) for part in bits]) if isinstance(bits, tuple) else ~bits


def _is_integer(type_: Type) -> bool:
    return isinstance(type_, DType) and type_.is_integer


# --- logic: a known 0 decides an and, a known 1 an or


def _and(op: Op, values: Sequence[Array], bits: Sequence[Array]) -> Bits:
    a, b = (raw(value) for value in values)
    p, q = bits
    return (p | q) & (a | p) & (b | q)  # type: ignore[operator]  # arrays


def _or(op: Op, values: Sequence[Array], bits: Sequence[Array]) -> Bits:
    a, b = (raw(value) for value in values)
    p, q = bits
    return (p | q) & (~a | p) & (~b | q)  # type: ignore[operator]  # arrays


def _both(op: Op, values: Sequence[Array], bits: Sequence[Array]) -> Bits:
    return bits[0] | bits[1]


def _first(op: Op, values: Sequence[Lanes], bits: Sequence[Bits]) -> Bits:
    return bits[0]


# --- arithmetic: a bit of a sum or product follows from that bit of the operands and lower ones


def _from_lowest(op: Op, values: Sequence[Array], bits: Sequence[Array]) -> Bits | None:
    if not _is_integer(op.results[0].type):
        return None
    any_bit = np.bitwise_or.reduce(bits)
    return any_bit | (0 - any_bit)


# --- bits that move: they go where the op takes those of the value, unless a number is poison


def _moved(function: Callable[..., Lanes], count: int, with_op: bool = False) -> Rule:
    """The rule of an op that moves the bits of its first ``count`` operands."""

    def rule(op: Op, values: Sequence[Array], bits: Sequence[Array]) -> Bits | None:
        given = [each.view(value.dtype) for each, value in zip(bits[:count], values)]
        result = raw(function(*((op,) if with_op else ()), *given, *values[count:]))
        if len(bits) == count:
            return result
        unknown = np.logical_or.reduce([anywhere(each) for each in bits[count:]])
        return merged(unknown, marked(op.results[0].type, unknown), result)

    return rule


def _cast(op: arith.Cast, values: Sequence[Array], bits: Sequence[Array]) -> Bits | None:
    """Of integers; a sign is extended to each bit above."""
    if op.type is b1 or not _is_integer(op.type) or values[0].dtype.kind not in "iub":
        return None
    return raw(bits[0].view(values[0].dtype).astype(op.type.numpy))


def _bitcast(op: arith.Bitcast, values: Sequence[Lanes], bits: Sequence[Bits]) -> Bits:
    return raw(meaning.bitcast(op, bits[0]))


def _select(op: Op, values: Sequence[Lanes], bits: Sequence[Bits]) -> Bits:
    condition, unknown = values[0], bits[0]
    assert isinstance(condition, np.ndarray) and isinstance(unknown, np.ndarray)
    chosen = merged(condition, bits[1], bits[2])
    return merged(unknown, marked(op.results[0].type, unknown), chosen)


def _pack(op: Op, values: Sequence[Lanes], bits: Sequence[Bits]) -> Bits:
    return tuple(bits)


def _part(op: memory.Part, values: Sequence[Lanes], bits: Sequence[Bits]) -> Bits:
    return bits[0][op.index]


_INTEGERS = meaning_of_integers.PLAIN

RULES: dict[type[Op], Rule] = {
    arith.And: _and,
    arith.Or: _or,
    arith.Xor: _both,
    arith.Not: _first,
    arith.Add: _from_lowest,
    arith.Sub: _from_lowest,
    arith.Mul: _from_lowest,
    arith.Neg: _from_lowest,
    arith.Shl: _moved(_INTEGERS[arith.Shl], 1),
    arith.Shr: _moved(_INTEGERS[arith.Shr], 1),
    arith.Brev: _moved(_INTEGERS[arith.Brev], 1),
    integer.Bfe: _moved(_INTEGERS[integer.Bfe], 1),
    integer.Bfi: _moved(_INTEGERS[integer.Bfi], 2),
    integer.Prmt: _moved(meaning_of_integers.WITH_OP[integer.Prmt], 2, with_op=True),
    arith.Cast: _cast,
    arith.Bitcast: _bitcast,
    arith.Select: _select,
    memory.Pack: _pack,
    memory.Part: _part,
    memory.Recast: _first,
    memory.Address: _first,
    memory.FromAddress: _first,
    memory.FieldPointer: _first,
}
"""The rules of ops. Any bit of an operand of another op makes all bits of its results depend."""
