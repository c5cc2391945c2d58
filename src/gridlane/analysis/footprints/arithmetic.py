"""Arithmetic of integers of a launch, as forms over the coordinates of its threads."""

from __future__ import annotations

from collections.abc import Sequence

from gridlane.analysis.footprints.linear import Linear, Range, Symbol, part, range_of, split
from gridlane.core.dtypes import DType
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, grid
from gridlane.ir.ops.grid import Axis

Number = tuple[int, ...]
_AXES = {Axis.X: 0, Axis.Y: 1, Axis.Z: 2}


class Arithmetic:
    """Forms of the results of ops.

    Attributes:
        ranges: of all symbols.
        splits: the divisor of each block index that is a quotient and a rest.
    """

    def __init__(self, grid: Number, block: Number) -> None:
        self.grid, self.block = grid, block
        self.ranges: dict[Symbol, Range] = {}
        self.splits: dict[int, int] = {}
        for axis in range(3):
            self.ranges[("thread", axis)] = (0, block[axis] - 1)
            self.ranges[("block", axis)] = (0, grid[axis] - 1)

    def partly(self, op: Op, operands: Sequence[object]) -> Linear | None:
        """The result where one operand decides it."""
        zero = any(isinstance(x, Linear) and x.is_constant and not x.constant for x in operands)
        return Linear(0) if zero and isinstance(op, arith.Mul | arith.And) else None

    def result(self, op: Op, forms: list[Linear]) -> Linear | None:
        first, last = forms[0], forms[-1]
        if isinstance(op, arith.Add):
            return first + last
        if isinstance(op, arith.Sub):
            return first - last
        if isinstance(op, arith.Neg):
            return first.times(-1)
        if isinstance(op, arith.Mul):
            if last.is_constant:
                return first.times(last.constant)
            return last.times(first.constant) if first.is_constant else None
        if isinstance(op, arith.Cast):
            return first
        if isinstance(op, arith.Bitcast):
            return first if is_integer(op.value.type) else None
        if isinstance(op, arith.Shl):
            small = last.is_constant and 0 <= last.constant < 63
            return first.times(1 << last.constant) if small else None
        if isinstance(op, arith.Min | arith.Max):
            return self._extreme(op, first, last)
        if isinstance(op, arith.Shr | arith.And | arith.Div | arith.Rem):
            return self._divided(op, first, last)
        return None

    def _divided(self, op: Op, first: Linear, last: Linear) -> Linear | None:
        """Quotients, rests and bits of numbers that are at least 0."""
        if isinstance(op, arith.And) and first.is_constant:
            first, last = last, first
        first = self.normal(first)
        low, high = range_of(first, self.ranges)
        if not last.is_constant or low is None or low < 0 or last.constant < 0:
            return None
        number = last.constant
        if isinstance(op, arith.And):
            if number & (number + 1):
                return Linear(first.constant & number) if first.is_constant else None
            return self._rest(first, high, number + 1)
        if isinstance(op, arith.Shr):
            return self._quotient(first, high, 1 << number) if number < 63 else None
        if not number:
            return None
        if isinstance(op, arith.Rem):
            return self._rest(first, high, number)
        return self._quotient(first, high, number)

    def _quotient(self, form: Linear, high: int | None, divisor: int) -> Linear | None:
        if high is not None and high < divisor:
            return Linear(0)
        axis = _alone(form)
        if axis is not None and divisor > 1 and self.splits.get(axis, divisor) == divisor:
            self._split(axis, divisor)
            return Linear(0, {part("quotient", axis, divisor): 1})
        whole = {s: n // divisor for s, n in form.terms.items() if not n % divisor}
        rest = Linear(form.constant, {s: n for s, n in form.terms.items() if n % divisor})
        low, most = range_of(rest, self.ranges)
        if low is None or most is None or low // divisor != most // divisor:
            return None
        return Linear(low // divisor, whole)

    def _rest(self, form: Linear, high: int | None, divisor: int) -> Linear | None:
        quotient = self._quotient(form, high, divisor)
        return None if quotient is None else self.normal(form) - quotient.times(divisor)

    def _split(self, axis: int, divisor: int) -> None:
        count = self.grid[axis]
        self.splits[axis] = divisor
        self.ranges[part("quotient", axis, divisor)] = (0, (count - 1) // divisor)
        self.ranges[part("rest", axis, divisor)] = (0, min(divisor, count) - 1)

    def normal(self, form: Linear) -> Linear:
        """The form with indices of blocks as quotients and rests where they are split."""
        for axis, divisor in self.splits.items():
            form = split(form, axis, divisor)
        return form

    def _extreme(self, op: Op, first: Linear, last: Linear) -> Linear | None:
        low, high = range_of(self.normal(first - last), self.ranges)
        if low is not None and low >= 0:
            return first if isinstance(op, arith.Max) else last
        if high is not None and high <= 0:
            return last if isinstance(op, arith.Max) else first
        return None

    def query(self, op: grid.GridQuery) -> Linear | None:
        axis = _AXES[op.axis]
        if isinstance(op, grid.BlockDim | grid.GridDim):
            of_block = isinstance(op, grid.BlockDim)
            return Linear((self.block if of_block else self.grid)[axis])
        if isinstance(op, grid.ThreadIdx | grid.BlockIdx):
            name = "thread" if isinstance(op, grid.ThreadIdx) else "block"
            extent = (self.block if name == "thread" else self.grid)[axis]
            return Linear(0, {(name, axis): 1}) if extent > 1 else Linear(0)
        return None


def _alone(form: Linear) -> int | None:
    """The axis of the block's index that a form is, and nothing else."""
    if form.constant or len(form.terms) != 1:
        return None
    ((symbol, factor),) = form.terms.items()
    return int(symbol[1]) if symbol[0] == "block" and factor == 1 else None


def is_integer(type_: object) -> bool:
    """Whether a type is one of integers."""
    return isinstance(type_, DType) and type_.is_integer
