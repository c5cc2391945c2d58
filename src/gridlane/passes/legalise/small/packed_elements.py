"""Elements of 8 and 16 bits in memory that is accessed by words.

The word around an element is read whole, so memory must consist of whole words. A store retries a
swap of the word until no other thread intervened: neighbours that other threads write survive.
"""

from __future__ import annotations

from collections.abc import Callable

from gridlane.core.dtypes import u32, u64
from gridlane.core.frozen import frozen
from gridlane.ir.builder import Builder
from gridlane.ir.expressions import Expression, Writer
from gridlane.ir.ops import atomic, memory
from gridlane.ir.ops.grid import MemoryOrder, MemoryScope
from gridlane.ir.types import Space, vector
from gridlane.ir.values import Value
from gridlane.passes.legalise.atomics import swap_until_done


@frozen
class Place:
    """An element: the address of its word, its first bit in it, the mask of its width."""

    word: Value
    shift: Expression
    mask: int

    @property
    def builder(self) -> Builder:
        """The builder that inserts the accesses."""
        return self.shift.writer.builder

    def of(self, word: Expression) -> Expression:
        """Extract the element's bits from a word."""
        return (word >> self.shift) & self.mask

    def put(self, word: Expression, bits: Expression) -> Expression:
        """Insert bits of the element into a word."""
        hole = ~(self.shift.writer.const(self.mask, u32) << self.shift)
        return (word & hole) | (bits << self.shift)

    def load(self, volatile: bool) -> Expression:
        """Load the element's bits."""
        return self.of(self.shift.writer.wrap(self.builder.load(self.word, volatile)))

    def store(self, bits: Expression, volatile: bool) -> None:
        """Replace the element's bits."""
        if self._is_own():
            word = self.shift.writer.wrap(self.builder.load(self.word, volatile))
            self.builder.store(self.word, self.put(word, bits).value, volatile)
        else:
            self.change(lambda old: bits)

    def change(
        self,
        new: Callable[[Expression], Expression],
        order: MemoryOrder = MemoryOrder.RELAXED,
        scope: MemoryScope = MemoryScope.DEVICE,
    ) -> Expression:
        """Replace the element's bits by ``new`` of them atomically, and return the old ones."""
        wrap = self.shift.writer.wrap

        def swap(old: Value) -> Value:
            return self.put(wrap(old), new(self.of(wrap(old)))).value

        return self.of(wrap(swap_until_done(self.builder, self.word, swap, order, scope)))

    def compare_and_swap(
        self, expected: Expression, desired: Expression, op: atomic.AtomicCas
    ) -> Expression:
        """Replace the element's bits where they are ``expected``, and return the old ones. A swap
        that keeps the word has the memory order of one that changes it."""
        pick = self.shift.writer.select

        def new(old: Expression) -> Expression:
            return pick(old.equals(expected), desired, old)

        return self.change(new, op.order, op.scope)

    def _is_own(self) -> bool:
        return memory.space_of(self.word) is Space.LOCAL


def place(w: Writer, pointer: Value, bits: int) -> Place:
    """The place of an element of so many bits at an address."""
    b = w.builder
    words = b.bitcast(b.value(memory.Address(pointer)), vector(u32, 2))
    low, high = (w.wrap(b.value(memory.Part(words, n))) for n in range(2))
    whole = b.value(memory.Pack(((low & ~3).value, high.value), vector(u32, 2)))
    type_ = memory.pointer_beside(pointer, u32)
    word = b.value(memory.FromAddress(b.bitcast(whole, u64), type_))
    return Place(word, (low & 3) << 3, (1 << bits) - 1)
