"""A text with its places: comments are blanked, and errors show line, column and a caret."""

from __future__ import annotations

import hashlib
import linecache
import re
from bisect import bisect_right
from typing import NoReturn

from gridlane.core.errors import PtxError
from gridlane.core.source import Loc

_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*[\s\S]*?\*/')
_LINE = re.compile(r"\.loc\s+(\d{1,9})\s+(\d{1,9})\s+(\d{1,9})")
_FILE = re.compile(r'\.file\s+(\d{1,9})\s+"((?:[^"\\\n]|\\.)*)"')
LOC = (
    r"\.loc\s+\d+\s+\d+\s+\d+"
    r"(?:\s*,\s*(?:function_name\s+[\w$%.]+(?:\s*\+\s*\w+)?|inlined_at\s+\d+\s+\d+\s+\d+))*"
)
"""What ``.loc`` says. No semicolon ends it; another statement may stand in its line."""
_NOT_NEWLINE = re.compile(r"[^\n]")


class Text:
    """The text of a PTX module.

    Args:
        text: as the user gave it.
        name: of the file; else a name made of the content.

    Attributes:
        code: the text with a space for each character of a comment, so that places stay.
    """

    def __init__(self, text: str, name: str = "") -> None:
        self.text = text
        self.name = name or f"<ptx {hashlib.sha256(text.encode()).hexdigest()[:12]}>"
        self.code = _COMMENT.sub(_blanked, text)
        self._starts: list[int] = []

    @property
    def identity(self) -> str:
        """All that places and meaning depend on."""
        return f"{self.name}\0{self.text}"

    def origin(self, position: int) -> tuple[Text, int]:
        """The text that a user wrote, and the place in it of a character."""
        return self, position

    def line(self, position: int) -> int:
        """The number of the line with a character, from 1."""
        if not self._starts:
            self._starts = [0, *(found.end() for found in re.finditer("\n", self.code))]
        return bisect_right(self._starts, position)

    def loc(self, position: int, length: int = 1) -> Loc:
        """The place of some characters of a line, in the text that a user wrote."""
        text, position = self.origin(position)
        line = text.line(position)
        column = position - text._starts[line - 1] + 1
        return Loc(text.name, line, column, column + length)

    def fail(self, message: str, position: int, length: int = 1) -> NoReturn:
        """Raise PtxError with the line and a caret.

        Raises:
            PtxError: always.
        """
        loc = self.loc(min(position, max(0, len(self.code) - 1)), length)
        if loc.file.startswith("<"):
            text, _ = self.origin(position)
            lines = text.text.splitlines(keepends=True)
            linecache.cache[loc.file] = (len(text.text), None, lines, loc.file)
        source = self._source(position)
        raise PtxError(message, loc, (("compiled from", source),) if source else ())

    def _source(self, position: int) -> Loc | None:
        """The source line of the code at a place, if the PTX has it."""
        start = max(self.code.rfind(each, 0, position) for each in (".entry", ".func"))
        lines = list(_LINE.finditer(self.code, max(0, start), position))
        if start < 0 or not lines:
            return None
        file, line, column = map(int, lines[-1].groups())
        for match in _FILE.finditer(self.code):
            if int(match[1]) == file and line:
                return Loc(match[2], line, column)
        return None


def _blanked(match: re.Match[str]) -> str:
    text = match.group()
    return text if text[0] == '"' else _NOT_NEWLINE.sub(" ", text)


_WORD = re.compile(r"(?:[^,{}()]|\([^()]*(?:\([^()]*\)[^()]*)*\))+")


def words_of(value: str) -> list[str]:
    """The parts of an initial value.

    >>> words_of("{0x01, 2, generic(name)+8, 0xFF00(name)}")
    ['0x01', '2', 'generic(name)+8', '0xFF00(name)']
    """
    return [word.strip() for word in _WORD.findall(value) if word.strip()]
