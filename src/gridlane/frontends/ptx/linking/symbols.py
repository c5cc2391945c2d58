"""The names of units, and the definition to which each is resolved.

PTX ISA 9.0, "Linking Directives": ``.visible`` names are defined once, of ``.weak`` ones any
definition may be chosen, ``.common`` variables are as large as the largest and have at most one
initial value, ``.extern`` names are defined by another unit, and names without a directive are the
unit's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from gridlane.core.frozen import frozen
from gridlane.frontends.ptx.linking.agreement import Made, disagreement
from gridlane.frontends.ptx.linking.assembly import Place
from gridlane.frontends.ptx.module import Declared, Item, PtxFunction, PtxModule


@dataclass(slots=True)
class Symbol:
    """A name in one unit.

    Attributes:
        unit: the number of the unit, ``module``.
        declarations: those that define nothing.
    """

    name: str
    unit: int
    module: PtxModule
    definition: Item | None = None
    declarations: list[Item] = field(default_factory=list[Item])

    @property
    def linking(self) -> str:
        """The linking directive; an alias has that of its declaration."""
        if self.definition is None or (self.definition.kind == "alias" and self.declarations):
            return self.declarations[0].linking
        return self.definition.linking

    @property
    def made(self) -> Made:
        """What it is defined as, else declared as."""
        if self.definition is not None and self.definition.kind == "alias":
            return self.module.functions[self.name]
        return (self.definition or self.declarations[0]).made

    @property
    def is_variable(self) -> bool:
        """Whether it is no function."""
        return not isinstance(self.made, PtxFunction)

    @property
    def align(self) -> int:
        """The largest alignment that the unit declares; 0 for a function."""
        items = (*self.declarations, *([self.definition] if self.definition else []))
        return max(each.made.align if isinstance(each.made, Declared) else 0 for each in items)

    @property
    def value(self) -> str:
        """The initial value of a variable, or ""."""
        return self.made.value if isinstance(self.made, Declared) else ""

    def place(self, item: Item | None = None) -> Place:
        """Where it is defined, or declared by an item."""
        declaration = item or self.definition or self.declarations[0]
        position = declaration.start if declaration.made is None else declaration.made.at
        return Place(self.module.text, position)


@frozen
class Resolved:
    """A name that units share.

    Attributes:
        kept: the symbol whose definition it is; if nothing defines it, one that declares it.
        item: the definition or declaration that is kept.
        is_early: whether it is needed in front of its definition.
        align: of a variable, if a unit declares more than the definition has.
    """

    kept: Symbol
    item: Item
    is_early: bool
    align: int = 0

    def keeps(self, unit: int, item: Item) -> bool:
        """Whether the definition is this one. One module may be several units."""
        return self.kept.unit == unit and self.kept.definition is item


def symbols_of(unit: int, module: PtxModule) -> dict[str, Symbol]:
    """The names of a unit.

    Raises:
        PtxError: a definition is not what is declared.
    """
    symbols: dict[str, Symbol] = {}
    for item in module.items:
        if not item.name:
            continue
        symbol = symbols.get(item.name)
        if symbol is None:
            symbol = symbols[item.name] = Symbol(item.name, unit, module)
        if _defines(item):
            symbol.definition = item
        else:
            symbol.declarations.append(item)
    for symbol in symbols.values():
        if symbol.definition is not None and symbol.linking in _DEFINES_NOT[symbol.is_variable]:
            symbol.place().fail(f"{symbol.name} is .{symbol.linking}, and defined here")
        for item in symbol.declarations:
            _check(symbol, item, symbol)
    return symbols


_DEFINES_NOT = {True: ("extern",), False: ("extern", "common")}
"""The linking directives that no definition of a variable has, and of a function."""


def _defines(item: Item) -> bool:
    if isinstance(item.made, PtxFunction):
        return item.made.has_body
    return item.linking != "extern"


def resolve(symbols: Sequence[Symbol]) -> Resolved:
    """Resolve a name that is not local to a unit.

    Raises:
        PtxError: several units define it, or what they define or declare differs.
    """
    kept = _kept([each for each in symbols if each.definition is not None])
    if kept is None:
        kept = _declared(symbols)
    for symbol in symbols:
        if kept.definition is not None and symbol.definition is None and symbol.linking != "extern":
            symbol.place().fail(
                f"{symbol.name} is declared .{symbol.linking} and not defined here, but at "
                f"{kept.place()}; .extern declares what another unit defines"
            )
        if symbol.definition is None:
            for item in symbol.declarations:
                _check(symbol, item, kept)
        elif symbol is not kept:
            _check(symbol, symbol.definition, kept)
    item = kept.definition or _largest(kept.declarations)
    early = kept.definition is None or bool(kept.declarations) or symbols[0].unit < kept.unit
    own = kept.made.align if isinstance(kept.made, Declared) else 0
    most = max(each.align for each in symbols) if kept.definition is not None else 0
    return Resolved(kept, item, early, most if most > own else 0)


def _kept(defined: list[Symbol]) -> Symbol | None:
    weak = [each for each in defined if each.linking == "weak"]
    common = [each for each in defined if each.linking == "common" and not each.value]
    strong = [each for each in defined if each.linking == "visible"]
    strong += [each for each in defined if each.linking == "common" and each.value]
    strong.sort(key=lambda each: each.unit)
    if len(strong) > 1:
        strong[1].place().fail(
            f"{strong[1].name} is defined a second time; first at {strong[0].place()}"
        )
    if strong:
        return strong[0]
    if weak and common:
        weak[0].place().fail(
            f"{weak[0].name} is .weak here, and .common at {common[0].place()}: which one it is "
            "is not said"
        )
    if common:
        return max(common, key=lambda each: _size(each.made))
    return weak[0] if weak else None


def _declared(symbols: Sequence[Symbol]) -> Symbol:
    """The symbol with the declaration that all others agree with, if any does."""
    items = {id(item): each for each in symbols for item in each.declarations}
    best = _largest([item for each in symbols for item in each.declarations])
    return items[id(best)]


def _largest(items: Sequence[Item]) -> Item:
    """The first declaration with a size, of those with the largest alignment."""

    def order(item: Item) -> tuple[int, int]:
        declared_item = item.made
        return (
            (declared_item.align, declared_item.count is not None)
            if isinstance(declared_item, Declared)
            else (0, 0)
        )

    return max(items, key=order)


def _size(declared_item: Made) -> int:
    return declared_item.size if isinstance(declared_item, Declared) else 0


def _check(symbol: Symbol, item: Item, kept: Symbol) -> None:
    """Raise PtxError if a declaration or definition is not what is kept."""
    given, wanted = item.made, kept.made
    if isinstance(given, PtxFunction) and isinstance(wanted, PtxFunction):
        given = replace(given, is_entry=given.is_entry or _is_launched(symbol, given, wanted))
    if item.kind == "alias":
        given = symbol.made
    if symbol.linking == "common" and item is symbol.definition and isinstance(given, Declared):
        fits = given.size <= _size(wanted) and (kept.value or kept.linking == "common")
        given = replace(given, count=None if fits else given.count)
    difference = disagreement(given, wanted)
    if difference:
        where = kept.place()
        symbol.place(item).fail(f"{symbol.name} is not what it is at {where}: {difference}")


def _is_launched(symbol: Symbol, given: PtxFunction, wanted: PtxFunction) -> bool:
    """Whether a declaration of a function is clang's of a kernel that another kernel launches: its
    unit takes the address and has no call."""
    if not wanted.is_entry or given.has_body or given.results:
        return False
    called = rf"\bcall\b[^;]*(?<![\w$%]){re.escape(symbol.name)}(?![\w$])"
    return re.search(called, symbol.module.text.code) is None


def by_name(units: Iterable[dict[str, Symbol]]) -> dict[str, list[Symbol]]:
    """The symbols of each name, by units."""
    symbols_by_name: dict[str, list[Symbol]] = {}
    for unit in units:
        for name, symbol in unit.items():
            symbols_by_name.setdefault(name, []).append(symbol)
    return symbols_by_name
