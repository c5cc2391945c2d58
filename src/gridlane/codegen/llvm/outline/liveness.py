"""Which stack memory of a function holds a value that is still read, by text of LLVM IR."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from gridlane.codegen.llvm.text import CUT_START

_ALLOCATED = re.compile(r"\s*(%[\w.]+) = alloca (<[^>]*>|\w+)$")
_NAME = re.compile(r"%[\w.]+")
_LOADED = re.compile(r"\s*%[\w.]+ = load (<[^>]*>|\w+), ptr (%[\w.]+)$")
_STORED = re.compile(r"\s*store (<[^>]*>|\w+) (.*), ptr (%[\w.]+)$")
_TARGET = re.compile(r"label %([\w.]+)")
_LAST = ("  br ", "  switch ", "  ret ", "  unreachable")

Line: TypeAlias = tuple[str, list[str]]
"""A line and the names in it, labels included."""


def read(lines: Iterable[str]) -> list[Line]:
    """Find the names in lines."""
    return [(line, _NAME.findall(line)) for line in lines]


@dataclass(slots=True)
class _Block:
    """Sets of slots as bits: those read before they are written here, those written, those live at
    the start; and the names of the blocks that follow."""

    read: int = 0
    written: int = 0
    live: int = 0
    following: list[str] = field(default_factory=list[str])


def slots_of(allocas: Iterable[str], lines: Iterable[Line]) -> dict[str, str]:
    """The types of stack memory that is only loaded and stored, as a whole: variables and masks."""
    slots = {m[1]: m[2] for m in map(_ALLOCATED.fullmatch, allocas) if m}
    for line, names in lines:
        for name in names:
            if name in slots and _accessed(line) != (name, slots[name]):
                del slots[name]
    return slots


def _accessed(line: str) -> tuple[str, str] | None:
    """The address and the type of a load or store."""
    if loaded := _LOADED.fullmatch(line):
        return loaded[2], loaded[1]
    stored = _STORED.fullmatch(line)
    if stored is None or stored[3] == stored[2]:
        return None
    return stored[3], stored[1]


def is_store(line: str) -> bool:
    """Whether a line that accesses memory writes it."""
    return line.startswith("  store ")


class Liveness:
    """Which slots are live at the start of each block, and of each piece (``text.Body.cut``)."""

    def __init__(self, lines: Iterable[Line], slots: Iterable[str]) -> None:
        self._bits = {name: 1 << n for n, name in enumerate(slots)}
        self._blocks: dict[str, _Block] = {}
        self._read(lines)
        self._solve()

    def at(self, block: str) -> list[str]:
        """The slots that are live at a block's start; ``piece N`` is that of a piece."""
        live = self._blocks[block].live
        return [name for name, bit in self._bits.items() if live & bit]

    def _read(self, lines: Iterable[Line]) -> None:
        block = self._blocks["entry"] = _Block()
        ended, pieces = False, 0
        for line, names in lines:
            if line == CUT_START or line.endswith(":"):
                name = line[:-1]
                if line == CUT_START:
                    pieces += 1
                    name = f"piece {pieces}"
                if not ended:
                    block.following.append(name)
                block, ended = self._blocks.setdefault(name, _Block()), False
            elif line.startswith(_LAST):
                block.following += _TARGET.findall(line)
                ended = True
            elif bits := [self._bits[name] for name in names if name in self._bits]:
                if is_store(line):
                    block.written |= bits[0]
                elif not block.written & bits[0]:
                    block.read |= bits[0]

    def _solve(self) -> None:
        """Propagate from the ends of blocks to their starts until nothing changes."""
        backwards = [*self._blocks.values()][::-1]
        changed = True
        while changed:
            changed = False
            for block in backwards:
                after = 0
                for name in block.following:
                    after |= self._blocks[name].live
                live = block.read | after & ~block.written
                changed |= live != block.live
                block.live = live
