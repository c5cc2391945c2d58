"""The offsets at which a cell's function reads its neighbours, from its source."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from gridlane.core.errors import TypingError
from gridlane.frontends.python.source import FunctionSource, source_of

Offset = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Reads:
    """The reads of a cell's function.

    Attributes:
        offsets: of each field, the relative places that are read.
        kept: fields whose new value is a field's old value at the same cell, and that field.
    """

    offsets: dict[str, frozenset[Offset]]
    kept: dict[str, str]


def reads_of(function: Any, fields: tuple[str, ...], axes: int, halo: int, corners: bool) -> Reads:
    """Find the offsets that a function reads, and verify them.

    Raises:
        TypingError: an offset is no constant, is further than the halo, or is in a corner although
            the neighbours there are not exchanged; a field is used in another way. With the line.
    """
    source = source_of(function)
    nodes = [node for statement in source.body for node in ast.walk(statement)]
    subscripts = [node for node in nodes if isinstance(node, ast.Subscript)]
    offsets_by_field: dict[str, set[Offset]] = {name: set() for name in fields}
    seen: set[ast.AST] = set()
    for node in subscripts:
        if isinstance(node.value, ast.Name) and node.value.id in offsets_by_field:
            seen.add(node.value)
            offset = _offset(source, node, axes)
            _verify(source, node, offset, halo, corners)
            offsets_by_field[node.value.id].add(offset)
    for node in nodes:
        if isinstance(node, ast.Name) and node.id in offsets_by_field and node not in seen:
            raise TypingError(
                f"{node.id} is a field of cells: read {node.id}[{', '.join(['0'] * axes)}] or a "
                "neighbour by constant offsets, and return the new value",
                source.locate(node),
            )
    offsets = {name: frozenset(each) for name, each in offsets_by_field.items()}
    return Reads(offsets, _kept(source, fields, offsets))


def _offset(source: FunctionSource, node: ast.Subscript, axes: int) -> Offset:
    try:
        offset: Any = ast.literal_eval(node.slice)
    except ValueError:
        offset = None
    items: list[Any] = list(offset) if isinstance(offset, tuple) else [offset]  # pyright: ignore[reportUnknownArgumentType]
    if len(items) != axes or not all(type(each) is int for each in items):
        raise TypingError(
            f"a neighbour is named by {axes} constant integers, one for each axis, such as "
            f"[{', '.join(['0'] * (axes - 1) + ['-1'])}]",
            source.locate(node),
        )
    return tuple(items)


def _verify(
    source: FunctionSource, node: ast.AST, offset: Offset, halo: int, corners: bool
) -> None:
    reach = max(map(abs, offset))
    if reach > halo:
        raise TypingError(
            f"the cell at {offset} is {reach} cells away, and the halo has {halo}: write "
            f"halo={reach}",
            source.locate(node),
        )
    if not corners and sum(each != 0 for each in offset) > 1:
        many = 8 if len(offset) == 2 else 26
        raise TypingError(
            f"the cell at {offset} is in a corner, and blocks exchange halos with "
            f"{2 * len(offset)} neighbours: write neighbours={many}",
            source.locate(node),
        )


def _kept(
    source: FunctionSource, fields: tuple[str, ...], offsets: dict[str, frozenset[Offset]]
) -> dict[str, str]:
    """Fields that only pass on the old value of another field with neighbours, whose buffer serves
    both."""
    nodes = [node for statement in source.body for node in ast.walk(statement)]
    returns = [node for node in nodes if isinstance(node, ast.Return)]
    kept: dict[str, str] = {}
    if len(returns) != 1 or not isinstance(returns[0].value, ast.Tuple):
        return kept
    for name, value in zip(fields, returns[0].value.elts, strict=False):
        if not isinstance(value, ast.Subscript) or not isinstance(value.value, ast.Name):
            continue
        of = value.value.id
        is_centre = of in offsets and not any(ast.literal_eval(value.slice))
        if not is_centre or of in kept.values() or has_neighbours(offsets[name]):
            continue
        if has_neighbours(offsets[of]):
            kept[name] = of
    return kept


def has_neighbours(offsets: frozenset[Offset]) -> bool:
    """Whether the function reads other cells than the own one."""
    return any(any(offset) for offset in offsets)
