"""``malloc`` and ``free`` of kernels, in memory of the device that all modules share.

CUDA C++ Programming Guide, "Dynamic Global Memory Allocation and Operations". The memory begins
with words for the functions here, followed by a bit for each piece of 32 bytes, then the pieces. A
block begins with 16 bytes of its own. One of up to 32 pieces has bits of one word; a larger one has
all bits of words that follow each other, from the end of the memory down.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from gridlane.core.dtypes import DType, u32, u64
from gridlane.core.heap_layout import HEADER, NEXT, PIECE, PIECES, WORDS
from gridlane.frontends.ptx.forms.functions import function
from gridlane.frontends.ptx.types import unsigned
from gridlane.frontends.ptx.values import Values
from gridlane.ir.builder import Builder
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, control, grid, memory
from gridlane.ir.ops.atomic import Atomic, AtomicCas, AtomicKind
from gridlane.ir.types import Space, pointer
from gridlane.ir.values import Function, Module, Param, Value

OWN = 16
"""Bytes of a block that are not its user's."""

_LIVE = 0x6C6C6163
"""What the first word of a block holds until it is freed; the second has its number of pieces."""

_NONE = 0xFFFFFFFF
_BYTE = unsigned(8)
_SHIFTS = arith.Shl, arith.Shr
_MALLOC, _FREE = "malloc", "free"


@function(_MALLOC)
def malloc(t: Values, arguments: Sequence[Value]) -> Sequence[Value]:
    """The address of a block, or 0."""
    function_object = _function(t, _MALLOC, _Malloc)
    return t.b.call(function_object, (t.as_type(arguments[0], u64), t.variables.handed("heap")))


@function(_FREE)
def free(t: Values, arguments: Sequence[Value]) -> Sequence[Value]:
    """Free a block; nothing at address 0."""
    function_object = _function(t, _FREE, _Free)
    return t.b.call(function_object, (t.as_type(arguments[0], u64), t.variables.handed("heap")))


def _function(t: Values, name: str, kind: type[_Heap]) -> Function:
    """The function of the module, which the first call makes."""
    module = t.variables.made
    name = f"heap.{name}"
    if name not in module.functions:
        kind(module, name).make()
    return module.functions[name]


class _Heap(ABC):
    """A function of the memory.

    Attributes:
        given: what it is called with: a size or an address.
        start: the memory's first byte; ``heap``: its words.
        words: how many words of bits there are; ``pieces``: the first piece.
    """

    results: tuple[DType, ...] = ()

    def __init__(self, module: Module, name: str) -> None:
        self.given = Value(u64, None, "given")
        self.start = Value(pointer(_BYTE, Space.GLOBAL), None, "start")
        params = [Param(self.given, 0), Param(self.start, 1)]
        function = Function(name, params, self.results)
        module.functions[name] = function
        self.b = Builder(module, function)
        self.heap = self.b.recast(self.start, pointer(u32, Space.GLOBAL))
        self.words = self.b.load(self._word(WORDS))
        self.pieces = self.b.offset(self.start, self.b.load(self._word(PIECES)))

    @abstractmethod
    def make(self) -> None:
        """Fill the function."""

    # --- shorthands

    def _number(self, value: int) -> Value:
        return self.b.const(value, u32)

    def _do(self, kind: type[Op], first: Value, second: Value | int) -> Value:
        if isinstance(second, int):
            second = self.b.const(second, u32 if kind in _SHIFTS else first.type)
        return self.b.binary(kind, first, second)

    def _word(self, number: int) -> Value:
        return self.b.offset(self.heap, self._number(number))

    def _bits(self, word: Value) -> Value:
        """The address of a word of bits."""
        return self.b.offset(self.heap, self._do(arith.Add, word, HEADER))

    def _block(self, piece: Value) -> Value:
        """The address of the block's own words at a piece."""
        offset = self._do(arith.Shl, piece, 5)
        return self.b.recast(self.b.offset(self.pieces, offset), pointer(u32, Space.GLOBAL))

    def _read(self, pointer_: Value) -> Value:
        return self.b.load(pointer_, volatile=True)

    def _swap(self, pointer_: Value, expected: Value, desired: Value) -> Value:
        return self.b.value(AtomicCas(pointer_, expected, desired))

    def _fence(self) -> None:
        self.b.emit(grid.Fence(grid.MemoryScope.DEVICE))

    def _mask(self, count: Value) -> Value:
        """So many of the lowest bits, 1 to 32."""
        return self._do(
            arith.Shr, self._number(_NONE), self._do(arith.Sub, self._number(32), count)
        )

    def _clear(self, first: Value, count: Value) -> None:
        """Free all pieces of some words."""
        b, index = self.b, self.b.variable("cleared", u32)
        b.write(index, self._number(0))
        with b.loop():
            b.break_if(self._do(arith.Ge, b.read(index), count))
            word = self._bits(self._do(arith.Add, first, b.read(index)))
            b.emit(Atomic(AtomicKind.EXCHANGE, word, self._number(0)))
            b.write(index, self._do(arith.Add, b.read(index), 1))


class _Malloc(_Heap):
    results = (u64,)

    def make(self) -> None:
        b = self.b
        self.found = b.variable("found", u32)
        b.write(self.found, self._number(_NONE))
        self.held = b.variable("held", u32)
        most = self._do(arith.Shl, b.cast(self.words, u64), 10)
        with b.if_(self._do(arith.Le, self.given, self._do(arith.Sub, most, OWN))):
            size = self._do(arith.Add, self.given, OWN + PIECE - 1)
            count = b.cast(self._do(arith.Shr, size, 5), u32)
            b.write(self.held, count)
            with b.if_(self._do(arith.Le, count, 32)) as small:
                self._in_a_word(count)
            with b.inside(small.orelse):
                self._words_together(self._do(arith.Shr, self._do(arith.Add, count, 31), 5))
        piece = b.read(self.found)
        with b.if_(self._do(arith.Eq, piece, _NONE)):
            b.return_((b.const(0, u64),))
        block = self._block(piece)
        b.store(block, self._number(_LIVE))
        b.store(b.offset(block, self._number(1)), b.read(self.held))
        self._fence()
        b.return_((self._do(arith.Add, b.value(memory.Address(block)), OWN),))

    def _in_a_word(self, count: Value) -> None:
        """Find a run of pieces in one word, from that of the last search on."""
        b = self.b
        index, tried, old = (b.variable(name, u32) for name in ("at", "tried", "old"))
        b.write(index, self._read(self._word(NEXT)))
        b.write(tried, self._number(0))
        b.write(old, self._read(self._bits(b.read(index))))
        with b.loop():
            runs = self._runs(b.not_(b.read(old)), count)
            with b.if_(self._do(arith.Eq, runs, 0)) as full:
                b.write(tried, self._do(arith.Add, b.read(tried), 1))
                b.break_if(self._do(arith.Ge, b.read(tried), self.words))
                following = self._do(arith.Add, b.read(index), 1)
                is_last = self._do(arith.Ge, following, self.words)
                b.write(index, b.select(is_last, self._number(0), following))
                b.write(old, self._read(self._bits(b.read(index))))
            with b.inside(full.orelse):
                lowest = b.and_(runs, b.neg(runs))
                place = self._do(arith.Sub, self._number(31), b.unary(arith.Clz, lowest))
                taken = self._do(arith.Shl, self._mask(count), place)
                known = b.read(old)
                seen = self._swap(self._bits(b.read(index)), known, b.or_(known, taken))
                with b.if_(b.eq(seen, known)):
                    self._take(self._do(arith.Add, self._do(arith.Shl, b.read(index), 5), place))
                    b.store(self._word(NEXT), b.read(index), volatile=True)
                    b.emit(control.Break())
                b.write(old, seen)

    def _take(self, piece: Value) -> None:
        self.b.write(self.found, piece)

    def _runs(self, free_: Value, count: Value) -> Value:
        """The bits at which so many set bits begin."""
        b = self.b
        runs, known = b.variable("runs", u32), b.variable("known", u32)
        b.write(runs, free_)
        b.write(known, self._number(1))
        with b.loop():
            length = b.read(known)
            twice = self._do(arith.Shl, length, 1)
            b.break_if(self._do(arith.Gt, twice, count))
            b.write(runs, b.and_(b.read(runs), self._do(arith.Shr, b.read(runs), length)))
            b.write(known, twice)
        left = self._do(arith.Sub, count, b.read(known))
        return b.and_(b.read(runs), self._do(arith.Shr, b.read(runs), left))

    def _words_together(self, count: Value) -> None:
        """Find words without a block, from the last down."""
        b = self.b
        b.write(self.held, self._do(arith.Shl, count, 5))
        first, left = b.variable("first", u32), b.variable("left", u32)
        b.write(first, self._do(arith.Sub, self.words, count))
        with b.loop():
            b.write(left, count)
            with b.loop():
                b.break_if(self._do(arith.Eq, b.read(left), 0))
                last = self._do(arith.Sub, self._do(arith.Add, b.read(first), b.read(left)), 1)
                seen = self._swap(self._bits(last), self._number(0), self._number(_NONE))
                b.break_if(self._do(arith.Ne, seen, 0))
                b.write(left, self._do(arith.Sub, b.read(left), 1))
            with b.if_(self._do(arith.Eq, b.read(left), 0)):
                self._take(self._do(arith.Shl, b.read(first), 5))
                b.emit(control.Break())
            # The word before ``left`` is taken: the next try ends in front of it.
            taken = self._do(arith.Sub, count, b.read(left))
            self._clear(self._do(arith.Add, b.read(first), b.read(left)), taken)
            back = self._do(arith.Add, taken, 1)
            b.break_if(self._do(arith.Lt, b.read(first), back))
            b.write(first, self._do(arith.Sub, b.read(first), back))


class _Free(_Heap):
    def make(self) -> None:
        b = self.b
        with b.if_(self._do(arith.Eq, self.given, 0)):
            b.return_()
        own = b.value(memory.Address(self.pieces))
        distance = self._do(arith.Sub, self._do(arith.Sub, self.given, OWN), own)
        outside = self._do(arith.Ge, distance, self._do(arith.Shl, b.cast(self.words, u64), 10))
        inside = self._do(arith.Ne, b.and_(distance, b.const(PIECE - 1, u64)), 0)
        with b.if_(b.or_(outside, inside)):
            self._refuse()
        piece = b.cast(self._do(arith.Shr, distance, 5), u32)
        block = self._block(piece)
        count = b.load(b.offset(block, self._number(1)))
        seen = self._swap(block, self._number(_LIVE), self._number(0))
        with b.if_(self._do(arith.Ne, seen, _LIVE)):
            self._refuse()
        self._fence()
        word = self._do(arith.Shr, piece, 5)
        with b.if_(self._do(arith.Le, count, 32)) as small:
            place = b.and_(piece, self._number(31))
            kept = b.not_(self._do(arith.Shl, self._mask(count), place))
            b.emit(Atomic(AtomicKind.AND, self._bits(word), kept))
        with b.inside(small.orelse):
            self._clear(word, self._do(arith.Shr, count, 5))
        b.return_()

    def _refuse(self) -> None:
        message = "free of an address that malloc has not returned, or that is free already"
        self.b.raise_("RuntimeError", message)
