"""The code of products of matrices, and the choice of it: ``tile_products`` has that of processors.

A thread computes ``ROWS`` elements of a column. It adds their products in the order of the inner
dimension, ``SPAN`` of them to a partial sum, and the partial sums in order, on every device.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gridlane.backends import backend
from gridlane.core.dtypes import b1, i64
from gridlane.ir.expressions import Expression
from gridlane.ir.ops import arith
from gridlane.ir.ops.grid import Axis, BlockIdx, ThreadIdx
from gridlane.ir.values import Module, Value, Var
from gridlane.runtime.protocol import Device
from gridlane.xp import dtypes
from gridlane.xp.groups import Form, Group
from gridlane.xp.kernels import THREADS, Emission, converted, part_of
from gridlane.xp.nodes import Node
from gridlane.xp.operations.record import Complex, Operand

ROWS = 4
"""Elements of a thread, one below the other."""
SPAN = 256
"""Products of a partial sum."""
LEAST = 1 << 18
"""The least products of a matrix for which tiles pay."""
_FAR = 1 << 31
"""Elements from the first one that an index of 32 bits does not reach."""


def module_of(form: Form) -> Module:
    """The kernel of a form with a product, for blocks of ``THREADS`` threads.

    Its dimensions are those of stacks of matrices, the rows, the columns and the inner dimension.
    Its parameters are those of ``xp.kernels.module_of``, for two leaves; the address of the result,
    in C's order, is the only output.
    """
    return _Product(form).module


def blocks_of(extents: tuple[int, ...], tiles: Tiles | None) -> int:
    """The blocks of a launch."""
    *stack, rows, columns, _ = extents
    down, across = (tiles.rows, tiles.columns) if tiles else (ROWS, THREADS)
    return math.prod(stack) * -(-rows // down) * -(-columns // across)


class Tiles(NamedTuple):
    """The tiles of a program of ``tile_products``: of the result, and along the inner dimension;
    and whether indices need 64 bits."""

    rows: int
    columns: int
    inner: int
    wide: bool


def tiles_of(group: Group, device: Device) -> Tiles | None:
    """The tiles of a product on a device; None where the kernel of this module computes it: on
    devices other than processors, of other elements than floats, of few products or of stacks that
    do not join."""
    form, (*_, rows, columns, inner) = group.form, group.extents
    if rows * columns * inner < LEAST or form.rank > 4:
        return None
    if any(dtypes.letter(step[1]) != "f" for step in form.steps):
        return None
    record = backend(device.target((1, 1, 1)).name)
    if not record.on_host or record.executes_ir:
        return None
    reach = max([math.prod(group.extents[:-1]), *[_reach(node) for node in group.nodes]])
    wide = reach >= _FAR
    return Tiles(_side(rows, 128), _side(columns, 256), _side(inner, SPAN), wide)


def _side(extent: int, most: int) -> int:
    return min(max(1 << (extent - 1).bit_length(), 16), most)


def _reach(node: Node) -> int:
    """The furthest place of a leaf's element from its first one, and a tile behind it."""
    steps = zip(node.shape, node.strides, strict=True)
    return sum((extent + 2 * SPAN) * abs(step) for extent, step in steps)


class _Product(Emission):
    """A kernel that multiplies matrices."""

    def __init__(self, form: Form) -> None:
        assert form.product is not None
        result, self._dtype = form.product
        super().__init__(form, "xp_matmul", (result,))
        b = self.b
        *stack, self._rows, self._columns, self._inner = self.extents
        tiles = self._parts_up(self._rows, ROWS)
        across = self._parts_up(self._columns, THREADS)
        block = b.cast(b.value(BlockIdx(Axis.X)), i64)
        thread = b.cast(b.value(ThreadIdx(Axis.X)), i64)
        above = b.div(block, across)
        column = b.add(b.mul(b.sub(block, b.mul(above, across)), self._integer(THREADS)), thread)
        matrix = b.div(above, tiles)
        first = b.mul(b.sub(above, b.mul(matrix, tiles)), self._integer(ROWS))
        self._places = self.parts(matrix, stack) if stack else []
        with b.if_(b.lt(column, self._columns)):
            self._multiply(first, column)
            self._put(result, matrix, first, column)
        self.finish()

    def _integer(self, number: int) -> Value:
        return self.w.const(number, i64).value

    def _parts_up(self, extent: Value, size: int) -> Value:
        b = self.b
        return b.div(b.add(extent, self._integer(size - 1)), self._integer(size))

    # --- sums ---

    def _variables(self, name: str) -> list[list[Var]]:
        """Variables for the parts of each row's sum, which are 0."""
        b, scalar = self.b, part_of(self._dtype)
        zero = self.w.const(False if scalar is b1 else 0, scalar).value
        count = 2 if self._dtype.kind == "c" else 1
        sums = [
            [b.variable(f"{name}{row}_{part}", scalar) for part in range(count)]
            for row in range(ROWS)
        ]
        for each in sums:
            for variable in each:
                b.write(variable, zero)
        return sums

    def _read(self, variables: list[Var]) -> Operand:
        parts = [self.w.wrap(self.b.read(each)) for each in variables]
        return Complex(*parts) if len(parts) == 2 else parts[0]

    def _add(self, variables: list[Var], value: Operand) -> None:
        """Add a value to a sum."""
        parts = list(value) if isinstance(value, Complex) else [value]
        for variable, each in zip(variables, parts, strict=True):
            old = self.w.wrap(self.b.read(variable))
            self.b.write(variable, (old | each if each.dtype is b1 else old + each).value)

    def _multiply(self, first: Value, column: Value) -> None:
        """Compute the sums of the thread's rows."""
        b = self.b
        last = b.sub(self._rows, self._integer(1))
        rows = [
            b.binary(arith.Min, b.add(first, self._integer(each)), last) for each in range(ROWS)
        ]
        self._sums = self._variables("sum")
        start = b.variable("start", i64)
        b.write(start, self._integer(0))
        with b.loop(unroll=1):
            begin = b.read(start)
            b.break_if(b.not_(b.lt(begin, self._inner)))
            end = b.binary(arith.Min, b.add(begin, self._integer(SPAN)), self._inner)
            partial = self._variables("partial")
            place = b.variable("place", i64)
            b.write(place, begin)
            with b.loop():
                inner = b.read(place)
                b.break_if(b.not_(b.lt(inner, end)))
                self._step(rows, column, inner, partial)
                b.write(place, b.add(inner, self._integer(1)))
            for total, own in zip(self._sums, partial, strict=True):
                self._add(total, self._read(own))
            b.write(start, end)

    def _step(
        self, rows: list[Value], column: Value, inner: Value, partial: list[list[Var]]
    ) -> None:
        """Add a product to each row's partial sum."""
        right = self._element(1, self.extents[0], column, inner)
        for row, sums in zip(rows, partial, strict=True):
            self._add(sums, _product(self._element(0, row, column, inner), right))

    def _element(self, number: int, row: Value, column: Value, inner: Value) -> Operand:
        """An element of an operand, in the dtype of the sums."""
        indices = [*self._places, row, column, inner]
        place = self.index(indices, self._strides[number])
        value = self.load(self.inputs[number][0], place, self.form.steps[number][1])
        return converted(self.w, value, self._dtype)

    def _put(self, result: np.dtype, matrix: Value, first: Value, column: Value) -> None:
        """Store the sums of rows within the result."""
        b = self.b
        for number, sums in enumerate(self._sums):
            row = b.add(first, self._integer(number))
            above = b.add(b.mul(matrix, self._rows), row)
            place = b.add(b.mul(above, self._columns), column)
            with b.if_(b.lt(row, self._rows)):
                value = converted(self.w, self._read(sums), result)
                self.store(self.more[0], place, value)


def _product(a: Operand, b: Operand) -> Operand:
    if isinstance(a, Complex) and isinstance(b, Complex):
        return Complex(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real)
    assert isinstance(a, Expression) and isinstance(b, Expression)
    return a & b if a.dtype is b1 else a * b
