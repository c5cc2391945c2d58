"""The pieces of a function's text, between the cuts of ``text.Body.cut``."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field

from gridlane.codegen.llvm.outline.liveness import Line, is_store
from gridlane.codegen.llvm.text import CUT_END, CUT_START

_MADE = re.compile(r"  (%[\w.]+) = (.*)")


@dataclass(slots=True, eq=False)
class Piece:
    """A piece of the text, or the whole of it.

    Attributes:
        number: 0 is the whole; the others count from 1 in the order of their starts.
        items: its lines, with the pieces in it in their places.
        labels: the labels of its blocks; of the pieces in it as well, after ``summarise``.
        used: the names in its own lines, labels included.
        made: the values of its own lines, and their instructions.
        own: slots that its own lines access.
        slots, written: slots that it and the pieces in it access, and write.
        exits: labels outside of it that it and the pieces in it jump to.
    """

    number: int
    outer: Piece | None = None
    items: list[str | Piece] = field(default_factory=list["str | Piece"])
    labels: set[str] = field(default_factory=set[str])
    used: dict[str, None] = field(default_factory=dict[str, None])
    made: dict[str, str] = field(default_factory=dict[str, str])
    own: set[str] = field(default_factory=set[str])
    slots: set[str] = field(default_factory=set[str])
    written: set[str] = field(default_factory=set[str])
    exits: list[str] = field(default_factory=list[str])

    @property
    def inner(self) -> list[Piece]:
        """The pieces directly in it."""
        return [item for item in self.items if isinstance(item, Piece)]

    def around(self) -> Iterator[Piece]:
        """It and the pieces around it, innermost first."""
        piece: Piece | None = self
        while piece is not None:
            yield piece
            piece = piece.outer

    def add(self, line: str, names: list[str], slots: Container[str]) -> None:
        """Add a line of its own."""
        self.items.append(line)
        if line.endswith(":"):
            self.labels.add(line[:-1])
            return
        if match := _MADE.fullmatch(line):
            self.made[match[1]] = match[2]
        for name in names:
            self.used[name] = None
            if name in slots:
                self.own.add(name)
                if is_store(line):
                    self.written.add(name)

    def summarise(self, labels: Container[str]) -> None:
        """Find the exits and the slots, after those of the pieces in it. ``labels`` are all
        labels."""
        jumps = {name[1:]: None for name in self.used if name[1:] in labels}
        self.slots = set(self.own)
        for piece in self.inner:
            jumps |= dict.fromkeys(piece.exits)
            self.labels |= piece.labels
            self.slots |= piece.slots
            self.written |= piece.written
        self.exits = [label for label in jumps if label not in self.labels]


def pieces_of(lines: Iterable[Line], slots: Container[str]) -> list[Piece]:
    """The whole and its pieces, by number."""
    pieces = [Piece(0)]
    piece = pieces[0]
    for line, names in lines:
        if line == CUT_START:
            pieces.append(Piece(len(pieces), piece))
            piece.items.append(pieces[-1])
            piece = pieces[-1]
        elif line == CUT_END:
            assert piece.outer is not None, "a piece ends that has not begun"
            piece = piece.outer
        else:
            piece.add(line, names, slots)
    labels = {label for each in pieces for label in each.labels}
    for each in reversed(pieces):
        each.summarise(labels)
    return pieces
