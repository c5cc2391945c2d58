"""Names that a language accepts, each used once, and the order of declarations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set

from gridlane.actors.layouts.schema import Layout
from gridlane.core.errors import ArgumentError


class Names:
    """The names of one scope.

    A reserved or used name gets the suffix ``_``, and a number where that is used too.
    """

    def __init__(self, reserved: Set[str]) -> None:
        self._reserved, self._taken = reserved, set[str]()

    def is_free(self, name: str) -> bool:
        """Whether a name may be used unchanged."""
        return name not in self._reserved and name not in self._taken

    def take(self, wanted: str) -> str:
        """The name to write for a wanted one.

        >>> names = Names({"half"})
        >>> names.take("half"), names.take("half"), names.take("price")
        ('half_', 'half_2', 'price')
        """
        suffix = "" if wanted.endswith("_") else "_"  # GLSL reserves two underscores in a row
        candidate, number = wanted, 1
        while not self.is_free(candidate):
            candidate = f"{wanted}{suffix}{number if number > 1 else ''}"
            number += 1
        self._taken.add(candidate)
        return candidate

    def take_all(self, wanted: Iterable[str]) -> dict[str, str]:
        """The name of each; those that need no change are assigned first."""
        listed = list(dict.fromkeys(wanted))
        listed.sort(key=lambda name: not self.is_free(name))
        return {name: self.take(name) for name in listed}


class Scope:
    """The structures of one text, and their names.

    Attributes:
        layouts: those that are asked for and those inside them, inner ones first.
        names: the names of the text's outermost scope.

    Raises:
        ArgumentError: two different layouts have one name.
    """

    def __init__(
        self, layouts: Sequence[Layout], reserved: Set[str], predeclared: Set[str] = frozenset()
    ) -> None:
        self.layouts = in_order(layouts)
        self._reserved = reserved
        self.names = Names(reserved | predeclared)
        self._structs = self.names.take_all(each.name for each in self.layouts)

    def struct(self, layout: Layout) -> str:
        """The name of a structure."""
        return self._structs[layout.name]

    def members(self, layout: Layout) -> tuple[Names, dict[str, str]]:
        """The scope of a structure's members, and the name of each field.

        C++ refuses a member with the name of a type that the structure uses.
        """
        types = {self.struct(each) for each in (layout, *layout.nested())}
        scope = Names(self._reserved | types)
        return scope, scope.take_all(each.name for each in layout.fields)


def in_order(layouts: Iterable[Layout]) -> list[Layout]:
    """All layouts of a text, each once and behind those inside it.

    Raises:
        ArgumentError: two different layouts have one name.
    """
    layouts_by_name: dict[str, Layout] = {}

    def visit(layout: Layout) -> None:
        known = layouts_by_name.get(layout.name)
        if known is None:
            for each in layout.nested():
                visit(each)
            layouts_by_name[layout.name] = layout
        elif known != layout:
            raise ArgumentError(
                f"two layouts have the name {layout.name}: one of {known.size} bytes, another of "
                f"{layout.size} bytes; rename one, or declare them apart"
            )

    for each in layouts:
        visit(each)
    return list(layouts_by_name.values())


def joined(*parts: str) -> str:
    """One name of several, without two underscores in a row, which C++ and GLSL reserve.

    >>> joined("half_", "type_id")
    'half_type_id'
    """
    return re.sub("_+", "_", "_".join(parts))


def comment(*parts: str) -> str:
    """One line of a comment in every language, or "".

    >>> comment("8", "metres \\\\")
    '// 8: metres'
    """
    # A line must not end in a backslash or its trigraph, which would join the next one to it.
    plain = (re.sub(r"\?\?+/", "?/", " ".join(part.split())) for part in parts)
    stripped = [part.rstrip("\\ ") for part in plain]
    text = ": ".join(part for part in stripped if part)
    return f"// {text}" if text else ""
