"""The order in which a view is stored to another view of the same array.

numpy copies the source first where they overlap. With the same strides an order does as well, as in
memmove: by falling addresses where the target begins behind the source, else by rising ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gridlane.core.dtypes import b1, i64
from gridlane.frontends.python.conversion import strides_of
from gridlane.frontends.python.operands import ArrayView
from gridlane.frontends.python.translator import Translator
from gridlane.ir.builder import constant
from gridlane.ir.ops import arith, memory
from gridlane.ir.types import PointerType
from gridlane.ir.values import Value

Terms = list[tuple[Value, int]]
"""Offsets from an address, with the bytes of what each counts."""
_DEEPEST = 16
"""Of the ops that make two numbers which are compared."""


class Order(NamedTuple):
    """Loops over the elements of a view, the outermost first.

    Attributes:
        shape: their extents.
        backwards: whether each goes from the end.
        axes: the axis of each.
    """

    shape: tuple[Value, ...]
    backwards: tuple[Value, ...]
    axes: tuple[Value, ...]

    def indices(self, t: Translator, counted: Sequence[Value]) -> list[Value]:
        """The index along each axis, from the loops' counters."""
        b, axis_indices = t.b, list[Value]()
        for axis in range(len(counted)):
            index = counted[-1]
            for number, own in zip(counted[:-1], self.axes, strict=False):
                index = b.select(b.eq(own, b.const(axis, i64)), number, index)
            axis_indices.append(index)
        return axis_indices


def share(target: ArrayView, source: ArrayView) -> bool:
    """Whether two views are of one array, as far as can be seen."""
    return _from_start(target.pointer)[0] is _from_start(source.pointer)[0]


def order_of(t: Translator, target: ArrayView, source: ArrayView) -> Order | bool:
    """The order in which no element is written before it is read, for two views of one array.

    Returns:
        The order; True where any is one, False where none is known.
    """
    ahead, back = _from_start(target.pointer)[1], _from_start(source.pointer)[1]
    missing = target.type.ndim - source.type.ndim
    strides, own = strides_of(t, target), strides_of(t, source)
    pairs = zip(source.shape, strides[missing:], own, strict=True)
    if not all(constant(extent) == 1 or _is_same(one, two) for extent, one, two in pairs):
        return False
    if _are_same(ahead, back):
        return True  # each element comes from its own place, or from one that keeps its value
    if missing:
        return False
    return _moved(t, target, strides, t.b.lt(_bytes(t, back), _bytes(t, ahead)))


def covers(target: ArrayView, source: ArrayView) -> bool:
    """Whether a source surely has the shape of the target, so that none of its elements is
    broadcast."""
    extents = zip(source.shape, target.shape, strict=False)
    return source.type.ndim == target.type.ndim and all(_is_same(*pair) for pair in extents)


def is_repeated(target: ArrayView, source: ArrayView) -> bool:
    """Whether a source is broadcast along an axis, as far as the compiler knows."""
    own = target.shape[target.type.ndim - source.type.ndim :]
    return any(
        constant(extent) == 1 and constant(whole) != 1
        for extent, whole in zip(source.shape, own, strict=True)
    )


def falling(t: Translator, target: ArrayView) -> Order:
    """All axes from their ends: an element that others with higher indices are made of is written
    after these."""
    b, axes = t.b, range(target.type.ndim)
    backwards = tuple([b.const(True, b1) for _ in axes])
    return Order(target.shape, backwards, tuple([b.const(axis, i64) for axis in axes]))


def _moved(t: Translator, target: ArrayView, strides: Sequence[Value], behind: Value) -> Order:
    """The order for a view that is moved, which is the order of the addresses."""
    b, axes = t.b, [t.b.const(axis, i64) for axis in range(target.type.ndim)]
    if target.type.layout != "A":
        step = 1 if target.type.layout == "C" else -1
        return Order(target.shape[::step], tuple([behind for _ in axes]), tuple(axes[::step]))
    zero = b.const(0, i64)
    falls = [b.lt(stride, zero) for stride in strides]
    sizes = [b.unary(arith.Abs, stride) for stride in strides]
    turned = [b.binary(arith.Ne, behind, each) for each in falls]
    rows: list[tuple[Value, ...]] = [*zip(sizes, target.shape, turned, axes, strict=True)]
    for end in range(len(rows) - 1, 0, -1):
        for number_of_axis in range(end):
            smaller = b.lt(rows[number_of_axis][0], rows[number_of_axis + 1][0])
            pairs = [*zip(rows[number_of_axis], rows[number_of_axis + 1], strict=True)]
            rows[number_of_axis] = tuple([b.select(smaller, two, one) for one, two in pairs])
            rows[number_of_axis + 1] = tuple([b.select(smaller, one, two) for one, two in pairs])
    _, shape, backwards, order = zip(*rows, strict=True)
    return Order(shape, backwards, order)


def _from_start(address: Value) -> tuple[Value, Terms]:
    """The base pointer of an address, and the steps from it."""
    terms: Terms = []
    while isinstance(address.op, memory.Offset | memory.Recast):
        kind = address.op.pointer.type
        if isinstance(address.op, memory.Offset):
            assert isinstance(kind, PointerType)
            if not _is_zero(address.op.index):
                terms.append((address.op.index, kind.element.size))
        address = address.op.pointer
    return address, terms


def _is_zero(number: Value) -> bool:
    """Whether a number is surely 0, as the way to the first item along an axis."""
    op = number.op
    if isinstance(op, arith.Mul):
        return _is_zero(op.lhs) or _is_zero(op.rhs)
    if isinstance(op, arith.Add):
        return _is_zero(op.lhs) and _is_zero(op.rhs)
    return constant(number) == 0


def _are_same(terms: Terms, others: Terms) -> bool:
    return len(terms) == len(others) and all(
        size == own and _is_same(one, two)
        for (one, size), (two, own) in zip(terms, others, strict=True)
    )


def _is_same(one: Value, two: Value, depth: int = _DEEPEST) -> bool:
    """Whether two numbers are surely equal: they are one, or made in the same way of the same."""
    if one is two:
        return True
    a, b = one.op, two.op
    if a is None or b is None or type(a) is not type(b) or not a.pure or not depth:
        return False
    if a.VARIADIC_FIELDS or a.REGION_FIELDS or a.VARIABLE_FIELDS or one.type != two.type:
        return False
    return all(getattr(a, name) == getattr(b, name) for name in a.PLAIN_FIELDS) and all(
        _is_same(getattr(a, name), getattr(b, name), depth - 1) for name in a.OPERAND_FIELDS
    )


def _bytes(t: Translator, terms: Terms) -> Value:
    b = t.b
    total = b.const(0, i64)
    for index, size in terms:
        total = b.add(total, b.mul(b.cast(index, i64), b.const(size, i64)))
    return total
