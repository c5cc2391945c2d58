"""The table of forms: the spellings of each opcode, and the function that translates them.

A form is written ``"add [.ftz] .f32|f64"``: the root, then modifiers in order; ``[...]`` may be
absent, ``|`` separates alternatives, ``<name>`` stands for a set of SETS. Operands are written
``"d, a, b"``: ``d`` and names that begin with it are results; ``?`` marks one that may be absent,
``+`` a result that is read as well.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from gridlane.core.dtypes import DType
from gridlane.core.frozen import frozen
from gridlane.frontends.ptx.operands import Address, Texel
from gridlane.frontends.ptx.types import BITS, INTEGERS, SIGNED, TYPES, UNSIGNED
from gridlane.ir.op import Op

if TYPE_CHECKING:
    from gridlane.frontends.ptx.values import Values

Build = Callable[[Any, "Match", tuple[Any, ...]], None]
"""Translates an instruction: it gets the ``Values``, the match and the operands."""

SETS = {
    "int": INTEGERS,
    "signed": SIGNED,
    "unsigned": UNSIGNED,
    "bits": BITS,
    "compare": ("eq", "ne", "lt", "le", "gt", "ge"),
    "sem": ("relaxed", "acquire", "release", "acq_rel"),
    "scope": ("cta", "gpu", "sys"),
    "state": ("global", "shared", "shared::cta", "local", "const"),
    "any": ("u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "b8", "b16", "b32", "b64"),
}


@frozen
class Match:
    """A form and the modifiers that an instruction has of it.

    Attributes:
        types: the modifiers that are types, in order.
        of_cluster: it says ``.shared::cluster`` where ``modifiers`` have ``shared::cta``.
    """

    form: Form
    modifiers: tuple[str, ...]
    types: tuple[DType, ...]
    of_cluster: bool = False

    @property
    def type(self) -> DType:
        """The last type."""
        return self.types[-1]

    def has(self, *names: str) -> bool:
        """Whether one of these is a modifier."""
        return any(name in self.modifiers for name in names)

    def one_of(self, *names: str) -> str:
        """The first of these that is a modifier, or ""."""
        return next((name for name in names if name in self.modifiers), "")


@frozen
class Form:
    """A row of the table.

    Attributes:
        parts: the alternatives of each modifier; with "" where it may be absent.
        operands: the names of the operands; ``least`` of them are needed.
        updated: the numbers of the results that are read as well.
    """

    root: str
    parts: tuple[tuple[str, ...], ...]
    operands: tuple[str, ...]
    least: int
    build: Build
    updated: tuple[int, ...] = ()

    def match(self, modifiers: tuple[str, ...]) -> Match | None:
        """How an instruction's modifiers fit this form, in its order."""
        if not _fits(self.parts, modifiers):
            return None
        return self._matched(modifiers)

    def match_in_any_order(self, modifiers: tuple[str, ...]) -> Match | None:
        """How they fit it in another order, as ptxas takes them; types, layouts and spaces keep
        theirs."""
        ordered = _ordered(self.parts, modifiers)
        return None if ordered is None else self._matched(ordered)

    def _matched(self, modifiers: tuple[str, ...]) -> Match:
        types = tuple(TYPES[each] for each in modifiers if each in TYPES)
        return Match(self, modifiers, types)

    def spellings(self) -> Iterator[str]:
        """Every opcode of this form."""
        for chosen in itertools.product(*self.parts):
            yield ".".join((self.root, *filter(None, chosen)))

    def has_policy(self, modifiers: tuple[str, ...], operands: int) -> bool:
        """Whether the policy of a cache is an operand where a modifier names it, and only there, if
        it is the last operand that may be absent."""
        if self.operands[-1:] != ("policy",) or self.least < len(self.operands) - 1:
            return True
        return (operands == len(self.operands)) == (_HINTED in modifiers)

    def results(self) -> tuple[int, ...]:
        """The numbers of the operands that are results."""
        return _results(self.operands)


_HINTED = "L2::cache_hint"


@cache
def _results(operands: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(n for n, name in enumerate(operands) if name[0] == "d")


FORMS: dict[str, list[Form]] = {}
"""The forms of each root."""


def form(pattern: str, operands: str = "") -> Callable[[Build], Build]:
    """Put a row into the table: the decorated function translates it."""
    root, *modifiers = pattern.split()
    parts: list[tuple[str, ...]] = []
    for word in modifiers:
        optional = word[0] == "["
        names = word.strip("[]").lstrip(".").split("|")
        chosen = [name for each in names for name in _alternatives(each)]
        parts.append((*chosen, "") if optional else tuple(chosen))
    kinds = [kind.strip() for kind in operands.split(",") if kind.strip()]
    least = sum(not kind.endswith("?") for kind in kinds)

    def declare(build: Build) -> Build:
        names = tuple(kind.rstrip("?+") for kind in kinds)
        updated = tuple(number for number, kind in enumerate(kinds) if kind.endswith("+"))
        row = Form(root, tuple(parts), names, least, build, updated)
        FORMS.setdefault(root, []).append(row)
        return build

    return declare


def rows(*table: tuple[str, str, type[Op] | None]) -> None:
    """Put forms into the table that are one op each: its name is behind the form's operands.

    The op's operands are those of the form, in order, read in its last type, or in the one behind a
    name: ``"d u32, a, b u32"``. The result is converted to a type behind ``d``. Without an op the
    form does nothing: it is a hint, whose operands without a type are addresses.
    """
    for pattern, operands, op in table:
        named = [each.split() for each in operands.split(",") if each.strip()]
        types = tuple([TYPES[kind[0]] if kind else None for _, *kind in named])
        has_result = bool(named) and named[0][0] == "d"
        plain = ", ".join(name for name, *_ in named)
        form(pattern, plain)(_row(op, types, has_result) if op else _hint(types))


def _hint(types: tuple[DType | None, ...]) -> Build:
    """The check of a form that does nothing."""

    def build(t: Values, m: Match, o: tuple[Any, ...]) -> None:
        for operand, kind in zip(o, types, strict=False):
            if kind is not None:
                t.read(operand, kind)
            elif not isinstance(operand, Address | Texel):
                t.fail("an address stands in brackets")

    return build


def _row(op: type[Op], types: tuple[DType | None, ...], has_result: bool) -> Build:
    """The translation of a form that is one op."""

    def build(t: Values, m: Match, o: tuple[Any, ...]) -> None:
        given = zip(o[has_result:], types[has_result:], strict=True)
        values = [t.read(each, m.type if kind is None else kind) for each, kind in given]
        if not has_result:
            t.b.emit(op(*values))
            return
        match values:
            case [value]:
                result = t.b.unary(op, value)
            case [lhs, rhs]:
                result = t.b.binary(op, lhs, rhs)
            case _:
                result = t.emit(op(*values))
        t.write(o[0], t.b.cast(result, types[0]) if types[0] else result)

    return build


def _alternatives(name: str) -> tuple[str, ...]:
    return SETS[name[1:-1]] if name[0] == "<" else (name,)


def _fits(parts: tuple[tuple[str, ...], ...], modifiers: tuple[str, ...]) -> bool:
    """Whether the modifiers are alternatives of the parts, in order."""
    counts_taken = {0}  # how many modifiers the parts so far may have taken
    for part in parts:
        counts_taken = {
            at + (name != "")
            for at in counts_taken
            for name in part
            if name == "" or (at < len(modifiers) and modifiers[at] == name)
        }
        if not counts_taken:
            return False
    return len(modifiers) in counts_taken


_IN_ORDER = (
    frozenset(TYPES),
    frozenset(("row", "col")),
    frozenset(("global", "shared", "shared::cta")),
)
"""Modifiers whose places say of which operand they are."""


def _ordered(
    parts: tuple[tuple[str, ...], ...], modifiers: tuple[str, ...]
) -> tuple[str, ...] | None:
    """The modifiers in the order of the parts; None if they are not one of each."""
    if not parts:
        return () if not modifiers else None
    first = {kind: next((m for m in modifiers if m in kind), None) for kind in _IN_ORDER}
    for name in parts[0]:
        if not name:
            left = modifiers
        elif name not in modifiers or any(name in k and name != m for k, m in first.items()):
            continue
        else:
            index = modifiers.index(name)
            left = modifiers[:index] + modifiers[index + 1 :]
        rest = _ordered(parts[1:], left)
        if rest is not None:
            return (name, *rest) if name else rest
    return None


@cache
def find(root: str, modifiers: tuple[str, ...], operands: int) -> Match | None:
    """The form of an instruction with so many operands; None if there is none."""
    rows = [
        row
        for row in FORMS.get(root, ())
        if row.least <= operands <= len(row.operands) and row.has_policy(modifiers, operands)
    ]
    for row in rows:
        match = row.match(modifiers)
        if match is not None:
            return match
    for row in rows:
        match = row.match_in_any_order(modifiers)
        if match is not None:
            return match
    return None
