"""Cases of memory: loads and stores, addresses, arrays, variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from gridlane.conformance.cases import Case
from gridlane.conformance.effects.making import THREADS, case, out, stretched
from gridlane.conformance.kernels import Kernel
from gridlane.core import dtypes
from gridlane.core.dtypes import ALL, INTEGERS, DType, b1, f32, f64, i8, i32, u8, u32, u64
from gridlane.ir.builder import Builder
from gridlane.ir.ops import grid, memory
from gridlane.ir.types import (
    ArrayType,
    PointerType,
    Space,
    StructType,
    Type,
    pointer,
    struct,
    vector,
)
from gridlane.ir.values import Global, Value

RECORD = struct("record", {"tag": i8, "x": f32, "pair": vector(dtypes.i16, 2), "y": f64})


PACKED = StructType("packed", ("a", "b", "c"), (u8, f32, u64), (0, 1, 5), 13, 1)


def loads_and_stores() -> Iterator[Case]:
    types: list[Type] = [*ALL, vector(f32, 4), vector(i8, 3), vector(f64, 2), RECORD, PACKED]
    for type_ in types:

        def copy(kernel: Kernel) -> list[np.ndarray]:
            kernel.store(kernel.load(type_))
            if isinstance(type_, DType):
                return [stretched(type_), out(type_)]
            data = np.arange(2 * THREADS * type_.size, dtype=np.uint8).reshape(-1, type_.size)
            return [data % 113, out(type_)]

        name = getattr(type_, "name", str(type_))
        for op in ("load", "store"):
            yield case(op, name, copy)

    def volatile(kernel: Kernel) -> list[np.ndarray]:
        b = kernel.builder
        value = b.load(kernel.own(kernel.array(f32)), volatile=True)
        b.store(kernel.own(kernel.array(f32)), value, volatile=True)
        return [stretched(f32), out(f32)]

    yield case("load", "volatile", volatile)

    def masked(kernel: Kernel) -> list[np.ndarray]:
        """Lanes with a null pointer do not load or store."""
        b = kernel.builder
        source, target = kernel.array(i32), kernel.array(i32)
        odd = b.eq(b.and_(kernel.thread, b.const(1, i32)), b.const(1, i32))
        null = b.const(0, pointer(i32))
        with b.if_(odd):
            address = b.select(odd, kernel.own(source), null)
            b.store(b.select(odd, kernel.own(target), null), b.load(address))
        return [stretched(i32), out(i32)]

    yield case("load", "masked", masked)


def addresses() -> Iterator[Case]:
    for index in INTEGERS:

        def reach(kernel: Kernel) -> list[np.ndarray]:
            b = kernel.builder
            source = kernel.array(f32)
            middle = b.offset(source, b.const(100, i32))
            back = b.value(memory.Offset(middle, b.cast(kernel.local, index)))
            if index.is_signed:
                back = b.value(memory.Offset(middle, b.neg(b.cast(kernel.local, index))))
            kernel.store(b.load(back))
            return [np.arange(256, dtype=np.float32), out(f32)]

        yield case("offset", str(index), reach)

    def fields(kernel: Kernel) -> list[np.ndarray]:
        b = kernel.builder
        address = kernel.own(kernel.array(RECORD))
        for number in range(len(RECORD.types)):
            field = b.field_pointer(address, number)
            kernel.store(b.load(field))
        return [np.ones((2 * THREADS, RECORD.size), np.uint8) * 3, *map(out, RECORD.types)]

    yield case("field_pointer", "struct", fields)

    def nested(kernel: Kernel) -> list[np.ndarray]:
        b = kernel.builder
        row = ArrayType(i32, 4)
        first = b.field_pointer(kernel.own(kernel.array(row)), 0)
        kernel.store(b.load(b.offset(first, b.const(2, i32))))
        return [np.arange(8 * THREADS, dtype=np.int32), out(i32)]

    yield case("field_pointer", "array", nested)

    def recast(kernel: Kernel) -> list[np.ndarray]:
        b = kernel.builder
        address = kernel.own(kernel.array(f32))
        octet = b.offset(b.recast(address, pointer(u8)), b.const(3, i32))
        generic = b.recast(address, pointer(u32, Space.GENERIC))
        kernel.store(b.load(octet))
        kernel.store(b.load(generic))
        return [stretched(f32), out(u8), out(u32)]

    yield case("recast", "", recast)

    def through_integers(kernel: Kernel) -> list[np.ndarray]:
        b = kernel.builder
        address = kernel.own(kernel.array(i32))
        whole = b.value(memory.Address(address))
        other = b.value(memory.FromAddress(whole, pointer(i32, Space.GENERIC)))
        kernel.store(b.load(other))
        start = b.value(memory.Address(kernel.function.params[0].value))
        kernel.store(b.sub(whole, start))
        kernel.store(b.eq(address, kernel.function.params[0].value))
        return [stretched(i32), out(i32), out(u64), out(b1)]

    yield case("address", "", through_integers)
    yield case("from_address", "", through_integers)


def arrays_of_the_kernel() -> Iterator[Case]:
    def constant(kernel: Kernel) -> list[np.ndarray]:
        b = kernel.builder
        data = np.arange(256, dtype=np.int16).tobytes()
        table = Global("table", dtypes.i16, 256, Space.CONSTANT, data=data)
        kernel.module.globals["table"] = table
        address = b.value(memory.GlobalAddress("table", pointer(dtypes.i16, Space.CONSTANT)))
        kernel.store(b.load(b.offset(address, kernel.thread)))
        return [out(dtypes.i16)]

    yield case("global", "constant", constant)

    def shared(kernel: Kernel) -> list[np.ndarray]:
        for name, type_ in (("first", u8), ("tile", f32)):
            kernel.module.globals[name] = Global(name, type_, THREADS, Space.SHARED)

        def start(b: Builder) -> Value:
            return b.value(memory.GlobalAddress("tile", pointer(f32, Space.SHARED)))

        return reverse(kernel, start)

    def reverse(kernel: Kernel, start: Callable[[Builder], Value]) -> list[np.ndarray]:
        """A block reverses its values, in shared memory."""
        b = kernel.builder
        value, tile = kernel.load(f32), start(b)
        b.store(b.offset(tile, kernel.local), value)
        b.emit(grid.Barrier())
        other = b.sub(b.const(THREADS - 1, i32), kernel.local)
        kernel.store(b.load(b.offset(tile, other)))
        return [stretched(f32), out(f32)]

    yield case("global", "shared", shared)
    yield case("barrier", "", shared)

    def dynamic(kernel: Kernel) -> list[np.ndarray]:
        def start(b: Builder) -> Value:
            return b.value(memory.DynamicShared(pointer(f32, Space.SHARED)))

        return reverse(kernel, start)

    yield case("dynamic_shared", "", dynamic, shared=4 * THREADS)

    def dynamic_size(kernel: Kernel) -> list[np.ndarray]:
        kernel.store(kernel.builder.value(grid.DynamicSharedSize()))
        return [out(i32)]

    yield case("dynamic_shared_size", "", dynamic_size, shared=4 * THREADS + 5)

    for type_ in (i8, f64, vector(f32, 2)):

        def local(kernel: Kernel) -> list[np.ndarray]:
            """Filled and read at divergent indices, by two arrays of each thread."""
            b = kernel.builder
            value = kernel.load(type_)
            own, other = (b.value(memory.LocalArray(type_, 5)) for _ in range(2))
            index = b.rem(kernel.thread, b.const(5, i32))
            for number in range(5):
                b.store(b.offset(own, b.const(number, i32)), b.zero(type_))
                b.store(b.offset(other, b.const(number, i32)), value)
            b.store(b.offset(own, index), value)
            kernel.store(b.load(b.offset(own, b.const(2, i32))))
            kernel.store(b.load(b.offset(other, index)))
            data = np.arange(2 * THREADS * type_.size, dtype=np.uint8) % 97
            return [data.reshape(-1, type_.size), out(type_), out(type_)]

        yield case("local_array", str(type_), local)


def variables_and_parts() -> Iterator[Case]:
    for type_ in (*ALL, vector(f32, 4), RECORD, pointer(f32)):

        def divergent(kernel: Kernel) -> list[np.ndarray]:
            """Written by some of the threads; in the others it stays zero."""
            b = kernel.builder
            var = b.variable("v", type_)
            value = kernel.load(type_)
            with b.if_(b.lt(b.rem(kernel.thread, b.const(3, i32)), b.const(2, i32))):
                b.write(var, value)
            kernel.store(b.read(var))
            if isinstance(type_, DType):
                return [stretched(type_), out(type_)]
            data = np.arange(2 * THREADS * type_.size, dtype=np.uint8) % 101
            if isinstance(type_, PointerType):  # whose upper half some devices do not have
                data = (np.arange(2 * THREADS) * 1_000_003).astype("<u8").view(np.uint8)
            return [data.reshape(-1, type_.size), out(type_)]

        for op in ("read", "write"):
            yield case(op, getattr(type_, "name", str(type_)), divergent)

    def parts(kernel: Kernel) -> list[np.ndarray]:
        b = kernel.builder
        x, y = kernel.load(f32), kernel.load(i8)
        four = b.value(memory.Pack((x, b.neg(x), x, b.const(1, f32)), vector(f32, 4)))
        pair = b.value(memory.Pack((b.cast(y, dtypes.i16),) * 2, vector(dtypes.i16, 2)))
        record = b.value(memory.Pack((y, x, pair, b.cast(x, f64)), RECORD))
        kernel.store(four)
        kernel.store(b.value(memory.Part(four, 1)))
        kernel.store(b.value(memory.Part(record, 2)))
        kernel.store(b.value(memory.Part(record, 3)))
        results = [out(t) for t in (vector(f32, 4), f32, vector(dtypes.i16, 2), f64)]
        # No NaN: its sign and payload are unspecified, and records compare by bytes.
        return [np.nan_to_num(stretched(f32)), stretched(i8), *results]

    yield case("pack", "", parts)
    yield case("part", "", parts)
