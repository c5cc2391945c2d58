"""Copies of boxes of tensors between global and shared memory, which one thread starts.

PTX ISA 9.0, "Tensors"; ``core.tensor_map`` has the description of a tensor. In shared memory the
box is dense, its first dimension innermost; with a swizzle, a row of it takes as many bytes as the
swizzle has, and of each address the bits from 4 on are xored with those from 7 on, as in
``ir.ops.shared_matrix``. Coordinates are those of the box's first element. Elements outside of the
tensor are read as 0, or NaN of all ones, and are not written; but where a line of the tensor ends
inside of a chunk of 16 bytes, stores and reductions change also what follows the line there, as an
H200 does. Behind the last line there may be no memory: the interpreter tests it, and code for other
devices ends where the description has no ``ROOM``.

The description has as many dimensions as there are coordinates, and elements that a reduction has.

NVIDIA's GPUs end a launch with an illegal instruction where a box begins at no multiple of 16 bytes
of a line, or a box is stored or reduced at a negative coordinate, which the interpreter tests.

Here a copy is done at once, which an asynchronous one may be as well: the memory that it reads is
written before, and the memory that it writes is read behind a wait.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gridlane.core import tensor_map
from gridlane.core.dtypes import DType, b1, bf16, f16, f32, f64, i32, i64, u8, u16, u32, u64
from gridlane.core.tensor_map import SHIFTS, Element
from gridlane.ir.op import Op, Scope, operation
from gridlane.ir.ops import arith, memory
from gridlane.ir.ops.atomic import Atomic, AtomicKind
from gridlane.ir.ops.grid import MemoryOrder, MemoryScope
from gridlane.ir.ops.mbarriers import MbarrierComplete, check_barrier
from gridlane.ir.ops.memory import element_of, pointer_beside, space_of
from gridlane.ir.types import PointerType, Space, VectorType, pointer
from gridlane.ir.values import Value

if TYPE_CHECKING:
    from gridlane.ir.builder import Builder

BOX_ALIGN = 128
"""The alignment of a box in shared memory, which the interpreter tests."""

REDUCTIONS: dict[AtomicKind, tuple[tuple[Element, DType], ...]] = {
    AtomicKind.ADD: (
        (Element.U32, u32), (Element.I32, u32), (Element.U64, u64), (Element.I64, u64),
        (Element.F16, f16), (Element.BF16, bf16), (Element.F32, f32), (Element.F64, f64),
    ),
    **dict.fromkeys(
        (AtomicKind.MIN, AtomicKind.MAX),
        (
            (Element.U32, u32), (Element.I32, i32), (Element.U64, u64), (Element.I64, i64),
        ),
    ),
    **dict.fromkeys((AtomicKind.INC, AtomicKind.DEC), ((Element.U32, u32),)),
    **dict.fromkeys(
        (AtomicKind.AND, AtomicKind.OR, AtomicKind.XOR),
        (
            (Element.U32, u32), (Element.I32, u32), (Element.U64, u64), (Element.I64, u64),
        ),
    ),
}  # fmt: skip
"""The elements that a reduction has, and the type that it computes in."""


def check_box(op: Op, box: Value, map_: Value, coordinates: tuple[Value, ...]) -> None:
    """Verify the operands that are a box in shared memory, a description and coordinates."""
    good = element_of(op, box) is u8 and space_of(box) is Space.SHARED
    op.require(good, f"{box.type}: a box begins at a pointer to u8 in shared memory")
    op.require(element_of(op, map_) is u64, f"{map_.type}: a description is a pointer to u64")
    rank = len(coordinates)
    op.require(1 <= rank <= tensor_map.MOST_DIMENSIONS, f"a tensor has no {rank} dimensions")
    op.require(all(v.type is i32 for v in coordinates), "coordinates are i32")


@operation("tensor_load")
class TensorLoad(Op):
    """Copy a box of the tensor that ``map`` describes to shared memory, and count its bytes at an
    mbarrier. PTX: ``cp.async.bulk.tensor``."""

    box: Value
    map: Value
    bar: Value
    coordinates: tuple[Value, ...]

    def check(self, scope: Scope) -> None:
        check_box(self, self.box, self.map, self.coordinates)
        check_barrier(self, self.bar)

    def expand(self, b: Builder) -> tuple[Value, ...]:
        b.emit(MbarrierComplete(self.bar, load_box(b, self.box, self.map, self.coordinates)))
        return ()


def load_box(b: Builder, box: Value, map_: Value, coordinates: tuple[Value, ...]) -> Value:
    """Copy a box of a tensor to memory of any space; its bytes, u32."""
    walk = _Walk(b, map_, box, coordinates)
    nan = b.binary(arith.Ne, walk.word(tensor_map.FILL), b.const(0, u32))
    fill = b.select(nan, b.const(0xFFFFFFFF, u32), b.const(0, u32))
    is_tf32 = b.eq(walk.word(tensor_map.TYPE), b.const(Element.TF32, u32))

    def copy(place: Value, there: Value, inside: Value, kind: DType) -> None:
        loaded = b.variable("loaded", kind)
        b.write(loaded, b.cast(fill, kind))
        with b.if_(inside):
            value = b.load(_global(b, there, kind))
            if kind is u32:
                value = b.select(is_tf32, _rounded(b, value), value)
            b.write(loaded, value)
        b.store(b.recast(place, pointer_beside(place, kind)), b.read(loaded))

    walk.units(copy)
    return walk.bytes


def _rounded(b: Builder, bits: Value) -> Value:
    """An f32 as tf32: to nearest, ties away from zero; infinities and NaN stay."""
    size = b.and_(bits, b.const(0x7F800000, u32))
    is_finite = b.lt(size, b.const(0x7F800000, u32))
    nearest = b.and_(b.add(bits, b.const(0x1000, u32)), b.const(0xFFFFE000, u32))
    return b.select(is_finite, nearest, bits)


@operation("tensor_store")
class TensorStore(Op):
    """Copy shared memory to a box of the tensor that ``map`` describes. PTX:
    ``cp.async.bulk.tensor``."""

    box: Value
    map: Value
    coordinates: tuple[Value, ...]

    def check(self, scope: Scope) -> None:
        check_box(self, self.box, self.map, self.coordinates)

    def expand(self, b: Builder) -> tuple[Value, ...]:
        def copy(place: Value, there: Value, inside: Value, kind: DType) -> None:
            with b.if_(inside):
                value = b.load(b.recast(place, pointer(kind, Space.SHARED)))
                b.store(_global(b, there, kind), value)

        _Walk(b, self.map, self.box, self.coordinates).units(copy, chunks=True)
        return ()


@operation("tensor_reduce")
class TensorReduce(Op):
    """Change each element of a box of the tensor that ``map`` describes by one of shared memory,
    atomically, in the type of the tensor's elements, which is one of ``REDUCTIONS``. PTX:
    ``cp.reduce.async.bulk.tensor``."""

    kind: AtomicKind
    box: Value
    map: Value
    coordinates: tuple[Value, ...]

    def check(self, scope: Scope) -> None:
        check_box(self, self.box, self.map, self.coordinates)
        self.require(self.kind in REDUCTIONS, f"no reduction of tensors is {self.kind.value}")

    def expand(self, b: Builder) -> tuple[Value, ...]:
        walk = _Walk(b, self.map, self.box, self.coordinates)
        number = walk.word(tensor_map.TYPE)
        for element, kind in REDUCTIONS[self.kind]:

            def change(place: Value, there: Value, inside: Value, kind: DType = kind) -> None:
                with b.if_(inside):
                    value = b.load(b.recast(place, pointer(kind, Space.SHARED)))
                    how = MemoryOrder.RELAXED, MemoryScope.DEVICE
                    b.value(Atomic(self.kind, _global(b, there, kind), value, *how))

            with b.if_(b.eq(number, b.const(element, u32))):
                walk.elements(change, kind.size, chunks=True)
        return ()


def _global(b: Builder, address: Value, kind: DType | VectorType) -> Value:
    return b.value(memory.FromAddress(address, pointer(kind, Space.GLOBAL)))


@operation("bulk_commit")
class BulkCommit(Op):
    """Make a group of the thread's stores and reductions of boxes that are in none yet. PTX:
    ``cp.async.bulk.commit_group``. Nothing where they are done at once."""

    def expand(self, b: Builder) -> tuple[Value, ...]:
        return ()


@operation("bulk_wait")
class BulkWait(Op):
    """Wait until at most the ``pending`` latest of the thread's groups of stores and reductions of
    boxes are in flight, or only until these have read shared memory. PTX:
    ``cp.async.bulk.wait_group``. Nothing where they are done at once."""

    pending: int
    only_reads: bool = False

    def check(self, scope: Scope) -> None:
        self.require(self.pending >= 0, f"cannot leave {self.pending} groups")

    def expand(self, b: Builder) -> tuple[Value, ...]:
        return ()


@operation("proxy_fence")
class ProxyFence(Op):
    """Order the thread's accesses before the copies of boxes and the products of warpgroups that
    follow. PTX: ``fence.proxy.async``. Nothing where these are done at once.

    Attributes:
        shared: of its accesses to shared memory of the block alone; the fence of all memory takes
            as long as one of the whole device.
    """

    shared: bool = False

    def expand(self, b: Builder) -> tuple[Value, ...]:
        return ()


_ActOnElement = Callable[[Value, Value, Value], None]
_Act = Callable[[Value, Value, Value, DType], None]


@contextmanager
def counted(b: Builder, count: Value) -> Generator[Value]:
    """A loop over the numbers below a count."""
    counter = b.variable("counter", u32)
    b.write(counter, b.const(0, u32))
    with b.loop() as loop:
        number = b.read(counter)
        b.break_if(b.not_(b.lt(number, count)))
        yield number
        with b.inside(loop.step):
            b.write(counter, b.add(b.read(counter), b.const(1, u32)))


class _Walk:
    """The elements of a box, in shared and global memory.

    Attributes:
        bytes: of the box, u32.
    """

    def __init__(self, b: Builder, map_: Value, box: Value, coordinates: tuple[Value, ...]) -> None:
        self.b, self.map, self.box = b, map_, box
        self.coordinates = [b.cast(each, i64) for each in coordinates]
        self.shift = self._shift()
        swizzle = self.word(tensor_map.SWIZZLE)
        one = b.const(1, u32)
        self.pattern = b.sub(b.binary(arith.Shl, one, swizzle), one)
        self.start = b.cast(b.value(memory.Address(box)), u32)
        self.counts = [self._count(n) for n in range(len(coordinates))]
        self.inner = b.binary(arith.Shl, self.counts[0], self.shift)
        width = b.binary(arith.Shl, b.const(16, u32), swizzle)
        self.pitch = b.select(b.eq(swizzle, b.const(0, u32)), self.inner, width)
        self.rows = one
        for count in self.counts[1:]:
            self.rows = b.mul(self.rows, count)
        self.bytes = b.mul(self.rows, self.inner)

    def word(self, place: int, kind: DType = u32) -> Value:
        """A number of the description."""
        b = self.b
        assert isinstance(self.map.type, PointerType)
        start = b.recast(self.map, pointer_beside(self.map, kind))
        return b.load(b.offset(start, b.const(place // kind.size, i32)))

    def _shift(self) -> Value:
        """The logarithm of an element's bytes."""
        b = self.b
        table = sum(shift << 4 * number for number, shift in enumerate(SHIFTS))
        place = b.binary(arith.Shl, self.word(tensor_map.TYPE), b.const(2, u32))
        nibble = b.binary(arith.Shr, b.const(table, u64), place)
        return b.and_(b.cast(nibble, u32), b.const(3, u32))

    def _step(self, dimension: int) -> Value:
        """Every which element is copied; of the first dimension, each."""
        return self.b.binary(
            arith.Max, self.word(tensor_map.STEPS + 4 * dimension), self.b.const(1, u32)
        )

    def _count(self, dimension: int) -> Value:
        """The elements that are copied along a dimension."""
        b, span = self.b, self.word(tensor_map.BOX + 4 * dimension)
        if not dimension:
            return span
        step = self._step(dimension)
        return b.div(b.add(span, b.sub(step, b.const(1, u32))), step)

    def _extent(self, dimension: int) -> Value:
        b = self.b
        extent = b.sub(self.word(tensor_map.EXTENTS + 4 * dimension), b.const(1, u32))
        return b.add(b.cast(extent, i64), b.const(1, i64))

    def units(self, act: _Act, chunks: bool = False) -> None:
        """Act on the words of the box; on smaller units where elements or the ends of rows are.

        Args:
            chunks: also on what follows a line that ends inside of a chunk of ``ALIGN`` bytes, as
                far as the description has it as memory.
        """
        b = self.b
        first = b.binary(arith.Shl, self.coordinates[0], self.shift)
        end = b.binary(arith.Shl, self._extent(0), self.shift)
        ends = b.and_(b.cast(b.or_(first, end), u32), b.const(3, u32))
        is_odd = b.binary(arith.Ne, b.and_(ends, b.const(1, u32)), b.const(0, u32))
        is_even = b.and_(b.not_(is_odd), b.binary(arith.Ne, ends, b.const(0, u32)))
        is_whole = b.eq(ends, b.const(0, u32))
        for holds, kind in ((is_whole, u32), (is_even, u16), (is_odd, u8)):
            with b.if_(holds):
                self.elements(
                    lambda place, there, inside, kind=kind: act(place, there, inside, kind),
                    kind.size,
                    chunks,
                )

    def elements(self, act: _ActOnElement, size: int, chunks: bool = False) -> None:
        """Act on each unit of a size: its place in shared memory, its address in global memory,
        and whether it is in the tensor."""
        b = self.b
        base = self.word(tensor_map.ADDRESS, u64)
        first = b.binary(arith.Shl, self.coordinates[0], self.shift)
        end = b.binary(arith.Shl, self._extent(0), self.shift)
        limit = self._limit(base, end) if chunks else None
        with counted(b, self.rows) as row:
            inside, start = self._row(row, base)
            line = b.mul(row, self.pitch)
            with counted(b, b.div(self.inner, b.const(size, u32))) as unit:
                byte = b.mul(unit, b.const(size, u32))
                place = b.add(first, b.cast(byte, i64))
                there = b.add(start, b.bitcast(place, u64))
                has = b.lt(place, end)
                if limit is not None:
                    is_memory = b.binary(arith.Le, b.add(there, b.const(size, u64)), limit)
                    has = b.or_(has, b.and_(is_memory, b.lt(place, self._whole(end))))
                has = b.and_(b.binary(arith.Ge, place, b.const(0, i64)), has)
                act(self._place(b.add(line, byte)), there, b.and_(inside, has))

    def _whole(self, end: Value) -> Value:
        """The end of a line's last chunk."""
        up = self.b.add(end, self.b.const(tensor_map.ALIGN - 1, i64))
        return self.b.and_(up, self.b.const(-tensor_map.ALIGN, i64))

    def _limit(self, base: Value, end: Value) -> Value:
        """Where the memory ends that the description has."""
        b = self.b
        far = b.cast(self.word(tensor_map.ROOM), u64)
        far = b.add(b.add(base, b.bitcast(end, u64)), far)
        for n in range(1, len(self.coordinates)):
            last = b.bitcast(b.sub(self._extent(n), b.const(1, i64)), u64)
            stride = self.word(tensor_map.STRIDES + 8 * (n - 1), u64)
            far = b.add(far, b.mul(last, stride))
        return far

    def _row(self, row: Value, base: Value) -> tuple[Value, Value]:
        """Whether a row of the box is in the tensor, and the address of its element 0."""
        b = self.b
        inside, address, rest = b.const(True, b1), base, row
        for n in range(1, len(self.coordinates)):
            index = b.rem(rest, self.counts[n])
            rest = b.div(rest, self.counts[n])
            moved = b.cast(b.mul(index, self._step(n)), i64)
            place = b.add(self.coordinates[n], moved)
            inside = b.and_(inside, b.binary(arith.Ge, place, b.const(0, i64)))
            inside = b.and_(inside, b.lt(place, self._extent(n)))
            stride = self.word(tensor_map.STRIDES + 8 * (n - 1), u64)
            address = b.add(address, b.mul(b.bitcast(place, u64), stride))
        return inside, address

    def _place(self, linear: Value) -> Value:
        """The place of a byte of the box, by its distance before the swizzle."""
        b = self.b
        plain = b.add(self.start, linear)
        row = b.and_(b.binary(arith.Shr, plain, b.const(7, u32)), self.pattern)
        moved = b.binary(arith.Xor, plain, b.binary(arith.Shl, row, b.const(4, u32)))
        return b.offset(self.box, b.cast(b.sub(moved, self.start), i32))
