"""The frame: the memory by which the pieces of a function exchange values, and its text."""

from __future__ import annotations

from gridlane.codegen.llvm.outline.result_types import bytes_of

ALIGNED = 64
"""Bytes that the frame is aligned to, and the most that its places are."""


class Frame:
    """Places of values and slots, by name. ``%frame`` is its address in each function."""

    def __init__(self) -> None:
        self.size = 0
        self._places: dict[str, tuple[int, str]] = {}
        self._count = 0

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def add(self, name: str, type_: str) -> None:
        """Allocate a place for a value or a slot, if it has none."""
        if name in self._places:
            return
        size = bytes_of(type_)
        align = min(ALIGNED, 1 << (size - 1).bit_length())
        offset = -(-self.size // align) * align
        self._places[name] = offset, type_
        self.size = offset + size

    def load(self, name: str) -> list[str]:
        """Define a value by its place."""
        return self._load(name, name)

    def store(self, name: str) -> list[str]:
        """Store a value in its place."""
        return self._store(name, name)

    def copy_in(self, slot: str) -> list[str]:
        """Copy a slot's place to the slot."""
        held = self._fresh()
        return [*self._load(slot, held), f"  store {self._places[slot][1]} {held}, ptr {slot}"]

    def copy_out(self, slot: str) -> list[str]:
        """Copy a slot to its place."""
        held = self._fresh()
        return [f"  {held} = load {self._places[slot][1]}, ptr {slot}", *self._store(slot, held)]

    def _load(self, name: str, into: str) -> list[str]:
        address, where, align = self._where(name)
        return [address, f"  {into} = load {self._places[name][1]}, ptr {where}, align {align}"]

    def _store(self, name: str, value: str) -> list[str]:
        address, where, align = self._where(name)
        return [address, f"  store {self._places[name][1]} {value}, ptr {where}, align {align}"]

    def _where(self, name: str) -> tuple[str, str, int]:
        """The line that computes a place's address, the address, its alignment in bytes."""
        offset, where = self._places[name][0], self._fresh()
        address = f"  {where} = getelementptr i8, ptr %frame, i64 {offset}"
        return address, where, min(ALIGNED, offset & -offset or ALIGNED)

    def _fresh(self) -> str:
        """A name that no emitter makes."""
        self._count += 1
        return f"%frame.{self._count}"
