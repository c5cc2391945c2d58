"""Fixed-width strings as values, numpy's ``<U12`` and ``S12``: a tuple of code points or bytes.

As in numpy, NULs at the end are no part of the text. Results are combined pairwise, as in a tree,
so that no expression nests as deep as a string is wide.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from gridlane.core.argtypes import CharsType
from gridlane.core.dtypes import b1, i64, u32
from gridlane.core.errors import ConstantError, TypingError, UnsupportedError
from gridlane.frontends.python.operands import (
    Chars,
    ComplexNumber,
    Operand,
    Scalar,
    Static,
    TupleOperand,
)
from gridlane.frontends.python.raising import stop
from gridlane.frontends.python.translator import Translator
from gridlane.ir.builder import constant
from gridlane.ir.ops import arith
from gridlane.ir.values import Value

LIMIT = 128
"""The maximum width of a string in a kernel, each unit of which takes a register."""

SEARCH = 4096
"""The maximum number of comparisons of a search, all of which are emitted."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, eq=False)
class _Text:
    """A string: its units, the last ``tail`` of which are NULs that end a constant and count in
    Python."""

    units: tuple[Value, ...]
    is_bytes: bool
    tail: int = 0
    known: int | None = None

    def length(self, t: Translator) -> Value:
        """The number of units without the NULs after the text."""
        b = t.b
        if self.known is not None:
            return b.const(self.known, i64)
        ends = [
            b.select(_is_set(t, unit), b.const(number + 1, i64), b.const(0, i64))
            for number, unit in enumerate(self.units)
        ]
        return _tree(ends, lambda x, y: b.binary(arith.Max, x, y))


def _text(t: Translator, operand: Operand) -> _Text | None:
    """A string or a constant str or bytes; None for anything else."""
    if isinstance(operand, Chars):
        return _Text(operand.units, operand.type.is_bytes)
    known = operand.object if isinstance(operand, Static) else None
    if not isinstance(known, str | bytes):
        return None
    codes = list(known) if isinstance(known, bytes) else [ord(letter) for letter in known]
    kind = CharsType(len(codes), isinstance(known, bytes))
    tail = next((n for n, code in enumerate(reversed(codes)) if code), len(codes))
    units = tuple([t.b.const(code, kind.unit) for code in codes])
    return _Text(units, kind.is_bytes, tail, len(codes))


def require_narrow(t: Translator, kind: CharsType) -> None:
    """Refuse strings too wide for a value.

    Raises:
        UnsupportedError: the string is wider than LIMIT.
    """
    if kind.count > LIMIT:
        raise t.fail(
            UnsupportedError,
            f"a string of {kind.count} {'bytes' if kind.is_bytes else 'characters'} is too wide "
            f"for a kernel's value, which holds {LIMIT}; view its array as numbers, as in "
            f"array.view(np.{kind.unit.numpy.name})",
        )


def convert_chars(t: Translator, operand: Operand, kind: CharsType) -> Chars | None:
    """A string in another width, truncated or followed by NULs; None where the operand is no text
    of the kind."""
    text = _text(t, operand)
    if text is None or text.is_bytes is not kind.is_bytes:
        return None
    require_narrow(t, kind)
    nul = t.b.const(0, kind.unit)
    rest = (nul,) * (kind.count - len(text.units))
    return Chars(kind, (*text.units[: kind.count], *rest))


def of_constant(t: Translator, text: str | bytes) -> Chars:
    """A constant as a string of its width."""
    kind = CharsType(max(1, len(text)), isinstance(text, bytes))
    chars = convert_chars(t, Static(text), kind)
    assert chars is not None
    return chars


def _tree(items: Sequence[_T], join: Callable[[_T, _T], _T]) -> _T:
    """Combine one item or more pairwise, in order."""
    left = list(items)
    while len(left) > 1:
        pairs = zip(left[::2], left[1::2], strict=False)
        left = [join(x, y) for x, y in pairs] + left[len(left) & ~1 :]
    return left[0]


def _is_set(t: Translator, unit: Value) -> Value:
    return t.b.binary(arith.Ne, unit, t.b.const(0, unit.type))


# ---- properties


def is_text(t: Translator, chars: Chars) -> Value:
    """Whether a string is not empty."""
    return _is_set(t, _tree(chars.units, t.b.or_))


def length(t: Translator, chars: Chars) -> Scalar:
    """``len(s)``."""
    return Scalar(_Text(chars.units, chars.type.is_bytes).length(t), 0, chars.type.count)


def is_ascii(t: Translator, chars: Chars) -> Value:
    """``s.isascii()``."""
    return t.b.lt(_tree(chars.units, t.b.or_), t.b.const(128, chars.type.unit))


def item(t: Translator, chars: Chars, index: Scalar) -> Operand:
    """``s[i]``: a string of one character; of bytes a number, as uint32. As in numba, an index that
    is out of range ends the thread with an IndexError, and so does that of a NUL."""
    b, kind = t.b, chars.type
    known = constant(index.value)
    if type(known) is int and not -kind.count <= known < kind.count:
        raise t.fail(ConstantError, f"index {known} is out of range of {kind}")
    place = b.cast(index.value, i64)
    if not index.not_negative:
        from_end = b.add(place, length(t, chars).value)
        place = b.select(b.lt(place, b.const(0, i64)), from_end, place)
    nul = b.const(0, kind.unit)
    hits = [
        b.select(b.eq(place, b.const(number, i64)), unit, nul)
        for number, unit in enumerate(chars.units)
    ]
    unit = _tree(hits, b.or_)
    with b.if_(b.eq(unit, nul)):
        stop(t, "IndexError", "string index out of range")
    t.dead = False
    return Scalar(b.cast(unit, u32)) if kind.is_bytes else Chars(CharsType(1, False), (unit,))


# ---- comparison

Kind = type[ast.cmpop]

_BESIDE = Chars | Static | Scalar | ComplexNumber | TupleOperand
"""What never equals a string unless it is one."""


def compare(t: Translator, kind: Kind, lhs: Operand, rhs: Operand) -> Value | None:
    """``lhs <kind> rhs`` by code points, if one of them is a string; None if it is not defined. A
    string never equals bytes, a number or another object, as in Python."""
    a, b = _text(t, lhs), _text(t, rhs)
    is_equality = kind in (ast.Eq, ast.NotEq)
    if a is None or b is None or a.is_bytes is not b.is_bytes:
        apart = is_equality and isinstance(lhs, _BESIDE) and isinstance(rhs, _BESIDE)
        return t.b.const(kind is ast.NotEq, b1) if apart else None
    if is_equality:
        same = _equal(t, a, b)
        return same if kind is ast.Eq else t.b.not_(same)
    return _ordered(t, kind, a, b)


def _pairs(t: Translator, a: _Text, b: _Text) -> list[tuple[Value, Value]]:
    """The units of two strings side by side, NULs after the shorter one."""
    nul = t.b.const(0, (a.units or b.units)[0].type)
    count = max(len(a.units), len(b.units))
    sides = [[*text.units, *[nul] * (count - len(text.units))] for text in (a, b)]
    return list(zip(*sides, strict=True))


def _equal(t: Translator, a: _Text, b: _Text) -> Value:
    if a.tail != b.tail:  # a constant that ends in NULs equals no string of an array
        return t.b.const(False, b1)
    return _tree([t.b.eq(x, y) for x, y in _pairs(t, a, b)], t.b.and_)


def _ordered(t: Translator, kind: Kind, a: _Text, b: _Text) -> Value:
    """The first pair of units that differs decides; then the NULs that end a constant."""
    strict = arith.Lt if kind in (ast.Lt, ast.LtE) else arith.Gt
    ties: dict[Kind, bool] = {ast.Lt: a.tail < b.tail, ast.LtE: a.tail <= b.tail}
    tie = ties.get(kind)
    if tie is None:
        tie = a.tail > b.tail if kind is ast.Gt else a.tail >= b.tail
    each = [(t.b.binary(strict, x, y), t.b.eq(x, y)) for x, y in _pairs(t, a, b)]

    def join(first: tuple[Value, Value], then: tuple[Value, Value]) -> tuple[Value, Value]:
        (before, same), (after, also) = first, then
        return t.b.or_(before, t.b.and_(same, after)), t.b.and_(same, also)

    before, same = _tree(each, join)
    return t.b.or_(before, same) if tie else before


# ---- searches


def _searched(
    t: Translator, what: str, chars: Chars, operand: Operand, all_places: bool = True
) -> _Text:
    """The text to search for.

    Raises:
        TypingError: it is no text of the string's kind.
        UnsupportedError: the search compares too often.
    """
    text = _text(t, operand)
    if text is None or text.is_bytes is not chars.type.is_bytes:
        raise t.fail(
            TypingError,
            f"{what} {chars.type_name}: {'bytes are' if chars.type.is_bytes else 'a str is'} "
            f"required, not {operand.type_name}",
        )
    if all_places and chars.type.count * len(text.units) > SEARCH:
        raise t.fail(
            UnsupportedError,
            f"{what} {chars.type_name}: a search for a text of {len(text.units)} takes "
            f"{chars.type.count * len(text.units)} comparisons, and {SEARCH} are the most; search "
            "for a shorter constant",
        )
    return text


def _matches(t: Translator, chars: Chars, text: _Text, size: Value, start: int) -> Value:
    """Whether the units from a place on are those of a text, where it fits there."""
    b = t.b
    tests = [b.const(True, b1)]
    for number, unit in enumerate(text.units[: chars.type.count - start]):
        same = b.eq(chars.units[start + number], unit)
        if text.known is None:
            same = b.or_(b.binary(arith.Le, size, b.const(number, i64)), same)
        tests.append(same)
    return _tree(tests, b.and_)


def starts_with(t: Translator, chars: Chars, operand: Operand) -> Value:
    """``s.startswith(text)``."""
    text = _searched(t, "startswith of", chars, operand, all_places=False)
    size = text.length(t)
    fits = t.b.binary(arith.Le, size, length(t, chars).value)
    return t.b.and_(fits, _matches(t, chars, text, size, 0))


def ends_with(t: Translator, chars: Chars, operand: Operand) -> Value:
    """``s.endswith(text)``."""
    b, text = t.b, _searched(t, "endswith of", chars, operand)
    size = text.length(t)
    start = b.sub(length(t, chars).value, size)
    here = [
        b.and_(b.eq(start, b.const(place, i64)), _matches(t, chars, text, size, place))
        for place in range(chars.type.count + 1)
    ]
    return _tree(here, b.or_)


def contains(t: Translator, chars: Chars, operand: Operand) -> Value:
    """``text in s``."""
    first = _find(t, "in", chars, operand)
    return t.b.binary(arith.Le, first, t.b.const(chars.type.count, i64))


def find(t: Translator, chars: Chars, operand: Operand) -> Scalar:
    """``s.find(text)``: the first place of a text, else -1."""
    b, first = t.b, _find(t, "find in", chars, operand)
    missing = b.binary(arith.Gt, first, b.const(chars.type.count, i64))
    return Scalar(b.select(missing, b.const(-1, i64), first), -1, chars.type.count)


def _find(t: Translator, what: str, chars: Chars, operand: Operand) -> Value:
    """The first place of a text, or a number beyond all of them."""
    b, text = t.b, _searched(t, what, chars, operand)
    size = text.length(t)
    last = b.sub(length(t, chars).value, size)
    none = b.const(chars.type.count + 1, i64)
    candidates: list[Value] = []
    for place in range(chars.type.count + 1):
        fits = b.binary(arith.Ge, last, b.const(place, i64))
        here = b.and_(fits, _matches(t, chars, text, size, place))
        candidates.append(b.select(here, b.const(place, i64), none))
    return _tree(candidates, lambda x, y: b.binary(arith.Min, x, y))
