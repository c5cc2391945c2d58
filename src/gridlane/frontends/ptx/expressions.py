"""Constant expressions. PTX ISA 9.0, "Constant Expressions": integers of 64 bits, or f64.

An expression of numbers without a sign suffix is signed; ``U``, 2^63 and above, and an operand of
these make it unsigned. Floats have sums, products and orders among themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from gridlane.frontends.ptx.operands import Number, number

_TOKEN = re.compile(
    r"\s*(?:(?P<cast>\(\s*\.(?P<kind>[su])64\s*\))|(?P<number>0[fFdD][0-9a-fA-F]+|(?:\d+\.\d*|\.\d+|\d+(?=[eE]))"
    r"(?:[eE][+-]?\d+)?|\d\w*|WARP_SZ\b)"
    r"|(?P<operator><<|>>|<=|>=|==|!=|&&|\|\||[-+*/%<>&^|!~?:()]))"
)
_MOST_TOKENS = 1000
_DEPTH = 50
_BITS = (1 << 64) - 1

_Typed = tuple[int | float, bool]
"""A value, and whether it is unsigned."""


def _divided(a: Any, b: Any) -> Any:
    if isinstance(a, float):
        return a / b
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_LEVELS: tuple[dict[str, Callable[[Any, Any], Any]], ...] = (
    {"||": lambda a, b: int(bool(a or b))},
    {"&&": lambda a, b: int(bool(a and b))},
    {"|": lambda a, b: a | b},
    {"^": lambda a, b: a ^ b},
    {"&": lambda a, b: a & b},
    {"==": lambda a, b: int(a == b), "!=": lambda a, b: int(a != b)},
    {
        **{"<": lambda a, b: int(a < b), ">": lambda a, b: int(a > b)},
        **{"<=": lambda a, b: int(a <= b), ">=": lambda a, b: int(a >= b)},
    },
    {"<<": lambda a, b: a << (b & 63), ">>": lambda a, b: a >> (b & 63)},
    {"+": lambda a, b: a + b, "-": lambda a, b: a - b},
    {"*": lambda a, b: a * b, "/": _divided, "%": lambda a, b: a - _divided(a, b) * b},
)
"""The binary operators, those that bind least first."""

_ORDERS = frozenset(["==", "!=", "<", ">", "<=", ">=", "&&", "||"])
_OF_FLOATS = frozenset(["+", "-", "*", "/", "==", "!=", "<", ">", "<=", ">="])


def evaluate(text: str) -> Number | None:
    """The value of an expression; None if the text is none."""
    tokens = _tokens(text)
    if not tokens:
        return None
    try:
        reader = _Reader(tokens)
        value, _ = reader.choice(0)
    except (_NoneError, ZeroDivisionError):
        return None
    if reader.at < len(tokens):
        return None
    return Number(value, 0 if isinstance(value, float) else -1)


def constant(part: str) -> Number | None:
    """A number or an expression of numbers; None if the text is none."""
    plain_number = number(part)
    return evaluate(part) if plain_number is None else plain_number


def _tokens(text: str) -> list[tuple[str, str]]:
    """(kind, text) of each; none if there is anything else, or far too many."""
    results: list[tuple[str, str]] = []
    position, text = 0, text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or len(results) == _MOST_TOKENS:
            return []
        kind = match.lastgroup if match["cast"] is None else "cast"
        results.append((str(kind), match["kind"] or match.group().strip()))
        position = match.end()
    return results


class _NoneError(Exception):
    """The text is no expression."""


class _Reader:
    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.tokens, self.at = tokens, 0

    def _next(self, *wanted: str) -> str:
        """Take an operator, if it is one of these."""
        if self.at < len(self.tokens):
            kind, text = self.tokens[self.at]
            if kind == "operator" and text in wanted:
                self.at += 1
                return text
        return ""

    def choice(self, depth: int) -> _Typed:
        """``a ? b : c``, or less."""
        if depth > _DEPTH:
            raise _NoneError
        value = self._binary(0, depth)
        if not self._next("?"):
            return value
        first = self.choice(depth + 1)
        if not self._next(":"):
            raise _NoneError
        second = self.choice(depth + 1)
        return first if value[0] else second

    def _binary(self, level: int, depth: int) -> _Typed:
        if level == len(_LEVELS):
            return self._unary(depth)
        value, is_unsigned = self._binary(level + 1, depth)
        while operator := self._next(*_LEVELS[level]):
            other, also = self._binary(level + 1, depth)
            if isinstance(value, float) or isinstance(other, float):
                if not isinstance(value, float) or type(other) is not type(value):
                    raise _NoneError  # of an integer and a float the ISA says nothing
                if operator not in _OF_FLOATS:
                    raise _NoneError
                value = _LEVELS[level][operator](value, other)
                continue
            together = is_unsigned if operator in ("<<", ">>") else is_unsigned or also
            first, second = _wrapped(value, together), _wrapped(other, together)
            is_unsigned = together and operator not in _ORDERS
            value = _wrapped(_LEVELS[level][operator](first, second), is_unsigned)
        return value, is_unsigned

    def _unary(self, depth: int) -> _Typed:
        if depth > _DEPTH or self.at == len(self.tokens):
            raise _NoneError
        if operator := self._next("+", "-", "!", "~", "("):
            if operator == "(":
                inner = self.choice(depth + 1)
                if not self._next(")"):
                    raise _NoneError
                return inner
            value, is_unsigned = self._unary(depth + 1)
            if isinstance(value, float):
                if operator not in "+-":
                    raise _NoneError
                return (-value if operator == "-" else value), False
            operated = {"+": value, "-": -value, "!": int(not value), "~": ~value}[operator]
            return _wrapped(operated, is_unsigned), is_unsigned and operator != "!"
        kind, text = self.tokens[self.at]
        self.at += 1
        if kind == "cast":
            value, _ = self._unary(depth + 1)
            if isinstance(value, float):
                raise _NoneError
            return _wrapped(value, text == "u"), text == "u"
        known = number("32" if text == "WARP_SZ" else text) if kind == "number" else None
        if known is None:
            raise _NoneError
        if known.is_float:
            return float(known.value), False
        value = int(known.value)
        return value, text[-1] in "uU" or value >> 63 > 0


def _wrapped(value: int, is_unsigned: bool) -> int:
    value &= _BITS
    return value if is_unsigned or value < 1 << 63 else value - (1 << 64)
