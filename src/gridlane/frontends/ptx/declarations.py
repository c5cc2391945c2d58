"""Declarations of variables and parameters. PTX ISA 9.0, chapter "Variables"."""

from __future__ import annotations

import math
import re

from gridlane.core.frozen import frozen
from gridlane.frontends.ptx.text import Text
from gridlane.frontends.ptx.types import TYPES

NAME = r"[A-Za-z_$%][\w$]*"
"""Of a variable, a function or a label."""
_DECLARED = re.compile(
    rf"\s*(?:\.attribute\s*\((?P<attribute>(?:[^()]|\([^()]*\))*)\)\s*)?"
    rf"(?:\.align\s+(?P<align>\w+)\s*)?(?:\.v(?P<vector>[24])\s*)?\.(?P<type>\w+)\s+"
    rf"(?P<attributes>(?:\.\w+(?:\s+\d+)?\s+)*)(?P<name>{NAME})\s*(?P<sizes>(?:\[[^\]]*\]\s*)*)$"
)
_LARGEST = 1 << 40


@frozen
class Declared:
    """A declared variable or parameter.

    Attributes:
        space: ``global``, ``const``, ``shared``, ``local`` or ``param``; ``reg`` of a parameter
            that is a register.
        count: how many elements; None for an array without a size.
        pointer: the space that a parameter's ``.ptr`` names ("" for generic), or None.
        value: the text of the initial value, or "".
        rows: of an array of several dimensions, the elements of what each inner one is of.
        is_open: whether it is a parameter without a size, which accepts arrays of any size;
            ``count`` is the most that the module's calls pass.
        linking: ``extern``, ``visible``, ``weak``, ``common`` or "".
        reference: ``texref`` or ``surfref`` of a variable that holds the handle of a texture or
            surface, to which its name evaluates; else "".
        is_managed: whether host and device share it.
    """

    name: str
    type: str
    space: str
    count: int | None
    align: int
    at: int
    is_array: bool = False
    pointer: str | None = None
    value: str = ""
    linking: str = ""
    reference: str = ""
    rows: tuple[int, ...] = ()
    is_open: bool = False
    is_managed: bool = False

    @property
    def size(self) -> int:
        """Its bytes; 0 without a size."""
        return TYPES[self.type].size * (self.count or 0)

    @property
    def is_reference(self) -> bool:
        """Whether its name evaluates to the handle of a texture or surface."""
        return self.reference != ""


def declared(text: Text, part: str, space: str, position: int) -> Declared:
    """A declaration behind its state space: alignment, type, name and sizes.

    Raises:
        PtxError: it is malformed, or too large for any memory.
    """
    match = _DECLARED.match(part)
    start = position + len(part) - len(part.lstrip())
    if match is None:
        text.fail(f"a malformed declaration: {part.strip()[:60]}", start)
    kind, name = match["type"], match["name"]
    if kind not in TYPES or (kind == "pred" and space != "reg"):
        text.fail(f"no variable of type .{kind} is translated", start, max(1, len(part.strip())))
    vector, sizes = int(match["vector"] or 1), re.findall(r"\[\s*([^\]]*?)\s*\]", match["sizes"])
    count = _count(text, sizes, vector, start)
    if count is not None and count * TYPES[kind].size > _LARGEST:
        text.fail(f"{name} has more than 2^40 bytes", position + match.start("name"), len(name))
    pointer = re.search(r"\.ptr\b(?:\s*\.(\w+))?", match["attributes"])
    where = "" if pointer is None or pointer[1] in (None, "align") else pointer[1]
    return Declared(
        name,
        kind,
        space,
        count,
        _alignment(text, match["align"], TYPES[kind].size * vector, start),
        position + match.start("name"),
        bool(sizes),
        None if pointer is None else where,
        rows=_rows(sizes, vector),
        is_managed=".managed" in (match["attribute"] or ""),
    )


def _count(text: Text, sizes: list[str], vector: int, start: int) -> int | None:
    """The number of elements of an array; None if one of its sizes is omitted."""
    count: int | None = vector
    for size in sizes:
        if not size:
            count = None
        elif _size(size) is None:
            text.fail(f"[{size}]: the size of an array is a number", start)
        elif count is not None:
            count *= _size(size) or 0
    return count


def _alignment(text: Text, given: str | None, own: int, start: int) -> int:
    """The alignment that a declaration states, or the type's own."""
    align = own
    if given:
        align = int(given, 0) if re.fullmatch(r"0[xX][\da-fA-F]{1,8}|[1-9]\d{0,8}", given) else 0
    if not 0 < align < 1 << 30 or align & align - 1:
        text.fail(f"an alignment is a power of two, not {given or align}", start)
    return align


def _size(text: str) -> int | None:
    """A number of elements: decimal, octal or hexadecimal, or the size of a warp; None if the text
    is none.

    >>> _size("10"), _size("010"), _size("0x10"), _size("WARP_SZ"), _size("09")
    (10, 8, 16, 32, None)
    """
    if text == "WARP_SZ":
        return 32
    for pattern, base in ((r"0[xX][\da-fA-F]{1,20}", 16), (r"0[0-7]{0,20}", 8), (r"\d{1,20}", 10)):
        if re.fullmatch(pattern, text):
            return int(text, base)
        if base == 8 and text[0] == "0":
            return None
    return None


def _rows(sizes: list[str], vector: int) -> tuple[int, ...]:
    """The elements of a row of each inner dimension; a vector is the innermost."""
    inner = [_size(size) or 0 for size in sizes[1:] if size]
    inner += [vector] if vector > 1 and sizes else []
    return tuple(math.prod(inner[at:]) for at in range(len(inner)))
