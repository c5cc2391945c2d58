"""The state of the lowering of one program: values, memory of tiles, and what threads have
accessed since they last met."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from gridlane.core.dtypes import DType, b1, i32, u32
from gridlane.core.errors import TargetError
from gridlane.core.frozen import frozen
from gridlane.core.source import Loc
from gridlane.ir.builder import Builder
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, grid, memory
from gridlane.ir.ops.shared_matrix import ALIGN
from gridlane.ir.ops.tensors import BulkWait, ProxyFence
from gridlane.ir.ops.warpgroups import WARPS, WarpgroupWait
from gridlane.ir.types import Space, TileType, Type, pointer, vector
from gridlane.ir.values import Function, Module, Region, Value, Var
from gridlane.passes.tiles import decisions
from gridlane.passes.tiles.accesses import DEVICE, Accesses
from gridlane.passes.tiles.contiguity import Contiguity
from gridlane.passes.tiles.halves import half, pair
from gridlane.passes.tiles.indices import (
    ZERO,
    BitIndex,
    Bits,
    Coordinates,
    Index,
    as_value,
    flattened,
    log2,
    quotient,
    swapped,
    unflattened,
)
from gridlane.passes.tiles.layouts import Layout, is_same
from gridlane.passes.tiles.machine import WARP, TileMachine
from gridlane.passes.tiles.placement import Placement
from gridlane.passes.tiles.shared import SharedMemory, life_of, life_of_variable
from gridlane.passes.tiles.turns import Turns

PROGRAM = 1
"""The number of the barrier of the program's threads, where the block has more."""


@dataclass(slots=True, eq=False)
class Storage:
    """The memory of a tile: its elements in row-major order in shared memory or, if ``own``, for
    each thread those that it computes.

    Attributes:
        pad: elements behind each line in shared memory.
        swizzle: bytes of a line that lie together, if lines are in panels of so many bytes whose 16
            bytes change places (``ir.ops.shared_matrix``); else 0.
        turned: lines are columns there, those of the last two axes.
        start: of a stage of a ring, the number of its first element.
        pitch, skip: of a ring whose stages follow those of another one: elements from a stage to
            the next, and in front of the first one.
        layout, registers: of the thread's own elements, where they are variables.
        pairs: a register holds two neighbours, which are written one after the other.
        low: the first of them, until the second one is written.
    """

    type: TileType
    own: bool
    symbol: str = ""
    array: Value | None = None
    pad: int = 0
    swizzle: int = 0
    turned: bool = False
    start: Value | None = None
    pitch: int = 0
    skip: int = 0
    layout: Layout | None = None
    registers: tuple[Var, ...] = ()
    pairs: bool = False
    low: tuple[int, Value] | None = None

    @property
    def stride(self) -> int:
        """Elements from the start of a line to the next in shared memory."""
        return self.type.shape[-2 if self.turned else -1] + self.pad

    @property
    def count(self) -> int:
        """The elements of its shared memory, with the pads."""
        return self.type.count // (self.stride - self.pad) * self.stride


@dataclass(slots=True, eq=False)
class Flight:
    """A product by warpgroups that has started and is not awaited yet.

    Attributes:
        sums: the variables that it changes.
        words: of its left factor in registers, which stay as they are until it is awaited.
        enders: the ops that it must be awaited in front of.
        behind: what follows once it is.
    """

    op: Op
    sums: tuple[Var, ...]
    words: tuple[Value, ...]
    enders: frozenset[Op]
    behind: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])


@frozen
class NextLines:
    """Arrays of addresses, of each of which a product fetches some cache lines.

    Attributes:
        arrays: their symbols; counts: how many addresses each has; lines: of each address.
    """

    arrays: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()
    lines: tuple[int, ...] = ()


@dataclass(slots=True)
class State:
    """The lowering of one program.

    Attributes:
        b: builds the code.
        threads: of the block.
        thread: this thread's number.
        values: what scalars of the program have become.
        stored, variables: the memory of tiles and of variables.
        pending: accesses since the threads last met.
        arrays: shared memory.
        late: starts copies, which the next product by warpgroups does while it runs.
        now: the number of the op that is being lowered.
        contiguity: what is known of addresses and masks.
        turns: loops whose warpgroups take turns.
        open: products that have started in this region and are not awaited yet, in order.
        by_registers: each element that this thread needs is computed by code of its own.
        flights: products that are left in flight.
        behind: what follows an op once it is lowered.
        fragments: variables of sums that a loop holds in fragments, and these.
        rings: loads of the producer, and the stages of each.
        joint: products whose right factors lie one behind the other (``joint_products.py``).
        tensor_stores: stores by tensor maps, with the parameters that are these.
        pieces: the shared memory of their boxes (``tensor_stores.py``).
        has_producer: the block has a warp more, which copies tiles to shared memory.
        ahead: loads of pipelines, and what stands in their place.
        next_lines: products on processors that fetch what is loaded next, and what writes the
            addresses of it.
        memo: the elements that were computed for the element of a loop that is being emitted.
    """

    module: Module
    function: Function
    machine: TileMachine
    placement: Placement
    b: Builder
    threads: int
    thread: Value
    arrays: SharedMemory
    contiguity: Contiguity
    values: dict[Value, Value] = field(default_factory=dict[Value, Value])
    stored: dict[Value, Storage] = field(default_factory=dict[Value, Storage])
    variables: dict[Var, Storage] = field(default_factory=dict[Var, Storage])
    pending: Accesses = field(default_factory=Accesses)
    phase: Accesses | None = None
    memo: dict[tuple[Value, Coordinates], Value] = field(
        default_factory=dict[tuple[Value, Coordinates], Value]
    )
    ahead: dict[Op, Callable[[], None]] = field(default_factory=dict[Op, Callable[[], None]])
    behind: dict[Op, list[Callable[[], None]]] = field(
        default_factory=dict[Op, list[Callable[[], None]]]
    )
    next_lines: dict[Op, Callable[[], NextLines]] = field(
        default_factory=dict[Op, Callable[[], NextLines]]
    )
    flights: set[Op] = field(default_factory=set[Op])
    rings: dict[Op, int] = field(default_factory=dict[Op, int])
    joint: dict[Op, Op] = field(default_factory=dict[Op, Op])
    has_producer: bool = False
    tensor_stores: dict[Op, Value] = field(default_factory=dict[Op, Value])
    pieces: str = ""
    fragments: dict[Var, list[Var]] = field(default_factory=dict[Var, list[Var]])
    turns: Turns = field(default_factory=Turns)
    open: list[Flight] = field(default_factory=list[Flight])
    by_registers: bool = False
    late: Callable[[], None] | None = None
    entry: list[Op] = field(default_factory=list[Op])
    now: int = 0

    def of(self, value: Value) -> Value:
        """What a scalar has become."""
        return self.values.get(value, value)

    def lane(self) -> Index:
        """This thread's number as an index."""
        bits = log2(self.threads)
        assert bits is not None
        return BitIndex(0, (Bits(self.thread, 0, bits, 0, True),))

    # ---- memory

    def allocate(
        self,
        type_: TileType,
        own: bool,
        loc: Loc,
        value: Value | Var | None = None,
        turned: bool = False,
        swizzled: bool = False,
    ) -> Storage:
        """Memory for a tile: for the life of a value or variable, or while the current op is
        lowered."""
        name = value.name if isinstance(value, Var) else ""
        layouts = self.placement.layouts
        layout = layouts.get(self.op if value is None else value) if own else None
        if layout is not None:
            decisions.stored(self.machine, type_, loc, layout.count, name=name)
            return self.in_registers(type_, layout, value in self.placement.paired)
        if own:
            count = -(-type_.count // self.threads)
            decisions.stored(self.machine, type_, loc, count, name=name)
            array = memory.LocalArray(type_.element, count, loc=loc)
            self.entry.append(array)
            return Storage(type_, True, array=array.results[0])
        pad = self.placement.padded.get(value, 0) if isinstance(value, Value) else 0
        swizzle = swizzle_of(type_, turned) if swizzled or value in self.placement.swizzled else 0
        storage = Storage(type_, False, pad=pad, swizzle=swizzle, turned=turned)
        decisions.stored(self.machine, type_, loc, 0, name=name)
        align = ALIGN if swizzle else 16
        storage.symbol = self.shared(type_.element, storage.count, value, align)
        return storage

    def ring(self, value: Value, turned: bool, stages: int, life: tuple[int, int]) -> Storage:
        """Shared memory for a tile of several iterations; ``stage`` is one of them."""
        type_ = value.type
        assert isinstance(type_, TileType)
        swizzle = swizzle_of(type_, turned) if value in self.placement.swizzled else 0
        pad = self.placement.padded[value]
        ring = Storage(type_, False, pad=pad, swizzle=swizzle, turned=turned)
        align = ALIGN if swizzle else 16
        ring.symbol = self.arrays.allot(type_.element, stages * ring.count, life, align)
        return ring

    def stage(self, ring: Storage, slot: Value) -> Storage:
        """One tile of a ring. Its accesses are not noted: the pipeline orders them."""
        start = self.b.mul(slot, self.b.const(ring.pitch or ring.count, i32))
        if ring.skip:
            start = self.b.add(start, self.b.const(ring.skip, i32))
        return replace(ring, start=start)

    def variable_of(self, op: Op) -> Storage | None:
        """The memory of the variable that an op reads; None where it reads none."""
        return self.variables[op.var] if isinstance(op, memory.ReadVar) else None

    def in_registers(self, type_: TileType, layout: Layout, pairs: bool = False) -> Storage:
        """Variables for the elements that a layout places in a thread; ``pairs``: words of two."""
        element, count = (u32, layout.count // 2) if pairs else (type_.element, layout.count)
        registers = tuple([self.b.variable("own", element) for _ in range(count)])
        return Storage(type_, True, layout=layout, registers=registers, pairs=pairs)

    def shared(
        self, element: Type, count: int, value: Value | Var | None = None, align: int = 16
    ) -> str:
        """An array in shared memory; see ``allocate``."""
        life = self.now, self.now
        if isinstance(value, Value):
            life = life_of(self.placement, value)
        elif value is not None:
            life = life_of_variable(self.placement.order, value, self._readers(value))
        return self.arrays.allot(element, count, life, align)

    def _readers(self, var: Var) -> list[Op]:
        """The ops that need elements of a variable."""
        order, uses = self.placement.order, self.placement.uses
        reads = [op for op in order.ops if isinstance(op, memory.ReadVar) and op.var is var]
        return [use.root for read in reads for use in uses[read.results[0]]]

    def pointer_to(self, symbol: str) -> Value:
        """The address of an array in shared memory."""
        element = self.module.globals[symbol].element
        return self.b.value(memory.GlobalAddress(symbol, pointer(element, Space.SHARED)))

    def address(self, storage: Storage, at: Coordinates) -> Value:
        """The address of an element."""
        if storage.swizzle:
            return self._swizzled_address(storage, at)
        if not storage.own and (storage.pad or storage.turned or storage.start is not None):
            return self._line_address(storage, at)
        number = flattened(self.b, at, storage.type.shape)
        if storage.own:
            assert storage.array is not None
            slot = quotient(self.b, number, self.threads)
            return self.b.offset(storage.array, as_value(self.b, slot))
        return self.b.offset(self.pointer_to(storage.symbol), as_value(self.b, number))

    def _line_address(self, storage: Storage, at: Coordinates) -> Value:
        """The address in lines with pads; what is known of it is added last."""
        b, shape, known = self.b, storage.type.shape, 0
        if storage.turned:
            at, shape = swapped(at), swapped(shape)
        line, column = flattened(b, at[:-1], shape[:-1]), at[-1]
        if isinstance(line, BitIndex):
            known += line.constant * storage.stride
            line = BitIndex(0, line.parts)
        if isinstance(column, BitIndex):
            known += column.constant
            column = BitIndex(0, column.parts)
        pointer = self.pointer_to(storage.symbol)
        if storage.start is not None:
            pointer = b.offset(pointer, storage.start)
        start = b.mul(as_value(b, line), b.const(storage.stride, i32))
        pointer = b.offset(pointer, b.add(start, as_value(b, column)))
        return b.offset(pointer, b.const(known, i32)) if known else pointer

    def chunk_address(self, storage: Storage, at: Coordinates) -> Value:
        """The address of the 16 bytes that begin with an element, which is a multiple of them: in
        units of them, so that compilers of shaders add what is known of it last."""
        b, shape = self.b, storage.type.shape
        assert isinstance(storage.type.element, DType) and not storage.own and not storage.swizzle
        if storage.turned:
            at, shape = swapped(at), swapped(shape)
        line, column = flattened(b, at[:-1], shape[:-1]), at[-1]
        bits = log2(16 // storage.type.element.size) or 0
        stride, known = storage.stride >> bits, 0
        if isinstance(line, BitIndex):
            known += line.constant * stride
            line = BitIndex(0, line.parts)
        assert isinstance(column, BitIndex)
        column = column.high(bits)
        known += column.constant
        column = BitIndex(0, column.parts)
        kind = pointer(vector(u32, 4), Space.SHARED)
        address = b.recast(self.pointer_to(storage.symbol), kind)
        if storage.start is not None:
            address = b.offset(address, b.value(arith.Shr(storage.start, b.const(bits, i32))))
        start = b.mul(as_value(b, line), b.const(stride, i32))
        address = b.offset(address, b.add(start, as_value(b, column)))
        return b.offset(address, b.const(known, i32)) if known else address

    def _swizzled_address(self, storage: Storage, at: Coordinates) -> Value:
        """The address in panels of ``swizzle`` bytes of all lines, whose 16 bytes change places by
        the number of the line."""
        b, shape = self.b, storage.type.shape
        if storage.turned:
            at, shape = swapped(at), swapped(shape)
        *shape, _ = shape
        line, column = as_value(b, flattened(b, at[:-1], tuple(shape))), at[-1]
        assert isinstance(column, BitIndex) and isinstance(storage.type.element, DType)
        size = storage.type.element.size
        chunk, width = log2(16 // size) or 0, log2(storage.swizzle // size) or 0
        pattern, shift = storage.swizzle // 16 - 1, 7 - (log2(storage.swizzle) or 0)
        moves = line if not shift else b.value(arith.Shr(line, b.const(shift, i32)))
        moves = b.and_(moves, b.const(pattern, i32))
        inner = column.below(width).high(chunk).value(b)
        place = b.mul(b.value(arith.Xor(inner, moves)), b.const(1 << chunk, i32))
        place = b.add(place, column.below(chunk).value(b))
        panel = b.mul(column.high(width).value(b), b.const(math.prod(shape) << width, i32))
        place = b.add(b.add(panel, b.mul(line, b.const(1 << width, i32))), place)
        pointer = self.pointer_to(storage.symbol)
        if storage.start is not None:
            pointer = b.offset(pointer, storage.start)
        return b.offset(pointer, place)

    def read(self, storage: Storage, at: Coordinates) -> Value:
        """An element of a stored tile."""
        if storage.layout is not None:
            return self._from_register(storage, self._number_of(storage, at))
        if not storage.own and storage.start is None:
            self.touch(storage.symbol)
        return self.b.load(self.address(storage, at))

    def write(self, storage: Storage, at: Coordinates, value: Value) -> None:
        """Store an element."""
        if storage.layout is not None:
            self._to_register(storage, self._number_of(storage, at), value)
            return
        if not storage.own:
            self.touch(storage.symbol, True)
        self.b.store(self.address(storage, at), value)

    def _number_of(self, storage: Storage, at: Coordinates) -> int:
        """The number of an element of this thread among its own."""
        layout, number = storage.layout, flattened(self.b, at, storage.type.shape)
        assert layout is not None and isinstance(number, BitIndex)
        register = layout.register(number.constant)
        own = layout.at(register, self.thread)
        assert is_same(own, number), "a thread reads its own elements"
        return register

    def _from_register(self, storage: Storage, number: int) -> Value:
        if not storage.pairs:
            return self.b.read(storage.registers[number])
        word, type_ = self.b.read(storage.registers[number // 2]), storage.type.element
        assert isinstance(type_, DType)
        return half(self.b, word, bool(number % 2), type_)

    def _to_register(self, storage: Storage, number: int, value: Value) -> None:
        if not storage.pairs:
            self.b.write(storage.registers[number], value)
        elif number % 2 == 0:
            storage.low = number, value
        else:
            assert storage.low is not None and storage.low[0] == number - 1
            self.b.write(storage.registers[number // 2], pair(self.b, storage.low[1], value))
            storage.low = None

    # ---- threads

    def touch(self, resource: str, writes: bool = False) -> None:
        """Note an access of what threads share."""
        assert self.phase is not None, "accesses are in phases"
        (self.phase.writes if writes else self.phase.reads).add(resource)

    @contextmanager
    def together(self) -> Generator[None]:
        """Code in which threads do not wait for each other; they meet in front of it if what it
        accesses may be what others have."""
        outer, region = self.phase, Region()
        self.phase = Accesses()
        memo, self.memo = self.memo, {}
        with self.b.inside(region):
            yield
        done, self.phase, self.memo = self.phase, outer, memo
        if self.pending.clash(done):
            self.meet()
        self.pending.add(done)
        self.b.region.ops += region.ops

    def meet(self, shared: bool = False) -> None:
        """A barrier of the program's threads, behind which warpgroups see what they have stored.

        Args:
            shared: no thread has stored to device memory what others read behind it.
        """
        self.land()
        if self.tensor_stores:
            self.b.emit(BulkWait(0))
        if any(schedule.groups for schedule in self.placement.products.values()):
            self.b.emit(ProxyFence(shared=True))
        if self.has_producer:
            number, count = self.b.const(PROGRAM, u32), self.b.const(self.threads, u32)
            none = self.b.const(False, b1)
            self.b.emit(grid.BarrierPart(grid.Reduction.NONE, number, count, none))
        elif not self.machine.lockstep:
            self.b.emit(grid.Barrier(shared))
        self.pending = Accesses({DEVICE}) if shared else Accesses()

    def land(self, last: Flight | None = None) -> None:
        """Await products that have started: up to one, or all."""
        b, count = self.b, len(self.open) if last is None else self.open.index(last) + 1
        done, self.open = self.open[:count], self.open[count:]
        if not done:
            return
        sums = [var for flight in done for var in flight.sums]
        values = [*map(b.read, sums), *[word for flight in done for word in flight.words]]
        wait = WarpgroupWait(len(self.open), self.is_alone(), tuple(values))
        for var, value in zip(sums, b.emit(wait).results, strict=False):
            b.write(var, value)
        for flight in done:
            for act in flight.behind:
                act()

    def behind_it(self, op: Op) -> None:
        """Do what follows an op, once it is done."""
        acts = self.behind.pop(op, [])
        flight = next((each for each in self.open if each.op is op), None)
        if flight is not None:
            flight.behind += acts
            return
        for act in acts:
            act()

    def is_alone(self) -> bool:
        """Whether a block is one warpgroup."""
        return self.threads == WARP * WARPS and not self.has_producer

    @contextmanager
    def counted(self, end: int | Value, name: str = "element", start: int = 0) -> Generator[Value]:
        """A loop from ``start`` to ``end``; the block has its counter. Without a loop where it
        runs once."""
        b = self.b
        if end == start + 1:
            yield b.const(start, i32)
            return
        counter = b.variable(name, i32)
        b.write(counter, b.const(start, i32))
        stop = b.const(end, i32) if isinstance(end, int) else end
        memo, self.memo = self.memo, {}
        with b.loop() as loop:
            now = b.read(counter)
            b.break_if(b.value(arith.Ge(now, stop)))
            yield now
        self.memo = memo
        with b.inside(loop.step):
            b.write(counter, b.add(b.read(counter), b.const(1, i32)))

    @contextmanager
    def where(self, condition: Value | None) -> Generator[None]:
        """Code under a condition, if there is one."""
        if condition is None:
            yield
            return
        memo, self.memo = self.memo, dict(self.memo)
        with self.b.if_(condition):
            yield
        self.memo = memo

    @contextmanager
    def elements(self, shape: tuple[int, ...]) -> Generator[Coordinates]:
        """A loop over the elements of this thread; the block has the coordinates of one."""
        count = 1
        for extent in shape:
            count *= extent
        trips = -(-count // self.threads)
        with self.counted(trips) as counter:
            number, inside = self._number(counter, trips, count)
            with self.where(inside):
                yield unflattened(self.b, number, shape)

    @property
    def op(self) -> Op:
        """The op that is being lowered."""
        return self.placement.order.ops[self.now]

    def own_elements(self, shape: tuple[int, ...]) -> Iterator[Coordinates]:
        """The coordinates of this thread's elements of the current op: in a loop, or one after
        the other where they are in registers."""
        layout = self.placement.layouts.get(self.op)
        if layout is None:
            with self.elements(shape) as at:
                yield at
            return
        yield from self.places(layout, shape)

    def sole(self) -> Value | None:
        """Whether this thread has the current op's elements, of those that have the same; None
        where no others have."""
        layout, b = self.placement.layouts.get(self.op), self.b
        if layout is None or layout.is_sole():
            return None
        copies = sum(1 << bit for bit, step in enumerate(layout.threads) if not step)
        return b.eq(b.and_(self.thread, b.const(copies, i32)), b.const(0, i32))

    def places(self, layout: Layout, shape: tuple[int, ...]) -> Iterator[Coordinates]:
        """The coordinates of this thread's registers, for each of which code is written."""
        before, self.by_registers = self.by_registers, True
        for register in range(layout.count):
            yield unflattened(self.b, layout.at(register, self.thread), shape)
        self.by_registers = before

    def _number(self, counter: Value, trips: int, count: int) -> tuple[Index, Value | None]:
        """The row-major number of this thread's element, and whether there is one."""
        bits, lane = log2(count), self.lane()
        assert isinstance(lane, BitIndex)
        width = lane.parts[0].count
        if bits is not None and count >= self.threads:
            outer = ZERO
            if bits > width:
                outer = BitIndex(0, (Bits(counter, 0, bits - width, 0, True),))
            return outer.joined(lane, width), None
        b = self.b
        if bits is not None:
            return lane.below(bits), b.lt(self.thread, b.const(count, i32))
        first = b.mul(counter, b.const(self.threads, i32))
        number = b.add(first, self.thread)
        whole = count % self.threads == 0
        return number, None if whole else b.lt(number, b.const(count, i32))

    def is_first(self) -> Value:
        """Whether this is thread 0."""
        return self.b.eq(self.thread, self.b.const(0, i32))


def swizzle_of(type_: TileType, turned: bool) -> int:
    """The bytes of the panels of a tile's lines."""
    assert isinstance(type_.element, DType)
    return min(128, type_.shape[-2 if turned else -1] * type_.element.size)


def refuse(op: Op, text: str) -> TargetError:
    """The error of an op that tile programs cannot have."""
    return TargetError(f"{op.name}: {text}", op.loc)
