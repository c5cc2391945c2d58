"""Launches as nvcc reads them, in clang's words: ``<< <`` and ``>> >``, and shapes in braces."""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|(?P<raw>R\"(?P<mark>[^(\s]{0,16})\(.*?\)(?P=mark)\")"
    r"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
    r"|(?P<begin><<[ \t]*<)|(?P<end>>>[ \t]*>)(?=\s*\()|(?P<up>[(\[{])"
    r"|(?P<down>[)\]}])|(?P<stop>;)",
    re.DOTALL,
)
"""Comments and literals, in which nothing is a launch, and what bounds the shapes of one."""
_ANY = re.compile(r"<<[ \t]*<")
_OPERATOR = re.compile(r"\boperator\s*\Z")
_BRACED = re.compile(r"(\A|,)(\s*)\{")


def with_launches(code: str) -> str:
    """A text whose launches clang reads. Columns stay, but behind braces."""
    if not _ANY.search(code):
        return code
    parts: list[str] = []
    place = 0
    for begin, end in _launches(code):
        parts += [code[place : begin.start()], _joined(begin[0])]
        parts += [_BRACED.sub(r"\1\2dim3{", code[begin.end() : end.start()]), _joined(end[0])]
        place = end.end()
    return "".join((*parts, code[place:]))


def _joined(mark: str) -> str:
    """A mark of a launch without the blanks inside, which go behind it."""
    return mark.replace(" ", "").replace("\t", "").ljust(len(mark))


def _launches(code: str) -> Iterator[tuple[re.Match[str], re.Match[str]]]:
    """Where each launch's shapes begin and end."""
    begin: re.Match[str] | None = None
    depth = 0
    for token in _TOKEN.finditer(code):
        kind = token.lastgroup
        before = code[max(token.start() - 20, 0) : token.start()]
        if kind == "begin" and not _OPERATOR.search(before):
            begin, depth = token, 0
        elif begin is None:
            continue
        elif kind == "up":
            depth += 1
        elif kind == "down":
            depth -= 1
            begin = begin if depth >= 0 else None
        elif kind == "stop":
            begin = None
        elif kind == "end" and depth == 0:
            yield begin, token
            begin = None
