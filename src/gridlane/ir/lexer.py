"""Tokens of the IR's text form, and errors that point at one."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from functools import cached_property

from gridlane.core.errors import ParseError
from gridlane.core.frozen import frozen

_TOKEN = re.compile(
    r"""(?P<space>(?:\s|//[^\n]*)+)
    | (?P<value>%[\w.]+)
    | (?P<var>\$[\w.]+)
    | (?P<symbol>@(?:[\w.]+|"(?:[^"\\\n]|\\.)*"))
    | (?P<string>"(?:[^"\\\n]|\\.)*")
    | (?P<number>-?0x[0-9a-f]+(?:\.[0-9a-f]*)?p[+-]?[0-9]+ | -?(?:inf|nan)\b | -?[0-9]+)
    | (?P<word>[^\W\d][\w.]*)
    | (?P<punctuation>->|[-{}()\[\]<>,:=|*])""",
    re.VERBOSE,
)


@frozen
class Token:
    """A piece of the text: its kind, its text, its offset."""

    kind: str
    text: str
    start: int


class Tokens:
    """The tokens of a text and a position among them.

    Attributes:
        file: the name of the text's file, or "".
    """

    def __init__(self, source: str, file: str = "") -> None:
        self.source = source
        self.file = file
        self.items = self._split()
        self.index = 0
        self.current = self.items[0]

    def _split(self) -> list[Token]:
        items: list[Token] = []
        source, position, match_at = self.source, 0, _TOKEN.match
        while position < len(source):
            match = match_at(source, position)
            if match is None:
                raise self.error(f"unexpected character {source[position]!r}", position)
            kind = match.lastgroup or ""
            if kind != "space":
                items.append(Token(kind, match.group(), position))
            position = match.end()
        items.append(Token("end", "the end of the text", position))
        return items

    def error(self, message: str, position: Token | int | None = None) -> ParseError:
        """The error to raise, at a token, an offset, or the current token."""
        start = (
            self.current.start
            if position is None
            else position.start
            if isinstance(position, Token)
            else position
        )
        line, column = self.place(start)
        begin = start - column + 1
        end = self.source.find("\n", start)
        text = self.source[begin : end if end >= 0 else len(self.source)]
        return ParseError(message, line, column, text)

    def place(self, offset: int) -> tuple[int, int]:
        """The line and the column of an offset, from 1."""
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    @cached_property
    def _lines(self) -> list[int]:
        """Where lines start."""
        return [0, *(match.end() for match in re.finditer("\n", self.source))]

    def advance(self) -> Token:
        """Return the current token and move to the next."""
        token = self.current
        if token.kind != "end":
            self.index += 1
            self.current = self.items[self.index]
        return token

    def go_to(self, index: int) -> None:
        """Make the token at an index the current one."""
        self.index = index
        self.current = self.items[index]

    def accept(self, text: str) -> bool:
        """Whether the current token is this word or punctuation; if so, move to the next."""
        if self.current.text != text or self.current.kind not in ("word", "punctuation"):
            return False
        self.advance()
        return True

    def expect(self, text: str) -> Token:
        """The current token, which must say ``text``."""
        token = self.current
        if not self.accept(text):
            raise self.error(f"expected {text!r}, found {token.text!r}")
        return token

    def kind(self, kind: str, what: str) -> Token:
        """The current token, which must be of a kind."""
        if self.current.kind != kind:
            raise self.error(f"expected {what}, found {self.current.text!r}")
        return self.advance()

    def integer(self) -> int:
        """A decimal integer."""
        token = self.kind("number", "an integer")
        if not token.text.lstrip("-").isascii() or not token.text.lstrip("-").isdigit():
            raise self.error(f"expected an integer, found {token.text!r}", token)
        if len(token.text) > 100:
            raise self.error("an integer of more than 100 digits", token)
        return int(token.text)

    def count(self) -> int:
        """A decimal integer that is not negative and fits in 63 bits."""
        token = self.current
        number = self.integer()
        if not 0 <= number < 1 << 63:
            raise self.error(f"{number} is out of range", token)
        return number

    def number(self) -> int | float:
        """An integer, a hexadecimal float, ``inf`` or ``nan``."""
        text = self.current.text
        if self.current.kind == "number" and ("p" in text or "n" in text):
            token = self.advance()
            try:
                return float.fromhex(token.text)
            except (OverflowError, ValueError):
                raise self.error(f"{token.text!r} is not a float", token) from None
        return self.integer()

    def string(self) -> str:
        """A JSON string."""
        return self._decoded(self.kind("string", "a string"), 0)

    def symbol(self) -> str:
        """``@name`` or ``@"name"``."""
        token = self.kind("symbol", "a symbol such as @name")
        return self._decoded(token, 1) if token.text[1] == '"' else token.text[1:]

    def name(self) -> str:
        """A name: a word or a string."""
        if self.current.kind == "string":
            return self.string()
        return self.kind("word", "a name").text

    def _decoded(self, token: Token, skip: int) -> str:
        try:
            return json.loads(token.text[skip:])
        except ValueError:
            raise self.error("malformed string", token) from None
