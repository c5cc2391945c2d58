"""Represents fragments by the registers of ``mma``, for targets without fragments.

A fragment consists of tiles in row-major order: of 16 rows and a step's columns of A, a step's rows
and 8 columns of B, 16 rows and 8 columns of sums. The places of a tile's elements are those of
``ir.ops.products``. A step is ``ir.ops.matrix.DEPTHS`` of the inner extent.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar, TypeAlias

from gridlane.core.dtypes import DType, i32, i64, u32
from gridlane.ir.builder import Builder
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, grid, matrix, memory, warp
from gridlane.ir.ops.matrix import DEPTHS
from gridlane.ir.ops.matrix_instructions import FACTORS
from gridlane.ir.ops.products import COLUMNS, Mma, left_place, right_place, sum_place
from gridlane.ir.types import FragmentType, Role, Type
from gridlane.ir.values import Module, Value
from gridlane.passes.legalise.products import half, joined
from gridlane.passes.legalise.representation import Parts, Representation, Rule

ROWS = 16
"""Rows of a tile of A and of the sums."""

Place: TypeAlias = tuple[int, int]
"""A row and a column."""

Product: TypeAlias = Callable[[Parts, Parts, Parts], Parts]
"""Emits the product of tiles."""


def fragments_by_products(module: Module) -> None:
    """Replace fragments in every function; a product becomes an ``mma`` for each of its tiles."""
    _replace(module, _Fragments)


def fragments_by_loops(module: Module) -> None:
    """Replace fragments in every function; a product becomes loops over tiles with one ``mma``."""
    _replace(module, _InLoops)


def _replace(module: Module, kind: type[_Fragments]) -> None:
    functions = module.functions.values()
    ops = (op for function in functions for op in function.body.walk())
    if any(isinstance(value.type, FragmentType) for op in ops for value in op.results):
        kind(module).run()


# ---- the layout


def tile_of(type_: FragmentType) -> Place:
    """The rows and columns of a tile."""
    depth = DEPTHS.get(type_.element, 0)
    return {Role.A: (ROWS, depth), Role.B: (depth, COLUMNS), Role.ACC: (ROWS, COLUMNS)}[type_.role]


def in_register(type_: FragmentType) -> int:
    """Elements in a register of 32 bits."""
    return u32.size // type_.element.size


def in_tile(type_: FragmentType) -> int:
    """Registers of a tile."""
    rows, columns = tile_of(type_)
    return rows * columns // 32 // in_register(type_)


def _within(type_: FragmentType, number: int) -> list[Place]:
    """The elements of a tile's register in lane 0."""
    count = in_register(type_)
    if type_.role is Role.ACC:
        return [sum_place(0, number * count + part) for part in range(count)]
    factor = FACTORS[type_.element]
    if type_.role is Role.A:
        return [left_place(0, number, part, ROWS, factor) for part in range(count)]
    return [right_place(0, number, part, factor) for part in range(count)]


def places(type_: FragmentType) -> Iterator[list[Place]]:
    """The elements of each register in lane 0. Those of lane ``4 g + t`` are ``g`` rows below, and
    ``t`` times the elements of a register, or two of the sums, beside; of B it is the reverse."""
    rows, columns = tile_of(type_)
    for row in range(0, type_.rows, rows):
        for column in range(0, type_.cols, columns):
            for number in range(in_tile(type_)):
                yield [(row + r, column + c) for r, c in _within(type_, number)]


class _Lines:
    """A matrix in memory, as a lane sees it, in words of 32 bits: a line starts at a multiple of 16
    bytes, and processors gather words alone."""

    def __init__(
        self, b: Builder, type_: FragmentType, pointer: Value, stride: Value, by_columns: bool
    ) -> None:
        self.b, self.stride, self.by_columns = b, stride, by_columns
        self.count = in_register(type_)
        self.lane = b.value(grid.LaneId())
        self.group = b.binary(arith.Shr, self.lane, b.const(2, u32))
        step = 2 if type_.role is Role.ACC else self.count
        rest = b.mul(b.and_(self.lane, b.const(3, i32)), b.const(step, i32))
        row, column = (rest, self.group) if type_.role is Role.B else (self.group, rest)
        self.line, self.item = (column, row) if by_columns else (row, column)
        self.starts: dict[int, Value] = {}
        self.pointer = pointer
        self.words = type_.element if self.count == 1 else u32

    def is_word(self, elements: list[Place]) -> bool:
        """Whether the elements of a register are adjacent."""
        in_row = elements[0][0] == elements[-1][0]
        return len(elements) == 1 or in_row != self.by_columns

    def at(self, place: Place, line: Value | None = None) -> Value:
        """The address of the word with an element, in the lane's own line or in another."""
        b, (down, item) = self.b, reversed(place) if self.by_columns else place
        if line is not None or down not in self.starts:
            number = b.add(self.line if line is None else line, b.const(down, i32))
            start = b.offset(self.pointer, b.mul(b.cast(number, i64), self.stride))
            start = b.recast(start, memory.pointer_beside(start, self.words))
            word = b.binary(arith.Shr, self.item, b.const(self.count.bit_length() - 1, u32))
            start = b.offset(start, word)
            if line is not None:
                return b.offset(start, b.const(item // self.count, i32))
            self.starts[down] = start
        return b.offset(self.starts[down], b.const(item // self.count, i32))

    def element(self, place: Place) -> Value:
        """The bits of an element of less than a word, in the lower end of a word."""
        b, bits = self.b, 32 // self.count
        part = b.and_(self.item, b.const(self.count - 1, i32))
        shift = b.bitcast(b.mul(part, b.const(bits, i32)), u32)
        word = b.binary(arith.Shr, b.load(self.at(place)), shift)
        return b.and_(word, b.const((1 << bits) - 1, u32))

    def store_turned(self, place: Place, register: Value) -> None:
        """Write two elements of different lines. The lanes of two groups, whose elements are
        adjacent, exchange halves: that of the even group writes the first line."""
        b = self.b
        sixteen, low, high = b.const(16, u32), b.const(0xFFFF, u32), b.const(0xFFFF0000, u32)
        odd = b.and_(self.group, b.const(1, i32))
        is_odd = b.eq(odd, b.const(1, i32))
        every, whole, partner = b.const(0xFFFFFFFF, u32), b.const(32, i32), b.const(4, i32)
        mode = warp.ShuffleMode.XOR
        other = b.emit(warp.Shuffle(mode, every, register, partner, whole)).results[0]
        first = b.or_(b.and_(register, low), b.binary(arith.Shl, other, sixteen))
        second = b.or_(b.binary(arith.Shr, other, sixteen), b.and_(register, high))
        address = self.at(place, b.add(self.line, odd))
        b.store(address, b.select(is_odd, second, first))


# ---- the rules


class _Fragments(Representation):
    def forms(self, type_: Type) -> tuple[Type, ...] | None:
        if not isinstance(type_, FragmentType):
            return None
        is_whole = type_.role is Role.ACC and type_.element.size == u32.size
        return (type_.element if is_whole else u32,) * (type_.size // (32 * u32.size))

    def lines(self, op: matrix.FragmentLoad | matrix.FragmentStore, type_: FragmentType) -> _Lines:
        pointer, stride = self.one(op.pointer), self.one(op.stride)
        return _Lines(self.builder, type_, pointer, stride, op.by_columns)

    def fill(self, op: matrix.FragmentFill) -> Sequence[Parts]:
        register = self.register(op.type, [self.one(op.value)] * in_register(op.type))
        return [(register,) * len(self.flat((op.type,)))]

    def register(self, type_: FragmentType, elements: list[Value]) -> Value:
        """Elements as a register."""
        if len(elements) > 1:
            return joined(self.builder, elements)
        if type_.role is Role.ACC:
            return elements[0]
        return _tf32(self.builder, elements[0])

    def load(self, op: matrix.FragmentLoad) -> Sequence[Parts]:
        b, type_ = self.builder, op.type
        lines, bits = self.lines(op, type_), 8 * type_.element.size
        new_values: list[Value] = []
        for elements in places(type_):
            if lines.is_word(elements):
                word = b.load(lines.at(elements[0]))
                new_values.append(self.register(type_, [word]) if len(elements) == 1 else word)
                continue
            total = b.const(0, u32)
            for number, place in enumerate(elements):
                part = lines.element(place)
                total = b.or_(total, b.binary(arith.Shl, part, b.const(number * bits, u32)))
            new_values.append(total)
        return [tuple(new_values)]

    def store(self, op: matrix.FragmentStore) -> Sequence[Parts]:
        type_ = _type_of(op.fragment)
        lines = self.lines(op, type_)
        for elements, value in zip(places(type_), self.of(op.fragment), strict=True):
            if lines.is_word(elements):
                self.builder.store(lines.at(elements[0]), value)
            else:
                lines.store_turned(elements[0], value)
        return []

    def multiply(self, op: matrix.FragmentMma) -> Sequence[Parts]:
        left, right = _type_of(op.a), _type_of(op.b)
        factors, depth = (FACTORS[left.element], FACTORS[right.element]), DEPTHS[left.element]

        def product(a: Parts, b: Parts, c: Parts) -> Parts:
            return self.builder.emit(Mma(ROWS, depth, *factors, False, a, b, c)).results

        return [self.products(op, product, left.cols // depth)]

    def products(self, op: matrix.FragmentMma, product: Product, steps: int) -> Parts:
        """The registers of a product."""
        types = [_type_of(value) for value in (op.a, op.b, op.c)]
        down, across = types[2].rows // ROWS, types[2].cols // COLUMNS
        values = (self.of(value) for value in (op.a, op.b, op.c))
        a, b, c = (_tiles(type_, parts) for type_, parts in zip(types, values, strict=True))
        for step in range(steps):
            for row in range(down):
                for column in range(across):
                    position = row * across + column
                    c[position] = product(
                        a[row * steps + step], b[step * across + column], c[position]
                    )
        return tuple([register for tile in c for register in tile])

    def scale(self, op: matrix.FragmentScale) -> Sequence[Parts]:
        b, type_, factor = self.builder, _type_of(op.fragment), self.one(op.factor)
        new_values: list[Value] = []
        for value in self.of(op.fragment):
            scaled = [b.mul(part, factor) for part in _parts(b, value, type_.element)]
            new_values.append(self.register(type_, scaled))
        return [tuple(new_values)]

    def convert(self, op: matrix.FragmentConvert) -> Sequence[Parts]:
        b, old, new = self.builder, _type_of(op.fragment), op.type
        parts = [p for value in self.of(op.fragment) for p in _parts(b, value, old.element)]
        cast, count = [b.cast(part, new.element) for part in parts], in_register(new)
        groups = [cast[n : n + count] for n in range(0, len(cast), count)]
        return [tuple([self.register(new, group) for group in groups])]

    RULES: ClassVar[dict[type[Op], Rule]] = {
        matrix.FragmentFill: fill,
        matrix.FragmentLoad: load,
        matrix.FragmentStore: store,
        matrix.FragmentMma: multiply,
        matrix.FragmentScale: scale,
        matrix.FragmentConvert: convert,
    }


class _InLoops(_Fragments):
    def products(self, op: matrix.FragmentMma, product: Product, steps: int) -> Parts:
        types = [_type_of(value) for value in (op.a, op.b, op.c)]
        down, across = types[2].rows // ROWS, types[2].cols // COLUMNS
        if steps * down * across <= 2:
            return super().products(op, product, steps)
        b = self.builder
        arrays = [self.array(self.of(value)) for value in (op.a, op.b, op.c)]
        with self.counted(steps) as step, self.counted(down) as row, self.counted(across) as column:
            tiles = [
                b.add(b.mul(line, b.const(count, i32)), item)
                for line, count, item in (
                    (row, steps, step),
                    (step, across, column),
                    (row, across, column),
                )
            ]
            addresses = [
                [
                    b.offset(array, b.add(b.mul(tile, b.const(in_tile(t), i32)), b.const(n, i32)))
                    for n in range(in_tile(t))
                ]
                for array, tile, t in zip(arrays, tiles, types, strict=True)
            ]
            sums = product(*[tuple([b.load(place) for place in of_tile]) for of_tile in addresses])
            for place, register in zip(addresses[2], sums, strict=True):
                b.store(place, register)
        count = len(self.of(op.c))
        return tuple([b.load(b.offset(arrays[2], b.const(n, i32))) for n in range(count)])

    def array(self, values: Parts) -> Value:
        """Values in an array of the thread."""
        b = self.builder
        result = b.value(memory.LocalArray(values[0].type, len(values)))
        for number, value in enumerate(values):
            b.store(b.offset(result, b.const(number, i32)), value)
        return result

    @contextmanager
    def counted(self, count: int) -> Generator[Value, None, None]:
        """A loop; its number of the iteration."""
        b = self.builder
        index = b.variable("tile", i32)
        b.write(index, b.const(0, i32))
        with b.loop() as loop:
            now = b.read(index)
            b.break_if(b.binary(arith.Ge, now, b.const(count, i32)))
            yield now
            with b.inside(loop.step):
                b.write(index, b.add(b.read(index), b.const(1, i32)))


def _type_of(value: Value) -> FragmentType:
    assert isinstance(value.type, FragmentType)
    return value.type


def _tiles(type_: FragmentType, registers: Parts) -> list[Parts]:
    """The registers of each tile."""
    count = in_tile(type_)
    return [registers[n : n + count] for n in range(0, len(registers), count)]


def _parts(b: Builder, register: Value, element: DType) -> list[Value]:
    """The elements in a register of sums."""
    if element.size == u32.size:
        return [register]
    return [half(b, register, place, element) for place in (0, 1)]


def _tf32(b: Builder, value: Value) -> Value:
    """The bits of an f32 rounded to 10 of fraction, ties away from zero. The lower ones are 0, also
    those of a NaN."""
    bits = b.bitcast(value, u32)
    size = b.and_(bits, b.const(0x7FFFFFFF, u32))
    rounded = b.and_(b.add(bits, b.const(0x1000, u32)), b.const(0xFFFFE000, u32))
    infinity = b.const(0x7F800000, u32)
    is_nan = b.binary(arith.Gt, size, infinity)
    special = b.select(is_nan, b.const(0x7FC00000, u32), bits)
    return b.select(b.lt(size, infinity), rounded, special)
