"""Keeps what lives across grid barriers in device memory.

The memory of a launch begins with a word for each barrier. Behind these lie the words of 8 bytes of
all threads, the first word of all threads first, so that neighbours access neighbouring words; then
those of 4 bytes; then the shared memory of each block. A value narrower than a word takes 4 bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from gridlane.core.dtypes import DType, b1, i32, i64, u16, u32, u64
from gridlane.core.errors import TargetError
from gridlane.core.grid_plan import head_bytes
from gridlane.ir.builder import Builder
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, grid, memory
from gridlane.ir.types import ArrayType, PointerType, Space, StructType, Type, pointer
from gridlane.ir.values import Module, Value, Var


@dataclass(slots=True)
class Sizes:
    """How many words something has."""

    wide: int = 0
    narrow: int = 0

    def add(self, type_: DType, count: int = 1) -> int:
        """Make room for words of a type; the number of the first among those of its size."""
        if type_.size == 8:
            first, self.wide = self.wide, self.wide + count
        else:
            first, self.narrow = self.narrow, self.narrow + count
        return first

    def add_all(self, type_: Type, count: int = 1) -> list[int]:
        """Make room for so many values; the numbers of the first words of their scalars."""
        return [self.add(stored_type(leaf), count) for leaf in _leaves(type_)]

    @property
    def bytes(self) -> int:
        """Their bytes."""
        return 8 * self.wide + 4 * self.narrow


@dataclass(slots=True)
class Shared:
    """The static shared arrays of a module that are kept, and where in the memory of a block.

    Attributes:
        first: of the name of each array, the numbers of the first words of its scalars.
        sizes: of all.
        dynamic: whether dynamic shared memory is kept as well, behind them.
    """

    first: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    sizes: Sizes = field(default_factory=Sizes)
    dynamic: bool = False

    def add(self, module: Module, op: Op) -> None:
        """Make room for an array."""
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
    """An array of whole words, where it is one of narrow scalars."""
    if isinstance(element, DType) and element.size < 4 and element.size * count % 4 == 0:
        return u32, element.size * count // 4
    return element, count


class Keeper:
    """Emits the code that keeps and restores, in one part.

    Args:
        base: the memory of the launch, an address of u32.
        thread_sizes: the words of each thread, over all barriers.
        values: the part's value for each address of an array.
    """

    def __init__(
        self,
        builder: Builder,
        base: Value,
        parts: int,
        thread_sizes: Sizes,
        shared: Shared,
        values: Callable[[Value], Value],
    ) -> None:
        self.b, self.base = builder, base
        self.shared, self.values = shared, values
        b = builder
        self._words = b.offset(base, b.const(head_bytes(parts) // 4, i64))
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
        words = b.mul(self._threads, b.const(2 * thread_sizes.wide + thread_sizes.narrow, i64))
        one = b.const(1, i64)
        even = b.binary(arith.Shl, b.binary(arith.Shr, b.add(words, one), one), one)
        self._blocks_from = even

    # --- what each thread keeps

    def save(self, kept: Iterable[Var], arrays: Iterable[Op]) -> None:
        """Keep variables and local arrays."""
        b, sizes = self.b, Sizes()
        for var in kept:
            self._store(b.read(var), sizes)
        for op in arrays:
            if isinstance(op, memory.LocalArray):
                self._copy_local(op, sizes, saves=True)

    def restore(self, kept: Sequence[Var], arrays: Iterable[Op]) -> None:
        """Restore the same."""
        b, sizes = self.b, Sizes()
        for var in kept:
            b.write(var, self._load(var.type, sizes))
        for op in arrays:
            if isinstance(op, memory.LocalArray):
                self._copy_local(op, sizes, saves=False)

    def _store(self, value: Value, sizes: Sizes) -> None:
        parts = memory.part_types(value.type)
        for index in range(len(parts)):
            self._store(self.b.value(memory.Part(value, index)), sizes)
        if not parts:
            word = to_word(self.b, value)
            assert isinstance(word.type, DType)
            self.b.store(self._at(word.type, sizes.add(word.type)), word)

    def _load(self, type_: Type, sizes: Sizes) -> Value:
        parts = memory.part_types(type_)
        if parts:
            made = tuple([self._load(part, sizes) for part in parts])
            return self.b.value(memory.Pack(made, type_))  # type: ignore[arg-type]  # has parts
        word = stored_type(type_)
        return from_word(self.b, self.b.load(self._at(word, sizes.add(word))), type_)

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

    def _copy_local(self, op: memory.LocalArray, sizes: Sizes, saves: bool) -> None:
        b, array = self.b, self.values(op.result)
        firsts = sizes.add_all(op.element, op.count)
        with self._each(b.const(0, i32), b.const(op.count, i32), b.const(1, i32)) as at:
            for place, first in zip(_scalars(b, b.offset(array, at)), firsts, strict=True):
                word = stored_type(memory.element_of(op, place))
                number = b.add(b.cast(at, i64), b.const(first, i64))
                self._move(place, b.offset(self._column(word, number), self._thread), saves)

    def _move(self, place: Value, kept: Value, saves: bool) -> None:
        b = self.b
        assert isinstance(place.type, PointerType)
        if saves:
            b.store(kept, to_word(b, b.load(place)))
        else:
            b.store(place, from_word(b, b.load(kept), place.type.element))

    # --- what the threads of a block keep

    def move_shared(self, module: Module, saves: bool) -> None:
        """Keep or restore the block's shared memory, which no thread uses meanwhile."""
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
        """Move an array, by all threads of the block."""
        b = self.b
        before = self.shared.sizes.wide if wide is None else wide
        with self._each(self._own, count, self._block_threads) as at:
            for place, first in zip(_scalars(b, b.offset(array, at)), firsts, strict=True):
                assert isinstance(place.type, PointerType)
                word = stored_type(place.type.element)
                skipped = 0 if word.size == 8 else 2 * before
                words = b.recast(b.offset(start, b.const(skipped, i64)), pointer(word))
                kept = b.offset(words, b.add(b.cast(at, i64), b.const(first, i64)))
                self._move(place, kept, saves)

    def _each(self, begin: Value, end: Value, step: Value) -> _Each:
        return _Each(self.b, begin, end, step)


class _Each:
    """A loop from ``begin`` to ``end`` by ``step``, whose block gets the number."""

    def __init__(self, b: Builder, begin: Value, end: Value, step: Value) -> None:
        self.b, self.end, self.step = b, end, step
        self.var = b.variable("word", i32)
        b.write(self.var, begin)
        self._loop = b.loop()

    def __enter__(self) -> Value:
        b = self.b
        self._op = self._loop.__enter__()
        at = b.read(self.var)
        b.break_if(b.value(arith.Ge(at, self.end)))
        with b.inside(self._op.step):
            b.write(self.var, b.add(b.read(self.var), self.step))
        return at

    def __exit__(self, *error: object) -> None:
        self._loop.__exit__(*error)  # type: ignore[arg-type]  # as the protocol says


def _scalars(b: Builder, place: Value) -> list[Value]:
    """The addresses of the scalars of what lies at an address."""
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
    """A scalar or an address as the word that holds it."""
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
    """The scalar or address that a word holds."""
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
