"""What is known of the elements of tiles along each axis: which are neighbours, which are equal,
and what divides them. Vector accesses and asynchronous copies need it of addresses and masks.

All numbers are powers of two. Addresses count in elements. Groups along an axis start at multiples
of their size; those of tiles of more than one axis are alike for all positions of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gridlane.core.dtypes import DType
from gridlane.core.frozen import frozen
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, control, memory, tiles
from gridlane.ir.types import PointerType, TileType
from gridlane.ir.values import Function, Module, Value, Var

MOST = 1 << 12
"""A multiple of all that matters."""


@frozen
class Axis:
    """Facts along one axis.

    Attributes:
        run: elements of a group that grow by one.
        divisor: of the first element of each such group.
        equal: elements of a group that are equal.
    """

    run: int = 1
    divisor: int = 1
    equal: int = 1


@frozen
class Facts:
    """Facts of a tile, or of a scalar, which has no axes.

    Attributes:
        divisor: of all elements.
        is_one: all elements are 1.
    """

    divisor: int = 1
    axes: tuple[Axis, ...] = ()
    is_one: bool = False


def _power(number: int) -> int:
    """The largest power of two that divides a number, up to ``MOST``."""
    return min(number & -number, MOST) if number else MOST


def _unknown(shape: Sequence[int]) -> Facts:
    return Facts(1, tuple([Axis() for _ in shape]))


def _shape_of(value: Value) -> tuple[int, ...]:
    return value.type.shape if isinstance(value.type, TileType) else ()


@dataclass(slots=True)
class Contiguity:
    """The facts of the values of a kernel whose calls are inlined."""

    module: Module
    function: Function
    _facts: dict[Value, Facts] = field(default_factory=dict[Value, Facts])
    _divisors: dict[Var, int] = field(default_factory=dict[Var, int])
    _writes: dict[Var, list[Value]] = field(default_factory=dict[Var, list[Value]])
    _params: dict[Value, int] = field(default_factory=dict[Value, int])

    def __post_init__(self) -> None:
        for op in self.function.body.walk():
            if isinstance(op, memory.WriteVar) and not isinstance(op.var.type, TileType):
                self._writes.setdefault(op.var, []).append(op.value)
        for param in self.function.params:
            type_ = param.value.type
            if isinstance(type_, PointerType):
                self._params[param.value] = _power(max(1, param.align // type_.element.size))
            else:
                self._params[param.value] = _power(max(1, param.align))
        self._settle()

    def _settle(self) -> None:
        """The divisors of scalar variables: those of all that is written to them, the largest that
        agree."""
        self._divisors = dict.fromkeys(self._writes, MOST)
        changed = True
        while changed:
            changed = False
            self._facts.clear()
            for var, values in self._writes.items():
                divisor = min([self.of(value).divisor for value in values])
                if divisor < self._divisors[var]:
                    self._divisors[var], changed = divisor, True

    def of(self, value: Value) -> Facts:
        """The facts of a value."""
        known = self._facts.get(value)
        if known is None:
            known = self._facts[value] = self._found(value)
        return known

    def _found(self, value: Value) -> Facts:
        shape, op = _shape_of(value), value.op
        if op is None:
            return Facts(self._params.get(value, 1))
        if isinstance(op, memory.ReadVar):
            return _unknown(shape) if shape else Facts(self._divisors.get(op.var, 1))
        if isinstance(op, tiles.TileIota):
            divisor = _power(op.start)
            return Facts(1, (Axis(_power(shape[0]), divisor),))
        if isinstance(op, tiles.TileSplat):
            return _with_axes(self.of(op.value), len(shape), shape)
        if isinstance(op, tiles.TileBroadcast):
            return self._broadcast(op)
        if isinstance(op, tiles.TileReshape):
            return self._reshape(op)
        if isinstance(op, tiles.TileTranspose):
            inner = self.of(op.source)
            return Facts(inner.divisor, tuple([inner.axes[axis] for axis in op.order]))
        if isinstance(op, tiles.TileMap):
            return self._map(op, value)
        if shape:
            return _unknown(shape)
        return self._scalar(op, [self.of(each) for each in op.operands()])

    def _broadcast(self, op: tiles.TileBroadcast) -> Facts:
        inner, old, new = self.of(op.source), _shape_of(op.source), op.type.shape
        axes = [
            axis if before == after else Axis(1, inner.divisor, _power(after))
            for axis, before, after in zip(inner.axes, old, new, strict=True)
        ]
        return Facts(inner.divisor, tuple(axes), inner.is_one)

    def _reshape(self, op: tiles.TileReshape) -> Facts:
        """Axes of one element come and go; of other changes of shape the last axis is known, where
        lines become longer or shorter by a whole number."""
        inner, old, new = self.of(op.source), _shape_of(op.source), op.type.shape
        kept = [axis for axis, extent in zip(inner.axes, old, strict=True) if extent != 1]
        if [e for e in old if e != 1] != [e for e in new if e != 1]:
            return Facts(inner.divisor, (*_unknown(new[:-1]).axes, _of_lines(inner, old, new)))
        rest = iter(kept)
        axes = [next(rest) if extent != 1 else Axis(1, inner.divisor, 1) for extent in new]
        return Facts(inner.divisor, tuple(axes), inner.is_one)

    def _map(self, op: tiles.TileMap, value: Value) -> Facts:
        function, rank = self.module.functions[op.callee], len(_shape_of(value))
        known: dict[Value, Facts] = {}
        for param, argument in zip(function.params, op.arguments, strict=True):
            known[param.value] = _with_axes(self.of(argument), rank, _shape_of(value))
        for inner in function.body.ops:
            if isinstance(inner, control.Return):
                return known[inner.values[op.results.index(value)]]
            if inner.REGION_FIELDS or not inner.pure:
                return _unknown(_shape_of(value))
            operands = [known[each] for each in inner.operands()]
            facts = _elementwise(inner, operands, rank)
            known.update(dict.fromkeys(inner.results, facts))
        return _unknown(_shape_of(value))

    def _scalar(self, op: Op, operands: list[Facts]) -> Facts:
        return _elementwise(op, operands, 0) if op.pure and not op.REGION_FIELDS else Facts()


def _with_axes(facts: Facts, rank: int, shape: tuple[int, ...]) -> Facts:
    """A scalar beside tiles, as one."""
    if len(facts.axes) == rank:
        return facts
    axes = [Axis(1, facts.divisor, _power(extent)) for extent in shape]
    return Facts(facts.divisor, tuple(axes), facts.is_one)


def _of_lines(inner: Facts, old: tuple[int, ...], new: tuple[int, ...]) -> Axis:
    """The last axis where groups within lines of both extents stay together."""
    if not old or max(old[-1], new[-1]) % min(old[-1], new[-1]):
        return Axis()
    axis, most = inner.axes[-1], _power(min(old[-1], new[-1]))
    run = min(axis.run, most)
    divisor = axis.divisor if run == axis.run else min(axis.divisor, run)
    return Axis(run, divisor, min(axis.equal, most))


def _is_whole(value: Value) -> bool:
    return isinstance(value.type, DType) and value.type.is_integer


def _elementwise(op: Op, operands: list[Facts], rank: int) -> Facts:
    """The facts of the result of an op on elements."""
    if isinstance(op, arith.Const):
        divisor = _power(op.value) if isinstance(op.value, int) else 1
        is_one = op.value == 1 and _is_whole(op.results[0])
        return Facts(divisor, tuple([Axis(1, divisor, MOST) for _ in range(rank)]), is_one)
    equal = [min([each.axes[n].equal for each in operands], default=1) for n in range(rank)]
    if isinstance(op, arith.Cast) and _is_whole(op.value) and _is_whole(op.results[0]):
        return _narrowed(op, operands[0])
    if isinstance(op, memory.Offset) or (
        isinstance(op, arith.Add | arith.Sub) and _is_whole(op.results[0])
    ):
        return _sum(operands[0], operands[1], isinstance(op, arith.Sub))
    if isinstance(op, arith.Mul) and _is_whole(op.results[0]):
        divisor = min(operands[0].divisor * operands[1].divisor, MOST)
        for one, other in (operands, operands[::-1]):
            if one.is_one:
                return other
        return Facts(divisor, tuple([Axis(1, divisor, each) for each in equal]))
    if isinstance(op, arith.Div) and _is_whole(op.results[0]):
        divisor = _quotient(operands[0].divisor, op.rhs)
        return Facts(divisor, tuple([Axis(1, divisor, each) for each in equal]))
    if isinstance(op, arith.Rem) and _is_whole(op.results[0]):
        return _remainder(operands[0], operands[1], equal)
    if isinstance(op, arith.Min | arith.Max | arith.Select) and _is_whole(op.results[0]):
        chosen = operands[1:] if isinstance(op, arith.Select) else operands
        divisor = min([each.divisor for each in chosen])
        return Facts(divisor, tuple([Axis(1, divisor, each) for each in equal]))
    if isinstance(op, arith.Lt | arith.Ge | arith.Gt | arith.Le):
        equal = [_compared(op, operands, n) for n in range(rank)]
    return Facts(1, tuple([Axis(1, 1, each) for each in equal]))


def _narrowed(op: arith.Cast, facts: Facts) -> Facts:
    """Integers of another width; of fewer bits the divisor is one of those."""
    type_ = op.results[0].type
    assert isinstance(type_, DType)
    return facts if type_.bits > 12 else Facts(1, tuple([Axis() for _ in facts.axes]))


def _quotient(divisor: int, by: Value) -> int:
    """What divides a quotient, of a number that ``divisor`` divides by a constant."""
    number = by.op.value if isinstance(by.op, arith.Const) else 0
    if not isinstance(number, int) or number < 1 or number != _power(number):
        return 1
    return max(1, divisor // number) if divisor < MOST else 1


def _sum(left: Facts, right: Facts, minus: bool) -> Facts:
    axes: list[Axis] = []
    for mine, theirs in zip(left.axes, right.axes, strict=True):
        best = Axis(1, 1, 1)
        sides = [(mine, theirs, right)] if minus else [(mine, theirs, right), (theirs, mine, left)]
        for grows, stays, of in sides:
            run = min(grows.run, stays.equal)
            first = grows.divisor if run == grows.run else min(grows.divisor, run)
            if run > best.run:
                best = Axis(run, min(first, of.divisor), 1)
        if best.run == 1:
            best = Axis(1, min(left.divisor, right.divisor), 1)
        axes.append(Axis(best.run, best.divisor, min(mine.equal, theirs.equal)))
    return Facts(min(left.divisor, right.divisor), tuple(axes))


def _remainder(left: Facts, right: Facts, equal: list[int]) -> Facts:
    axes: list[Axis] = []
    for mine, theirs, same in zip(left.axes, right.axes, equal, strict=True):
        run = min(mine.run, mine.divisor, right.divisor, theirs.equal)
        axes.append(Axis(run, min(mine.divisor, right.divisor), same))
    return Facts(min(left.divisor, right.divisor), tuple(axes))


def _compared(op: Op, operands: list[Facts], axis: int) -> int:
    """Elements of a group for which a comparison is the same: ``x < y`` of a run beside equal ones,
    where both start at multiples of it."""
    assert isinstance(op, arith.Lt | arith.Ge | arith.Gt | arith.Le)
    grows, stays = operands if isinstance(op, arith.Lt | arith.Ge) else reversed(operands)
    equal = min([each.axes[axis].equal for each in operands])
    mine, theirs = grows.axes[axis], stays.axes[axis]
    if not _is_whole(op.lhs):
        return equal
    return max(equal, min(mine.run, mine.divisor, theirs.equal, stays.divisor))
