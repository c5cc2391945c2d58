"""Several units of PTX as one module, by the names of their functions and variables.

NVIDIA's tools accept the text: it begins with the declarations of all names, and each unit follows
with its definitions, without those that another unit's replace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from gridlane.core.frozen import frozen
from gridlane.frontends.ptx.linking import error_texts, symbols, targets
from gridlane.frontends.ptx.linking.assembly import Assembly, Edit, Origin
from gridlane.frontends.ptx.linking.renaming import Files, ending, renamed
from gridlane.frontends.ptx.linking.symbols import Resolved, Symbol
from gridlane.frontends.ptx.module import Item, PtxFunction, PtxModule, index
from gridlane.frontends.ptx.text import Text

_LINKING = re.compile(r"\s*\.(?:visible|weak|common|extern)\b")
_END_OF_HEAD = re.compile(r"[;=]")
_ALIGN = re.compile(
    r"\.align\s+\w+|(?P<space>\.(?:global|const|shared)\b"
    r"(?:\s*\.attribute\s*\((?:[^()]|\([^()]*\))*\))?(?!.*\.align\b))",
    re.DOTALL,
)
_NEVER_RENAMED = frozenset(("_", "WARP_SZ"))
"""What operands call by these is no variable."""


@frozen
class Linked:
    """Units that are linked.

    Attributes:
        names: of each unit, the new names of what is its own and another unit has as well.
    """

    module: PtxModule
    names: tuple[dict[str, str], ...]


def link(units: Sequence[PtxModule]) -> Linked:
    """One module of several units. A single one is unchanged, unless it lacks a function of the
    runtime for devices that gridlane links.

    Raises:
        PtxError: two units define one name, or declare it otherwise than it is defined; or their
            targets are incompatible. Located, with both places.
    """
    strings = error_texts.wanted(units)
    if strings is not None:
        units = (*units, strings)
    if len(units) == 1:
        return Linked(units[0], ({},))
    return _Linker(units).linked()


class _Linker:
    def __init__(self, units: Sequence[PtxModule]) -> None:
        self.units = units
        self.made = Assembly()
        self.files = Files()
        self.seen: list[frozenset[str]] = []
        self.names: tuple[dict[str, str], ...] = tuple({} for _ in units)
        self.resolved: dict[str, Resolved] = {}
        self.hints: dict[str, str] = {}
        self.aliases: list[tuple[int, Item]] = []
        self.known: dict[str, frozenset[str]] = {}
        self.notes: list[str] = []

    def linked(self) -> Linked:
        """Link."""
        self.made.write(targets.head(self.units))
        tables = [symbols.symbols_of(number, unit) for number, unit in enumerate(self.units)]
        for name, each in symbols.by_name(tables).items():
            self._settle(name, each)
        self.seen = [
            frozenset(new.get(name, name) for name in table)
            for table, new in zip(tables, self.names, strict=True)
        ]
        for each in self.resolved.values():
            if each.is_early:
                self._declare(each)
        for number, unit in enumerate(self.units):
            for item in unit.items:
                self._item(number, item)
        for number, item in self.aliases:
            self._copy(number, item)
        text = self.made.done([unit.text for unit in self.units])
        module = index(text)
        notes = (*module.notes, *self.notes)
        module = replace(module, notes=notes, hints=self.hints, known=self.known)
        return Linked(module, self.names)

    def _settle(self, name: str, declared_symbols: list[Symbol]) -> None:
        """Resolve a name, and rename the symbols that are local to units."""
        own = [each for each in declared_symbols if not each.linking]
        shared = [each for each in declared_symbols if each.linking]
        if shared:
            self.resolved[name] = resolution = symbols.resolve(shared)
            if own and resolution.kept.definition is None:
                self.hints[name] = f"; {own[0].place()} is of its unit alone: make it .visible"
        if len(declared_symbols) == 1:
            return
        for each in own:
            if name in _NEVER_RENAMED:
                each.place().fail(f"{name} is in several units, and is no name to tell apart")
            self.names[each.unit][name] = f"{name}$unit{each.unit + 1}{self._ending}"

    @cached_property
    def _ending(self) -> str:
        return ending(self.units)

    # --- the text

    def _declare(self, resolved: Resolved) -> None:
        """Declare a name in front of all that uses it."""
        kept, item = resolved.kept, resolved.item
        text = kept.module.text
        if kept.definition is None:
            self.made.copy(text, item.start, item.end)
            self.made.write("\n")
            return
        if item.kind == "alias":
            (item, *_) = kept.declarations
        if isinstance(item.made, PtxFunction):
            end = item.made.start - 1 if item.made.has_body else item.end - 1
            head = text.code[item.start : end].rstrip()
        else:
            match = _LINKING.match(text.code, item.start)
            end = _END_OF_HEAD.search(text.code, item.start)
            assert match is not None and end is not None  # the index took them
            head = ".extern" + text.code[match.end() : end.start()].rstrip()
        self.made.write(f"{head};\n", Origin(text, item.start, False))

    def _item(self, number: int, item: Item) -> None:
        """Add a directive of a unit, if it belongs to the whole."""
        if item.kind == "size":
            return
        if item.kind == "section":
            note = "what units have for debuggers (.section) is left out; .loc stays"
            self.notes += [note] if note not in self.notes else []
            return
        resolution = self.resolved.get(item.name) if item.name else None
        is_own = item.name in self.names[number] or resolution is None
        if resolution is not None and not is_own and not resolution.keeps(number, item):
            return
        if item.kind == "alias":
            self.aliases.append((number, item))
            return
        self._copy(number, item)

    def _copy(self, number: int, item: Item) -> None:
        if item.kind in ("function", "alias"):
            self.known[self.names[number].get(item.name, item.name)] = self.seen[number]
        text = self.units[number].text
        self.made.copy(text, item.start, item.end, sorted(self._edits(number, item)))
        self.made.write("\n")

    def _edits(self, number: int, item: Item) -> Iterator[Edit]:
        text, names = self.units[number].text, self.names[number]
        if names and item.name:
            yield from renamed(text, item, names)
        resolution = self.resolved.get(item.name)
        if resolution is not None and resolution.align and resolution.keeps(number, item):
            yield _aligned(text, item, resolution.align)
        yield from self.files.edits(number, text, item.start, item.end)


def _aligned(text: Text, item: Item, align: int) -> Edit:
    """The edit of a variable's declaration for the alignment that another unit requires."""
    end = _END_OF_HEAD.search(text.code, item.start)
    match = _ALIGN.search(text.code, item.start, end.start() if end else item.end)
    assert match is not None  # the index took it
    if match["space"]:
        return match.end(), match.end(), f" .align {align}"
    return *match.span(), f".align {align}"
