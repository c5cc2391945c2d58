"""A text that is made of pieces of others, with the place in them of each character."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NoReturn

from gridlane.core.frozen import frozen
from gridlane.frontends.ptx.text import Text

Edit = tuple[int, int, str]
"""The start and the end of what is replaced, and what by."""


@frozen
class Place:
    """A place in a unit, for errors."""

    text: Text
    at: int
    length: int = 1

    def __str__(self) -> str:
        return str(self.text.loc(self.at))

    def fail(self, message: str) -> NoReturn:
        """Raise PtxError here.

        Raises:
            PtxError: always.
        """
        self.text.fail(message, self.at, self.length)


@frozen
class Origin:
    """Where a piece is from.

    Attributes:
        is_copy: whether it is a copy, character by character; else it replaces the text that begins
            there.
    """

    text: Text
    at: int
    is_copy: bool


class LinkedText(Text):
    """The text of several units. Errors show the place in the unit.

    Args:
        units: the texts that it is made of.
        starts: of the pieces, ascending; ``origins``: where each is from.
    """

    def __init__(
        self,
        text: str,
        units: Sequence[Text],
        starts: list[int],
        origins: list[Origin | None],
    ) -> None:
        super().__init__(text, f"<linked ptx {hashlib.sha256(text.encode()).hexdigest()[:12]}>")
        self._units, self._pieces, self._origins = tuple(units), starts, origins

    @property
    def identity(self) -> str:
        """All that places and meaning depend on: the units and their order."""
        return "\0".join(
            ("linked", *(hashlib.sha256(u.identity.encode()).hexdigest() for u in self._units))
        )

    def origin(self, position: int) -> tuple[Text, int]:
        """The text that a user wrote, and the place in it of a character."""
        number = bisect_right(self._pieces, position) - 1
        origin_here = self._origins[number] if number >= 0 else None
        if origin_here is None:
            return self, position
        return origin_here.text.origin(
            origin_here.at + (position - self._pieces[number]) * origin_here.is_copy
        )


class Assembly:
    """A text in the making."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._end = 0
        self._starts: list[int] = []
        self._origins: list[Origin | None] = []

    def write(self, text: str, origin: Origin | None = None) -> None:
        """Add a text that no unit has, or that is from some place."""
        if not text:
            return
        self._starts.append(self._end)
        self._origins.append(origin)
        self._parts.append(text)
        self._end += len(text)

    def copy(self, text: Text, start: int, end: int, edits: Iterable[Edit] = ()) -> None:
        """Add a part of a unit, with some of it replaced."""
        position = start
        for first, last, by in edits:
            self.write(text.text[position:first], Origin(text, position, True))
            self.write(by, Origin(text, first, False))
            position = last
        self.write(text.text[position:end], Origin(text, position, True))

    def done(self, units: Sequence[Text]) -> LinkedText:
        """The text."""
        return LinkedText("".join(self._parts), units, self._starts, self._origins)
