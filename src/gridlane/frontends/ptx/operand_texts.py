"""The operands of instructions, from their texts."""

from __future__ import annotations

import re

from gridlane.core.dtypes import b1
from gridlane.frontends.ptx.declarations import Declared
from gridlane.frontends.ptx.expressions import constant, evaluate
from gridlane.frontends.ptx.operands import (
    Address,
    Operand,
    Pair,
    Part,
    Reg,
    Register,
    Sink,
    Special,
    Symbol,
    Texel,
    Tuple,
    Vector,
    number,
    split_operands,
)
from gridlane.frontends.ptx.scopes import NAME, Scopes
from gridlane.frontends.ptx.specials import RESERVED_PARTS
from gridlane.frontends.ptx.text import Text
from gridlane.frontends.ptx.types import TYPES

ELEMENT = re.compile(r"([A-Za-z_$%][\w$]*)\s*\[(.+)\]")
_ADDRESS = re.compile(r"\[\s*([^\s\[\]+]+)?\s*(?:\+?\s*([^\[\]{},]+?))?\s*\]")
_PLUS = re.compile(r"([A-Za-z_$%][\w$]*)\s*([+-])\s*(.+)")
_PART = re.compile(
    r"(?P<sign>-?)\s*(?P<name>[A-Za-z_$%][\w$]*)(?:\.(?P<chosen>h[0-3]{1,2}|b[0-7]{1,4}))?"
)


class OperandReader:
    """Reads operands whose names are those of scopes.

    Attributes:
        in_call: the instruction is a call, whose parentheses are lists.
    """

    def __init__(self, text: Text, scopes: Scopes) -> None:
        self.text, self.scopes = text, scopes
        self.in_call = False

    def read(self, part: str, position: int) -> Operand:
        """The operand of a text."""
        if not part:
            self.text.fail("an operand is missing", position)
        first = part[0]
        if first == "[":
            return self._texel(part, position) if "," in part else self._address(part, position)
        is_expression = first in "-+~!.0123456789" or part.startswith("WARP_SZ")
        if (is_expression or (first == "(" and not self.in_call)) and (operand := constant(part)):
            return operand
        if first == "{" and part[-1] != "}" and "|" in part:
            left, _, right = part.rpartition("|")
            return Pair(self.read(left.strip(), position), self.read(right.strip(), position))
        if first in "{(":
            if part[-1] != {"{": "}", "(": ")"}[first]:
                self.text.fail(f"{part[:40]} is not closed", position)
            inner = split_operands(part[1:-1]) if part[1:-1].strip() else []
            parts = tuple(self.read(each, position + 1 + where) for each, where in inner)
            return Vector(parts) if first == "{" else Tuple(parts)
        if "|" in part:
            left, _, right = part.partition("|")
            return Pair(self.read(left.strip(), position), self.read(right.strip(), position))
        if part == "_":
            return Sink()
        if first == "!" and part[1:].strip()[:1] not in tuple("(0123456789"):
            inner = self.read(part[1:].strip(), position)
            if isinstance(inner, Reg) and inner.register.type is b1 and not inner.negated:
                return Reg(inner.register, True)
            self.text.fail(f"{part}: only a predicate is negated so", position, len(part))
        chosen = self._chosen(part) if first == "-" or "." in part else None
        return chosen if chosen is not None else self._named(part, position)

    def _chosen(self, part: str) -> Part | None:
        """Some bytes or halves of a register, or its negation."""
        match = _PART.fullmatch(part)
        if match is None or not (match["sign"] or match["chosen"]):
            return None
        register = self.scopes.find(match["name"])
        if not isinstance(register, Register):
            return None
        return Part(register, match["chosen"] or "", bool(match["sign"]))

    def _named(self, part: str, position: int) -> Operand:
        operand = self.scopes.find(part)
        if isinstance(operand, Register):
            return Reg(operand)
        if isinstance(operand, Vector):
            return operand
        if operand is not None:
            return Symbol(part, operand)
        if (own := self.scopes.part(part)) is not None:
            return own
        if match := ELEMENT.fullmatch(part):
            return self._element(match[1], match[2], position)
        if part in RESERVED_PARTS:
            return Symbol(part, RESERVED_PARTS[part])
        if part[0] == "%":
            return Special(part)
        if match := _PLUS.fullmatch(part):
            variable, value = self.scopes.find(match[1]), evaluate(match[3])
            if isinstance(variable, Declared) and value is not None and not value.is_float:
                sign = -1 if match[2] == "-" else 1
                return Symbol(match[1], variable, sign * int(value.value))
        if NAME.fullmatch(part):
            return Symbol(part, None)  # a function or a label
        self.text.fail(f"no operand: {part[:60]}", position, min(60, len(part)))

    def _element(self, name: str, index: str, position: int) -> Symbol:
        """An element of an array."""
        variable, value = self.scopes.find(name), evaluate(index)
        if not isinstance(variable, Declared) or value is None or value.value < 0:
            self.text.fail(
                f"no element of an array: {name[:40]}[{index[:20]}]", position, len(name)
            )
        return Symbol(name, variable, TYPES[variable.type].size * int(value.value))

    def _texel(self, part: str, position: int) -> Texel:
        """A place in a texture or surface."""
        inner = split_operands(part[1:-1]) if part[-1] == "]" else []
        if len(inner) == 3:
            self.text.fail(
                "a sampler apart from its texture is not translated", position, len(part)
            )
        if len(inner) != 2:
            self.text.fail(
                f"no address is translated that is written {part[:60]}", position, len(part)
            )
        base, place = (self.read(each, position + 1 + where) for each, where in inner)
        return Texel((base, *(place.parts if isinstance(place, Vector) else (place,))))

    def _address(self, part: str, position: int) -> Operand:
        match = _ADDRESS.fullmatch(part)
        if match is None:
            self.text.fail(
                f"no address is translated that is written {part[:60]}", position, len(part)
            )
        base, plus = match[1] or "0", match[2] or "0"
        offset = number(plus) or evaluate(plus)
        if offset is None or offset.is_float:
            self.text.fail(f"{part}: the offset is an integer", position, len(part))
        known = number(base)
        if known is not None and not known.is_float:
            return Address(None, int(known.value) + int(offset.value))
        target = self._named(base, position + 1)
        if isinstance(target, Reg):
            return Address(target.register, int(offset.value))
        if isinstance(target, Symbol) and target.variable is not None:
            return Address(target, int(offset.value))
        self.text.fail(f"{base[:40]} is not declared", position + 1, len(base))
