"""What kernels of reductions and scans have in common: rows, their parts, and states."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gridlane.core.dtypes import DType, i64
from gridlane.ir.expressions import Expression
from gridlane.ir.ops import arith
from gridlane.ir.ops.grid import Axis, Barrier, BlockIdx, ThreadIdx
from gridlane.ir.ops.memory import GlobalAddress
from gridlane.ir.types import Space, pointer
from gridlane.ir.values import Global, Value
from gridlane.xp.groups import Form
from gridlane.xp.kernels import THREADS, Emission, converted, part_of
from gridlane.xp.operations.record import Complex, Operand
from gridlane.xp.reductions.kinds import KINDS, State, is_true
from gridlane.xp.reductions.record import WARP, Fold, threads_of


class Rows(Emission):
    """A kernel under construction whose threads are in parts of rows.

    Attributes:
        fold, kind, dtypes: of the reduction or scan; the dtypes of its states.
        rows, count: the number of rows, and of the elements of each.
        thread, lane: the thread's index in its block, and in its part.
        warp, of_warp: the index of the first thread of its warp, and its own behind that.
        start: the index in its row of the first element of its part.
        part, parts_of_row: the index of the part in its row, and their number.
        number: the index of the part among all parts.
        is_row: whether there is such a part.
    """

    def __init__(self, form: Form, name: str, results: tuple[np.dtype[Any], ...]) -> None:
        super().__init__(form, name, results)
        assert form.fold is not None
        self.fold: Fold = form.fold
        self.kind = KINDS[self.fold.kind]
        self.dtypes = self.kind.states(self.fold.accumulator)
        self.rows = self.product(self.extents[: self.fold.kept])
        self.count = self.product(self.extents[self.fold.kept :])
        self._kept: list[Value] = []
        if form.by_rows:
            self._place_in_line()
        else:
            self._place()

    # --- integers ---

    def integer(self, number: int) -> Value:
        return self.w.const(number, i64).value

    def product(self, extents: list[Value]) -> Value:
        total = self.integer(1)
        for extent in extents:
            total = self.b.mul(total, extent)
        return total

    def least(self, a: Value, b: Value) -> Value:
        return self.b.binary(arith.Min, a, b)

    # --- the thread's part ---

    def _place(self) -> None:
        """The row and the part of a thread, and its place there."""
        if self.form.by_rows:
            self._place_in_line()
            return
        b, fold = self.b, self.fold
        block = b.cast(b.value(BlockIdx(Axis.X)), i64)
        self.thread = thread = b.cast(b.value(ThreadIdx(Axis.X)), i64)
        # In this form the CPU's vectoriser sees that a warp has one row, and neighbouring elements.
        self.warp = warp = b.and_(thread, self.integer(-WARP))
        self.of_warp = b.sub(thread, warp)
        of_block = {
            1: thread,
            WARP: b.binary(arith.Shr, warp, self.integer(WARP.bit_length() - 1)),
            THREADS: self.integer(0),
        }[fold.width]
        number = b.add(b.mul(block, self.integer(THREADS // fold.width)), of_block)
        self.lane = {1: self.integer(0), WARP: self.of_warp, THREADS: thread}[fold.width]
        if fold.is_last:
            row, part, parts = number, self.integer(0), self.integer(1)
        else:
            span = self.integer(fold.span)
            parts = b.div(b.add(self.count, self.integer(fold.span - 1)), span)
            inner = self.rows if fold.by_columns else parts
            above = b.div(number, inner)
            below = b.sub(number, b.mul(above, inner))
            row, part = (below, above) if fold.by_columns else (above, below)
        self.is_row = b.lt(number, b.mul(self.rows, parts))
        self.number = number
        self._kept = self.parts(row, self.extents[: fold.kept]) if fold.kept else []
        self.part, self.parts_of_row = part, parts
        self.start = b.mul(part, self.integer(fold.span))

    def _place_in_line(self) -> None:
        """The same where a block's threads are along the last dimension that counts rows."""
        b, fold = self.b, self.fold
        block = b.cast(b.value(BlockIdx(Axis.X)), i64)
        self.thread = thread = b.cast(b.value(ThreadIdx(Axis.X)), i64)
        size = threads_of(fold, THREADS)
        last, threads = self.extents[fold.kept - 1], self.integer(size)
        blocks = b.div(b.add(last, self.integer(size - 1)), threads)
        line = b.div(block, blocks)
        column = b.add(b.mul(b.sub(block, b.mul(line, blocks)), threads), thread)
        part, parts = self.integer(0), self.integer(1)
        number = b.mul(line, last)
        if not fold.is_last:
            lines = self.product(self.extents[: fold.kept - 1])
            span = self.integer(fold.span)
            parts = b.div(b.add(self.count, self.integer(fold.span - 1)), span)
            part = b.div(line, lines)
            line = b.sub(line, b.mul(part, lines))
        self.is_row, self.lane = b.lt(column, last), self.integer(0)
        self.number = b.add(number, column)
        outer = self.extents[: fold.kept - 1]
        self._kept = [*(self.parts(line, outer) if outer else []), column]
        self.part, self.parts_of_row = part, parts
        self.start = b.mul(part, self.integer(fold.span))

    @contextmanager
    def in_step(self) -> Generator[None, None, None]:
        """What the threads of a block do before they meet, if the fold is in step."""
        if not self.fold.in_step:
            yield
            return
        with self.b.if_(self.is_row):
            yield
        self.b.emit(Barrier())

    def indices(self, at: Value) -> list[Value]:
        """The index along each dimension of an element of the thread's row."""
        along = self.extents[self.fold.kept :]
        return [*self._kept, *(self.parts(at, along) if along else [])]

    def element(self, at: Value) -> State:
        """The state of an element of the thread's row; what else is stored of it is stored."""
        fold = self.fold
        indices = self.indices(at)
        values = self.values(indices)
        if self.outputs and fold.scan != "totals":
            linear = self.index(indices, self.target)
            for place, address in zip(self.form.stored, self.outputs, strict=True):
                self.store(address, linear, values[place])
        if not fold.is_first:
            return tuple([values[place] for place in fold.operands])
        return self.state_of(values, at)

    def state_of(self, values: list[Operand], at: Value) -> State:
        """The state of an element, of the values of the steps; without it if it takes no part."""
        fold, w = self.fold, self.w
        own = converted(w, values[fold.operands[0]], fold.accumulator)
        state = self.kind.element(w, own, w.wrap(at))
        if not fold.is_masked:
            return state
        absent = self.kind.absent or self.kind.identity
        other = absent(w, fold.accumulator, part_of(fold.accumulator))
        return self.selected(is_true(values[fold.operands[1]]), state, other)

    # --- states ---

    def identity(self) -> State:
        accumulator = self.fold.accumulator
        return self.kind.identity(self.w, accumulator, part_of(accumulator))

    def selected(self, condition: Expression, a: State, b: State) -> State:
        chosen: list[Operand] = []
        for one, other in zip(a, b, strict=True):
            parts = [
                self.w.select(condition, x, y)
                for x, y in zip(scalars((one,)), scalars((other,)), strict=True)
            ]
            chosen.append(Complex(*parts) if len(parts) == 2 else parts[0])
        return tuple(chosen)

    def shared(self, name: str, dtype: DType, count: int) -> Value:
        """Shared memory for numbers."""
        self.module.globals[name] = Global(name, dtype, count, Space.SHARED)
        return self.b.value(GlobalAddress(name, pointer(dtype, Space.SHARED)))

    def of(self, parts: list[Expression]) -> State:
        """A state from its scalars."""
        rest = iter(parts)
        return tuple(
            [
                Complex(next(rest), next(rest)) if dtype.kind == "c" else next(rest)
                for dtype in self.dtypes
            ]
        )


def scalars(state: State) -> list[Expression]:
    """The numbers of a state: both parts of a complex one."""
    parts: list[Expression] = []
    for each in state:
        parts += each if isinstance(each, Complex) else [each]
    return parts
