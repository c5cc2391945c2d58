"""The text of the table's structures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gridlane.core.cuda_text import lines


@dataclass(frozen=True, slots=True)
class Node:
    """The text of a member or structure, and those of its own members."""

    text: str
    members: tuple[Node, ...]


@cache
def nodes() -> Mapping[str, tuple[Node, tuple[str, ...]]]:
    """The structures by each of their names, with all names that one has."""
    nodes_by_name: dict[str, tuple[Node, tuple[str, ...]]] = {}
    rows = [
        (len(line) - len(line.lstrip()), member.strip())
        for line in lines("structs")
        for member in line.split(";")
    ]
    place = 0
    while place < len(rows):
        node, place = _node(rows, place)
        names = tuple(each for each in node.text.split()[1:] if "(" not in each)
        for name in names:
            nodes_by_name.setdefault(name, (node, names))
    return nodes_by_name


def _node(rows: list[tuple[int, str]], place: int) -> tuple[Node, int]:
    depth, text = rows[place]
    place += 1
    members: list[Node] = []
    while place < len(rows) and rows[place][0] > depth:
        member, place = _node(rows, place)
        members.append(member)
    return Node(text, tuple(members)), place


def is_struct(name: str) -> bool:
    """Whether the table has a structure of this name."""
    return name in nodes()


def structs() -> tuple[str, ...]:
    """The tags of all structures."""
    return tuple(dict.fromkeys(names[0] for _, names in nodes().values()))
