"""Elements of 8 and 16 bits in memory that is accessed by words.

The word that an element is in is read whole, so memory is to have whole words. A store swaps the
word until no other thread came between: neighbours that other threads write survive.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gridlane.core.dtypes import u32, u64
from gridlane.ir.builder import Builder
from gridlane.ir.ops import atomic, memory
from gridlane.ir.ops.grid import MemoryOrder, MemoryScope
from gridlane.ir.types import Space, pointer, vector
from gridlane.ir.values import Value
from gridlane.passes.legalise.atomics import swap_until_done
from gridlane.passes.legalise.math.expression import Expression, Writer


@dataclass(frozen=True, slots=True)
class Place:
    """An element: the address of its word, its first bit there, the mask of its width."""

    word: Value
    shift: Expression
    mask: int

    @property
    def builder(self) -> Builder:
        """What writes here."""
        return self.shift.writer.builder

    def of(self, word: Expression) -> Expression:
        """The element's bits of a word."""
        return (word >> self.shift) & self.mask

    def put(self, word: Expression, bits: Expression) -> Expression:
        """The word with other bits of the element."""
        hole = ~(self.shift.writer.const(self.mask, u32) << self.shift)
        return (word & hole) | (bits << self.shift)

    def load(self, volatile: bool) -> Expression:
        """The element's bits."""
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
        """Replace the element's bits by ``new`` of them, at once as others see it; the old ones."""
        wrap = self.shift.writer.wrap

        def swap(old: Value) -> Value:
            return self.put(wrap(old), new(self.of(wrap(old)))).value

        return self.of(wrap(swap_until_done(self.builder, self.word, swap, order, scope)))

    def compare_and_swap(
        self, expected: Expression, desired: Expression, op: atomic.AtomicCas
    ) -> Expression:
        """Replace the element's bits where they are ``expected``; the old ones. A swap that keeps
        the word orders as one that changes it."""
        pick = self.shift.writer.select

        def new(old: Expression) -> Expression:
            return pick(old.equals(expected), desired, old)

        return self.change(new, op.order, op.scope)

    def _is_own(self) -> bool:
        return memory.space_of(self.word) is Space.LOCAL


def place(w: Writer, at: Value, bits: int) -> Place:
    """Where the element of so many bits at an address is."""
    b = w.builder
    words = b.bitcast(b.value(memory.Address(at)), vector(u32, 2))
    low, high = (w.wrap(b.value(memory.Part(words, n))) for n in range(2))
    whole = b.value(memory.Pack(((low & ~3).value, high.value), vector(u32, 2)))
    type_ = pointer(u32, memory.space_of(at))
    word = b.value(memory.FromAddress(b.bitcast(whole, u64), type_))
    return Place(word, (low & 3) << 3, (1 << bits) - 1)
