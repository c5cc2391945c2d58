"""What a step along the depth of a product in memory is: one product a lane, or two or four of
bytes, by instructions that add them to sums of 32 bits."""

from __future__ import annotations

from dataclasses import dataclass

from gridlane.codegen.llvm.cpu.loops import Loop
from gridlane.codegen.llvm.machine import X86, Machine
from gridlane.codegen.llvm.text import Body, scalar_name, vector_constant
from gridlane.core.dtypes import DType, u8

_FAR, _LONG = 512, 16
"""Bytes between rows, and rows, from which on a panel is copied: its rows would share a few sets of
the cache."""


@dataclass(slots=True)
class Part:
    """A function that is being written.

    Attributes:
        element, factor: of the sums, and of the factors.
        fused: products of floats may be fused with additions.
        turned_left, turned_right: the factor is in memory by columns.
        lanes: sums of a vector.
        most: rows of a group, by two vectors.
    """

    body: Body
    element: DType
    factor: DType
    fused: bool
    turned_left: bool
    turned_right: bool
    rows: int
    depth: int
    columns: int
    lanes: int
    most: int


def steps_of(part: Part, machine: Machine) -> Elements:
    """The steps for whole vectors on a machine."""
    if part.factor.size > 1 or machine.architecture != X86:
        return Elements(part)
    needed = {64: "avx512vnni", 32: "avxvnni"}.get(machine.vector_bytes)
    if needed in machine.has and part.depth % Fours.PRODUCTS == 0:
        return Fours(part)
    return Twos(part) if part.depth % Twos.PRODUCTS == 0 else Elements(part)


class Elements:
    """Steps of one product a lane."""

    PRODUCTS = 1
    """Products of a lane."""

    def __init__(self, part: Part) -> None:
        self.part, self.body = part, part.body
        self.element, self.factor = scalar_name(part.element), scalar_name(part.factor)
        self.count = part.depth // self.PRODUCTS

    def prepare(self) -> None:
        """Emit what precedes all panels."""

    def begin(self, vector: str, row: str, rows: int, count: int) -> list[str] | None:
        """Sums of a group of rows, ``count`` vectors of each, to begin with; those of memory are
        added last. None: the group begins with those."""
        return None

    # ---- places

    def _at(self, type_: str, pointer: str, index: str) -> str:
        return self.body.op(f"getelementptr {type_}, ptr {pointer}, i64 {index}")

    def sum_at(self, index: str) -> str:
        """The address of a sum."""
        return self._at(self.element, "%sums", index)

    def line_at(self, panel: str, index: str) -> str:
        """The address of an element of a panel."""
        return self._at(self.factor, panel, index)

    def rows_from(self, row: str, rows: int) -> str:
        """The address of a group of rows, for ``repeated``."""
        step = 1 if self.part.turned_left else self.part.depth
        return self._at(self.factor, "%left", self.body.op(f"mul i64 {row}, {step}"))

    def vectors(self, width: int) -> tuple[str, list[int]]:
        """The type of a panel's vectors, and where they start."""
        lanes = min(width, self.part.lanes)
        return f"<{lanes} x {self.element}>", list(range(0, width, lanes))

    # ---- the panel

    def panel(self, column: str, width: int) -> tuple[str, int]:
        """The address of some columns of the right factor, and the elements between its rows."""
        part = self.part
        if part.turned_right:
            return Turning(self, column, width).panel(), width
        right = self._at(self.factor, "%right", column)
        is_far = part.columns * part.factor.size >= _FAR and part.depth >= _LONG
        if is_far and part.rows > part.most // 2:
            return self._copied(right, width), width
        return right, part.columns

    def _copied(self, right: str, width: int) -> str:
        """A panel whose rows are adjacent."""
        body, (vector, starts) = self.body, self.vectors(width)
        vector = vector.replace(self.element, self.factor)
        copy = body.alloca(self.factor, self.part.depth * width, 64)
        each = Loop(body, self.part.depth, "copy")
        source = self.line_at(right, body.op(f"mul i64 {each.counter}, {self.part.columns}"))
        target = self.line_at(copy, body.op(f"mul i64 {each.counter}, {width}"))
        for start in starts:
            value = self._read(vector, source, start)
            where = self.line_at(target, str(start))
            body.do(f"store {vector} {value}, ptr {where}, align {self.part.factor.size}")
        each.end()
        return copy

    def _read(self, vector: str, pointer: str, start: int) -> str:
        where = self.line_at(pointer, str(start))
        return self.body.op(f"load {vector}, ptr {where}, align {self.part.factor.size}")

    # ---- a step

    def load(self, vector: str, line: str, start: int) -> str:
        """The elements of a row of the panel that one vector of sums needs."""
        if self.factor == self.element:
            return self._read(vector, line, start)
        held = vector.replace(self.element, self.factor)
        return self._widened(self._read(held, line, start), held, vector)

    def _widened(self, value: str, held: str, wide: str) -> str:
        kind = "zext" if self.part.factor is u8 else "sext"
        return self.body.op(f"{kind} {held} {value} to {wide}")

    def repeated(self, vector: str, left: str, row: int, counter: str) -> str:
        """The element of a row in all lanes."""
        part = self.part
        if part.turned_left:
            place = self.body.op(f"mul i64 {counter}, {part.rows}")
            place = self.body.op(f"add i64 {place}, {row}")
        else:
            place = self.body.op(f"add i64 {counter}, {row * part.depth}")
        where = self._at(self.factor, left, place)
        align = self.part.factor.size
        value = self.body.op(f"load {self.factor}, ptr {where}, align {align}")
        if self.factor != self.element:
            value = self._widened(value, self.factor, self.element)
        return self._splat(vector, value)

    def _splat(self, vector: str, value: str) -> str:
        """A number in all lanes."""
        body, lanes, element = self.body, _lanes(vector), vector[1:-1].split(" ")[2]
        one = body.op(f"insertelement {vector} poison, {element} {value}, i64 0")
        zeros = vector_constant([0] * lanes, "i32")
        return body.op(f"shufflevector {vector} {one}, {vector} poison, <{lanes} x i32> {zeros}")

    def added(self, vector: str, first: str, second: str, total: str) -> str:
        """The sums with the products of a step."""
        body = self.body
        if self.part.element.is_integer:
            return body.op(f"add {vector} {total}, {body.op(f'mul {vector} {first}, {second}')}")
        if not self.part.fused:
            product = body.op(f"fmul {vector} {first}, {second}")
            return body.op(f"fadd {vector} {total}, {product}")
        return body.intrinsic("fmuladd", self.element, _lanes(vector), [first, second, total])

    # ---- sums

    def load_sum(self, vector: str, sums: str, place: int) -> str:
        """A vector of sums."""
        where = self._at(self.element, sums, str(place))
        return self.body.op(f"load {vector}, ptr {where}, align {self.part.element.size}")

    def store_sum(self, vector: str, value: str, sums: str, place: int) -> None:
        """Write a vector of sums."""
        where = self._at(self.element, sums, str(place))
        self.body.do(f"store {vector} {value}, ptr {where}, align {self.part.element.size}")


class Turning:
    """Copies a panel of a right factor that is in memory by columns: squares of as many columns as
    a vector has lanes, whose elements change places between vectors; what is left by elements."""

    def __init__(self, steps: Elements, column: str, width: int) -> None:
        self._steps, self._body, self._width = steps, steps.body, width
        self._depth, self._column = steps.part.depth, column
        vector, self._starts = steps.vectors(width)
        self._lanes = _lanes(vector)
        self._held = f"<{self._lanes} x {steps.factor}>"
        self._size = steps.part.factor.size

    def panel(self) -> str:
        """The address of the panel, by rows."""
        body, lanes, factor = self._body, self._lanes, self._steps.factor
        copy = body.alloca(factor, self._depth * self._width, 64)
        squares = self._depth // lanes
        for start in self._starts:
            line = body.op(f"add i64 {self._column}, {start}")
            source = self._at("%right", body.op(f"mul i64 {line}, {self._depth}"))
            target = self._at(copy, str(start))
            if squares:
                each = Loop(body, squares, "square")
                place = body.op(f"mul i64 {each.counter}, {lanes}")
                to = self._at(target, body.op(f"mul i64 {place}, {self._width}"))
                self._square(self._at(source, place), to)
                each.end()
            for inner in range(squares * lanes, self._depth):
                self._row(source, target, inner)
        return copy

    def _at(self, pointer: str, index: str) -> str:
        return self._body.op(f"getelementptr {self._steps.factor}, ptr {pointer}, i64 {index}")

    def _square(self, source: str, target: str) -> None:
        """Turn a square: each step interleaves vectors of its halves."""
        body, lanes, held = self._body, self._lanes, self._held
        places = [self._at(source, str(n * self._depth)) for n in range(lanes)]
        lines = [body.op(f"load {held}, ptr {each}, align {self._size}") for each in places]
        low = [side * lanes + lane for lane in range(lanes // 2) for side in (0, 1)]
        halves = [vector_constant([n + by for n in low], "i32") for by in (0, lanes // 2)]
        for _ in range(lanes.bit_length() - 1):
            pairs = zip(lines[: lanes // 2], lines[lanes // 2 :], strict=True)
            lines = [
                body.op(f"shufflevector {held} {a}, {held} {b}, <{lanes} x i32> {half}")
                for a, b in pairs
                for half in halves
            ]
        for n, value in enumerate(lines):
            self._store(target, n, value)

    def _row(self, source: str, target: str, inner: int) -> None:
        """Copy a row of the panel by elements."""
        body, factor, value = self._body, self._steps.factor, "poison"
        for lane in range(self._lanes):
            where = self._at(source, str(lane * self._depth + inner))
            one = body.op(f"load {factor}, ptr {where}, align {self._size}")
            value = body.op(f"insertelement {self._held} {value}, {factor} {one}, i64 {lane}")
        self._store(target, inner, value)

    def _store(self, target: str, row: int, value: str) -> None:
        where = self._at(target, str(row * self._width))
        self._body.do(f"store {self._held} {value}, ptr {where}, align {self._size}")


class _Several(Elements):
    """Steps of several products of bytes a lane. A panel has the elements of the step's rows side
    by side for each column; ``HELD`` is the type that it has them in."""

    HELD = ""

    def begin(self, vector: str, row: str, rows: int, count: int) -> list[str] | None:
        return ["zeroinitializer"] * (rows * count)

    def panel(self, column: str, width: int) -> tuple[str, int]:
        body, (vector, starts) = self.body, self.vectors(width)
        lanes, n, columns = _lanes(vector), self.PRODUCTS, self.part.columns
        right = self._at(self.factor, "%right", column)
        size = int(self.HELD[1:]) // 8
        copy = body.alloca(self.HELD, self.part.depth * width, 64)
        each = Loop(body, self.count, "copy")
        rows_before = body.op(f"mul i64 {each.counter}, {n * columns}")
        source = self._at(self.factor, right, rows_before)
        target = self._at(self.HELD, copy, body.op(f"mul i64 {each.counter}, {n * width}"))
        for start in starts:
            rows = [self._line(source, row * columns + start, lanes) for row in range(n)]
            value = self._side_by_side(rows, lanes)
            where = self._at(self.HELD, target, str(start * n))
            align = min(64, lanes * n * size)
            body.do(f"store <{lanes * n} x {self.HELD}> {value}, ptr {where}, align {align}")
        each.end()
        return copy, n * width

    def line_at(self, panel: str, index: str) -> str:
        return self._at(self.HELD, panel, index)

    def _line(self, source: str, place: int, lanes: int) -> str:
        """A vector of a row."""
        where = self._at(self.factor, source, str(place))
        held = f"<{lanes} x {self.factor}>"
        value = self.body.op(f"load {held}, ptr {where}, align 1")
        if self.factor == self.HELD:
            return value
        return self._widened(value, held, f"<{lanes} x {self.HELD}>")

    def _side_by_side(self, rows: list[str], lanes: int) -> str:
        """The elements of rows, those of a column side by side."""
        body, bits = self.body, int(self.HELD[1:])
        while len(rows) > 1:
            held = f"<{lanes} x i{bits}>"
            places = [side * lanes + lane for lane in range(lanes) for side in (0, 1)]
            order = vector_constant(places, "i32")
            both = f"<{2 * lanes} x i{bits}>"
            rows = [
                body.op(f"shufflevector {held} {a}, {held} {b}, <{2 * lanes} x i32> {order}")
                for a, b in zip(rows[::2], rows[1::2], strict=True)
            ]
            bits *= 2
            rows = [body.op(f"bitcast {both} {each} to <{lanes} x i{bits}>") for each in rows]
        held = f"<{lanes * self.PRODUCTS} x {self.HELD}>"
        return body.op(f"bitcast <{lanes} x i{bits}> {rows[0]} to {held}")

    def load(self, vector: str, line: str, start: int) -> str:
        lanes = _lanes(vector)
        held = f"<{lanes * self.PRODUCTS} x {self.HELD}>"
        where = self._at(self.HELD, line, str(start * self.PRODUCTS))
        align = min(64, lanes * 4)
        return self.body.op(f"load {held}, ptr {where}, align {align}")

    def _word(self, vector: str, pointer: str, place: str, align: int) -> str:
        """32 bits in all lanes, as elements of a panel."""
        where = self._at(self.HELD, pointer, place)
        value = self.body.op(f"load i32, ptr {where}, align {align}")
        lanes = _lanes(vector)
        held = f"<{lanes * self.PRODUCTS} x {self.HELD}>"
        return self.body.op(f"bitcast {vector} {self._splat(vector, value)} to {held}")


class Twos(_Several):
    """Steps of two products of 16 bits: x86's pmaddwd."""

    PRODUCTS, HELD = 2, "i16"
    _NAMES = {4: "sse2.pmadd.wd", 8: "avx2.pmadd.wd", 16: "avx512.pmaddw.d.512"}

    def rows_from(self, row: str, rows: int) -> str:
        """The rows of a group in 16 bits."""
        body, count = self.body, rows * self.part.depth
        source = super().rows_from(row, rows)
        copy = body.alloca("i16", count, 64)
        at_once = min(count & -count, 32)
        each = Loop(body, count // at_once, "widen")
        place = body.op(f"mul i64 {each.counter}, {at_once}")
        held, wide = f"<{at_once} x i8>", f"<{at_once} x i16>"
        value = body.op(f"load {held}, ptr {self._at('i8', source, place)}, align 1")
        value = self._widened(value, held, wide)
        body.do(f"store {wide} {value}, ptr {self._at('i16', copy, place)}, align 2")
        each.end()
        return copy

    def repeated(self, vector: str, left: str, row: int, counter: str) -> str:
        place = self.body.op(f"mul i64 {counter}, 2")
        place = self.body.op(f"add i64 {place}, {row * self.part.depth}")
        return self._word(vector, left, place, 2)

    def added(self, vector: str, first: str, second: str, total: str) -> str:
        lanes = _lanes(vector)
        held = f"<{2 * lanes} x i16>"
        name = f"llvm.x86.{self._NAMES[lanes]}"
        product = self.body.call(vector, name, [(held, first), (held, second)], pure=True)
        return self.body.op(f"add {vector} {total}, {product}")


class Fours(_Several):
    """Steps of four products of bytes: x86's vpdpbusd, of unsigned and signed ones. The sign bits
    of the panel are flipped, which adds 128 to signed elements and takes it from unsigned ones: so
    sums begin with 128 times the sum of their row, negated or not."""

    PRODUCTS, HELD = 4, "i8"
    _sums = ""

    def prepare(self) -> None:
        """Compute what the sums of each row begin with."""
        body, depth = self.body, self.part.depth
        self._sums = body.alloca("i32", self.part.rows, 64)
        lanes = min(depth & -depth, 4 * self.part.lanes) // 4
        held, words = f"<{4 * lanes} x i8>", f"<{lanes} x i32>"
        each = Loop(body, self.part.rows, "row")
        row = super().rows_from(each.counter, 1)
        along = Loop(body, depth // (4 * lanes), "along", [(words, "zeroinitializer")])
        where = self._at("i8", row, body.op(f"mul i64 {along.counter}, {4 * lanes}"))
        value, (total,) = body.op(f"load {held}, ptr {where}, align 1"), along.values
        if lanes == self.part.lanes:
            total = self.added(words, value, "splat (i8 1)", total)
        else:
            for parts in range(4):
                order = vector_constant(range(parts, 4 * lanes, 4), "i32")
                some = f"shufflevector {held} {value}, {held} poison, <{lanes} x i32> {order}"
                part = self._widened(body.op(some), f"<{lanes} x i8>", words)
                total = body.op(f"add {words} {total}, {part}")
        along.end([total])
        name = f"llvm.vector.reduce.add.v{lanes}i32"
        total = body.call("i32", name, [(words, total)], pure=True)
        where = self._at("i32", self._sums, each.counter)
        total = body.op(f"mul i32 {total}, {128 if self.part.factor is u8 else -128}")
        body.do(f"store i32 {total}, ptr {where}, align 4")
        each.end()

    def begin(self, vector: str, row: str, rows: int, count: int) -> list[str] | None:
        body, result = self.body, list[str]()
        for number in range(rows):
            where = self._at("i32", self._sums, body.op(f"add i64 {row}, {number}"))
            value = self._splat(vector, body.op(f"load i32, ptr {where}, align 4"))
            result += [value] * count
        return result

    def _side_by_side(self, rows: list[str], lanes: int) -> str:
        value, held = super()._side_by_side(rows, lanes), f"<{lanes * 4} x i8>"
        return self.body.op(f"xor {held} {value}, splat (i8 -128)")

    def repeated(self, vector: str, left: str, row: int, counter: str) -> str:
        place = self.body.op(f"mul i64 {counter}, 4")
        place = self.body.op(f"add i64 {place}, {row * self.part.depth}")
        return self._word(vector, left, place, 1)

    def added(self, vector: str, first: str, second: str, total: str) -> str:
        body, lanes = self.body, _lanes(vector)
        unsigned, signed = (first, second) if self.part.factor is u8 else (second, first)
        held = f"<{lanes * 4} x i8>"
        words = [body.op(f"bitcast {held} {each} to {vector}") for each in (unsigned, signed)]
        name = f"llvm.x86.avx512.vpdpbusd.{lanes * 32}"
        return body.call(vector, name, [(vector, total), *((vector, w) for w in words)], pure=True)


def _lanes(vector: str) -> int:
    return int(vector[1:].split(" ")[0])
