"""Sets of what lies alike."""

from __future__ import annotations

from collections import defaultdict


class Links:
    """Sets of ops, tiles and variables whose elements lie alike."""

    def __init__(self) -> None:
        self._above: dict[object, object] = {}

    def set_of(self, item: object) -> object:
        """The representative of an item's set."""
        while (above := self._above.setdefault(item, item)) is not item:
            item = above
        return item

    def join(self, one: object, other: object) -> None:
        """Make one set of two."""
        self._above[self.set_of(one)] = self.set_of(other)

    def sets(self) -> list[set[object]]:
        """All sets."""
        members: dict[object, set[object]] = defaultdict(set)
        for item in self._above:
            members[self.set_of(item)].add(item)
        return [*members.values()]
