"""Store the values that live across grid barriers in device memory, and restore them.

The memory of a launch begins with a word for each barrier, followed by the values that all threads
have in common, 8 bytes for each scalar. A step reads the copy that the previous step wrote, and
writes the other copy, so blocks that are done with a step need not wait for others. The words of 8
bytes of all threads follow, the first word of all threads first, so neighbouring threads access
neighbouring words; then their words of 4 bytes; then the shared memory of each block. A value
narrower than a word takes 4 bytes.

A part stores only what it changes. The first part stores whether a thread has ended; the others
store only that it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from gridlane.core.dtypes import DType, b1, f32, f64, i32, i64, u16, u32, u64
from gridlane.core.errors import TargetError
from gridlane.core.grid_plan import flag_bytes
from gridlane.ir.builder import Builder
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, grid, memory
from gridlane.ir.types import ArrayType, PointerType, Space, StructType, Type, pointer
from gridlane.ir.values import Module, Value, Var
from gridlane.passes.structure.grid_parts.crossing import Live

Place = Callable[[DType, int], Value]
"""A function that gives the address of the word of a type with a number."""


@dataclass(slots=True)
class Sizes:
    """Counts of words."""

    wide: int = 0
    narrow: int = 0

    def add(self, type_: DType, count: int = 1) -> int:
        """Allocate words of a type; return the number of the first among those of its size."""
        if type_.size == 8:
            first, self.wide = self.wide, self.wide + count
        else:
            first, self.narrow = self.narrow, self.narrow + count
        return first

    def add_all(self, type_: Type, count: int = 1) -> list[int]:
        """Allocate so many values; return the numbers of the first words of their scalars."""
        return [self.add(stored_type(leaf), count) for leaf in _leaves(type_)]

    @property
    def bytes(self) -> int:
        """Their bytes."""
        return 8 * self.wide + 4 * self.narrow


@dataclass(slots=True)
class Shared:
    """The static shared arrays of a module that are stored, and their offsets in the memory of a
    block.

    Attributes:
        first: by the name of an array, the numbers of the first words of its scalars.
        sizes: of all arrays.
        dynamic: whether dynamic shared memory is stored as well, behind them.
    """

    first: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    sizes: Sizes = field(default_factory=Sizes)
    dynamic: bool = False

    def add(self, module: Module, op: Op) -> None:
        """Allocate words for an array."""
        if isinstance(op, memory.DynamicShared):
            self.dynamic = True
        elif isinstance(op, memory.GlobalAddress) and op.symbol not in self.first:
            item = module.globals[op.symbol]
            element, count = _by_words(item.element, item.count)
            self.first[op.symbol] = self.sizes.add_all(element, count)

    @property
    def block_bytes(self) -> int:
        """Bytes of a block's static arrays."""
        return -(-self.sizes.bytes // 8) * 8


def stored_type(type_: Type) -> DType:
    """The type of the word that holds a scalar or an address."""
    if isinstance(type_, PointerType):
        return u64
    assert isinstance(type_, DType)
    return type_ if type_.size >= 4 else u32


def _leaves(type_: Type) -> list[Type]:
    """The scalars and addresses of a type, in order."""
    if isinstance(type_, ArrayType):
        return [leaf for _ in range(type_.count) for leaf in _leaves(type_.element)]
    parts = memory.part_types(type_)
    return [leaf for part in parts for leaf in _leaves(part)] if parts else [type_]


def _by_words(element: Type, count: int) -> tuple[Type, int]:
    """The same array as whole words, if its scalars are narrow and fill whole words."""
    if isinstance(element, DType) and element.size < 4 and element.size * count % 4 == 0:
        return u32, element.size * count // 4
    return element, count


@dataclass(slots=True)
class Words:
    """The words of everything that lives across any barrier.

    Attributes:
        own, arrays: of variables and local arrays of a thread, the numbers of their first words.
        common: of variables of all threads, the numbers of their scalars.
        sizes: of a thread.
        common_count: the scalars of all threads.
        ended: the number of the word that records whether the thread has ended; None if all end
            together.
    """

    own: dict[Var, list[int]] = field(default_factory=dict[Var, list[int]])
    arrays: dict[Op, list[int]] = field(default_factory=dict[Op, list[int]])
    common: dict[Var, list[int]] = field(default_factory=dict[Var, list[int]])
    sizes: Sizes = field(default_factory=Sizes)
    common_count: int = 0
    ended: int | None = None

    def add_whether_ended(self) -> None:
        """Allocate the word that records whether a thread has ended."""
        self.ended = self.sizes.add(u32)

    def add(self, live: Live) -> None:
        """Allocate words for the state that lives across a barrier."""
        for var in live.kept:
            if var not in self.own:
                self.own[var] = self.sizes.add_all(var.type)
        for op in live.arrays:
            if isinstance(op, memory.LocalArray) and op not in self.arrays:
                self.arrays[op] = self.sizes.add_all(op.element, op.count)
        for var in live.common:
            if var not in self.common:
                count = len(_leaves(var.type))
                self.common[var] = [*range(self.common_count, self.common_count + count)]
                self.common_count += count


class Keeper:
    """Emit the code that stores and restores state, in one part.

    Args:
        base: the memory of the launch, an address of u32.
        step: the number of the step.
        words: where each value is stored.
        values: the part's value for each address of an array.
        pairs: whether the target has float64 as pairs of float32, and none in memory.
    """

    def __init__(
        self,
        builder: Builder,
        base: Value,
        step: Value,
        parts: int,
        words: Words,
        shared: Shared,
        values: Callable[[Value], Value],
        pairs: bool = False,
    ) -> None:
        self.pairs = pairs
        self.b, self.words = builder, words
        self.shared, self.values = shared, values
        b = builder
        flags = b.offset(base, b.const(flag_bytes(parts) // 4, i64))
        parity = b.and_(step, b.const(1, u32))
        size = b.const(2 * words.common_count, u32)
        other = b.sub(size, b.mul(parity, size))
        self._before = b.offset(flags, b.cast(other, i64))
        self._after = b.offset(flags, b.cast(b.mul(parity, size), i64))
        self._words = b.offset(flags, b.const(4 * words.common_count, i64))
        thread_sizes = words.sizes
        x, y, z = (b.value(grid.ThreadIdx(axis)) for axis in grid.Axis)
        wide, high, deep = (b.value(grid.BlockDim(axis)) for axis in grid.Axis)
        self._own = b.add(x, b.mul(wide, b.add(y, b.mul(high, z))))
        self._block_threads = b.mul(wide, b.mul(high, deep))
        x, y, z = (b.cast(b.value(grid.BlockIdx(axis)), i64) for axis in grid.Axis)
        wide, high, deep = (b.cast(b.value(grid.GridDim(axis)), i64) for axis in grid.Axis)
        self._block = b.add(x, b.mul(wide, b.add(y, b.mul(high, z))))
        blocks = b.mul(wide, b.mul(high, deep))
        threads = b.cast(self._block_threads, i64)
        self._threads = b.mul(blocks, threads)
        self._thread = b.add(b.mul(self._block, threads), b.cast(self._own, i64))
        self._narrow_from = b.mul(self._threads, b.const(2 * thread_sizes.wide, i64))
        taken = b.mul(self._threads, b.const(2 * thread_sizes.wide + thread_sizes.narrow, i64))
        one = b.const(1, i64)
        even = b.binary(arith.Shl, b.binary(arith.Shr, b.add(taken, one), one), one)
        self._blocks_from = even

    # --- what each thread keeps

    def save(self, var: Var, own: Var) -> None:
        """Store a variable, which is ``own`` in the part."""
        place, numbers = self._place_of(var, self._after)
        self._store(self.b.read(own), iter(numbers), place)

    def restore(self, var: Var, own: Var) -> None:
        """Restore a variable."""
        place, numbers = self._place_of(var, self._before)
        self.b.write(own, self._load(own.type, iter(numbers), place))

    def _place_of(self, var: Var, common: Value) -> tuple[Place, list[int]]:
        """The function of addresses of words, and the numbers of a variable's words."""
        if var in self.words.own:
            return self._at, self.words.own[var]
        return partial(self._common_at, common), self.words.common[var]

    def _store(self, value: Value, numbers: Iterator[int], place: Place) -> None:
        parts = memory.part_types(value.type)
        for index in range(len(parts)):
            self._store(self.b.value(memory.Part(value, index)), numbers, place)
        if not parts:
            word = to_word(self.b, value)
            assert isinstance(word.type, DType)
            if word.type is f64 and self.pairs:
                self._store_pair(word, place(u64, next(numbers)))
            else:
                self.b.store(place(word.type, next(numbers)), word)

    def _load(self, type_: Type, numbers: Iterator[int], place: Place) -> Value:
        parts = memory.part_types(type_)
        if parts:
            result = tuple([self._load(part, numbers, place) for part in parts])
            return self.b.value(memory.Pack(result, type_))  # type: ignore[arg-type]  # has parts
        word = stored_type(type_)
        if word is f64 and self.pairs:
            return self._load_pair(place(u64, next(numbers)))
        return from_word(self.b, self.b.load(place(word, next(numbers))), type_)

    def _store_pair(self, value: Value, place: Value) -> None:
        """Store a float64 as the two float32 by which the target represents it."""
        b, first = self.b, self.b.recast(place, pointer(f32))
        high = b.cast(value, f32)
        low = b.cast(b.sub(value, b.cast(high, f64)), f32)
        is_number = b.eq(low, low)  # the low part of an infinity is NaN
        b.store(first, high)
        b.store(b.offset(first, b.const(1, i32)), b.select(is_number, low, b.const(0.0, f32)))

    def _load_pair(self, place: Value) -> Value:
        b, first = self.b, self.b.recast(place, pointer(f32))
        high, low = b.load(first), b.load(b.offset(first, b.const(1, i32)))
        return b.add(b.cast(high, f64), b.cast(low, f64))

    def _common_at(self, start: Value, word: DType, number: int) -> Value:
        """The address of a scalar that all threads have in common."""
        b = self.b
        return b.recast(b.offset(start, b.const(2 * number, i64)), pointer(word))

    def _at(self, word: DType, number: int) -> Value:
        """The address of this thread's word."""
        b = self.b
        return b.offset(self._column(word, b.const(number, i64)), self._thread)

    def _column(self, word: DType, number: Value) -> Value:
        """The address of the words of all threads with one number."""
        b = self.b
        if word.size == 8:
            start = b.recast(self._words, pointer(word))
        else:
            start = b.recast(b.offset(self._words, self._narrow_from), pointer(word))
        return b.offset(start, b.mul(number, self._threads))

    def move_local(self, op: memory.LocalArray, saves: bool) -> None:
        """Store or restore a local array."""
        b, array, firsts = self.b, self.values(op.result), self.words.arrays[op]
        with self._each(b.const(0, i32), b.const(op.count, i32), b.const(1, i32)) as index:
            for place, first in zip(_scalars(b, b.offset(array, index)), firsts, strict=True):
                word = stored_type(memory.element_of(op, place))
                number = b.add(b.cast(index, i64), b.const(first, i64))
                self._move(place, b.offset(self._column(word, number), self._thread), saves)

    def _move(self, place: Value, kept: Value, saves: bool) -> None:
        b = self.b
        assert isinstance(place.type, PointerType)
        if saves:
            b.store(kept, to_word(b, b.load(place)))
        else:
            b.store(place, from_word(b, b.load(kept), place.type.element))

    # --- threads that have ended

    def note_ended(self, ended: bool) -> None:
        """Store whether the thread has ended."""
        self.b.store(self._ended(), self.b.const(int(ended), u32))

    def has_ended(self) -> Value:
        """Whether the thread had ended before this part."""
        b = self.b
        return b.value(arith.Ne(b.load(self._ended()), b.const(0, u32)))

    def _ended(self) -> Value:
        assert self.words.ended is not None
        return self._at(u32, self.words.ended)

    # --- what the threads of a block keep

    def move_shared(self, module: Module, saves: bool) -> None:
        """Store or restore the block's shared memory, which no thread uses meanwhile."""
        b, shared = self.b, self.shared
        own = shared.block_bytes // 4
        size, dynamic = b.const(own, i64), b.value(grid.DynamicSharedSize())
        if shared.dynamic:
            seven, three = b.const(7, i32), b.const(3, i32)
            eights = b.binary(arith.Shr, b.add(dynamic, seven), three)
            size = b.add(size, b.cast(b.add(eights, eights), i64))
        start = b.offset(self._words, b.add(self._blocks_from, b.mul(self._block, size)))
        for symbol, firsts in shared.first.items():
            item = module.globals[symbol]
            array = b.value(memory.GlobalAddress(symbol, pointer(item.element, Space.SHARED)))
            element, count = _by_words(item.element, item.count)
            if element is not item.element:
                array = b.recast(array, pointer(element, Space.SHARED))
            self._move_each(start, array, firsts, b.const(count, i32), saves)
        if shared.dynamic:
            array = b.value(memory.DynamicShared(pointer(u32, Space.SHARED)))
            words = b.binary(arith.Shr, b.add(dynamic, b.const(3, i32)), b.const(2, i32))
            self._move_each(b.offset(start, b.const(own, i64)), array, [0], words, saves, 0)

    def _move_each(
        self,
        start: Value,
        array: Value,
        firsts: list[int],
        count: Value,
        saves: bool,
        wide: int | None = None,
    ) -> None:
        """Copy an array, by all threads of the block."""
        b = self.b
        before = self.shared.sizes.wide if wide is None else wide
        with self._each(self._own, count, self._block_threads) as index:
            for place, first in zip(_scalars(b, b.offset(array, index)), firsts, strict=True):
                assert isinstance(place.type, PointerType)
                word = stored_type(place.type.element)
                skipped = 0 if word.size == 8 else 2 * before
                words = b.recast(b.offset(start, b.const(skipped, i64)), pointer(word))
                kept = b.offset(words, b.add(b.cast(index, i64), b.const(first, i64)))
                self._move(place, kept, saves)

    def _each(self, begin: Value, end: Value, step: Value) -> _Each:
        return _Each(self.b, begin, end, step)


class _Each:
    """A loop from ``begin`` to ``end`` by ``step``, whose body gets the number."""

    def __init__(self, b: Builder, begin: Value, end: Value, step: Value) -> None:
        self.b, self.end, self.step = b, end, step
        self.var = b.variable("word", i32)
        b.write(self.var, begin)
        self._loop = b.loop()

    def __enter__(self) -> Value:
        b = self.b
        self._op = self._loop.__enter__()
        index = b.read(self.var)
        b.break_if(b.value(arith.Ge(index, self.end)))
        with b.inside(self._op.step):
            b.write(self.var, b.add(b.read(self.var), self.step))
        return index

    def __exit__(self, *error: object) -> None:
        self._loop.__exit__(*error)  # type: ignore[arg-type]  # as the protocol says


def _scalars(b: Builder, place: Value) -> list[Value]:
    """The addresses of the scalars of the value at an address."""
    assert isinstance(place.type, PointerType)
    type_ = place.type.element
    if isinstance(type_, StructType):
        fields = [b.field_pointer(place, index) for index in range(len(type_.types))]
        return [each for one in fields for each in _scalars(b, one)]
    if isinstance(type_, ArrayType):
        first = b.field_pointer(place, 0)
        items = [b.offset(first, b.const(index, i32)) for index in range(type_.count)]
        return [each for one in items for each in _scalars(b, one)]
    if memory.part_types(type_):
        part = memory.part_types(type_)[0]
        first = b.recast(place, pointer(part, place.type.space))
        return [b.offset(first, b.const(n, i32)) for n in range(len(memory.part_types(type_)))]
    return [place]


def to_word(b: Builder, value: Value) -> Value:
    """A scalar or an address as the word that stores it."""
    type_ = value.type
    if isinstance(type_, PointerType):
        if type_.space not in (Space.GLOBAL, Space.CONSTANT, Space.GENERIC):
            raise TargetError("grid_sync: an address of shared or local memory lives across it")
        return b.value(memory.Address(value))
    assert isinstance(type_, DType)
    if type_.size >= 4:
        return value
    if type_.is_float:
        value = b.bitcast(value, u16)
    return b.cast(value, u32)


def from_word(b: Builder, word: Value, type_: Type) -> Value:
    """The scalar or address that a word stores."""
    if isinstance(type_, PointerType):
        return b.value(memory.FromAddress(word, type_))
    assert isinstance(type_, DType)
    if type_.size >= 4:
        return word
    if type_ is b1:
        return b.value(arith.Ne(word, b.const(0, u32)))
    if type_.is_float:
        return b.bitcast(b.cast(word, u16), type_)
    return b.cast(word, type_)
