"""Where the members of the table's structures lie, as the C ABI of 64-bit Linux has it.

Source: the System V ABI, x86-64 and AArch64, which agree on all types here: each member at a
multiple of its alignment, the whole padded to its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gridlane.core.cuda_table.names import aliases
from gridlane.core.cuda_table.reading import declared
from gridlane.core.cuda_table.structs import Node, is_struct, nodes
from gridlane.core.cuda_table.types import CType, ctype


@dataclass(frozen=True, slots=True)
class Field:
    """A member.

    Attributes:
        name: "" never: the members of one without a name are of the enclosing structure.
        inner: the layout of a member that is a structure.
    """

    name: str
    type: CType
    offset: int
    inner: Layout | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """A structure or union; sizes and offsets in bytes."""

    name: str
    names: tuple[str, ...]
    is_union: bool
    size: int
    align: int
    fields: Mapping[str, Field]


@cache
def layout(name: str) -> Layout:
    """A structure by one of its names.

    Raises:
        ValueError: there is no such structure.

    >>> layout("cudaPitchedPtr").size, layout("cudaPitchedPtr").fields["xsize"].offset
    (32, 16)
    """
    while name in aliases():
        name = aliases()[name]
    if not is_struct(name):
        raise ValueError(f"the table has no structure {name!r}")
    node, names = nodes()[name]
    return _laid_out(node, name, names)


def _laid_out(node: Node, name: str, names: tuple[str, ...]) -> Layout:
    is_union = node.text.startswith("union")
    fields: dict[str, Field] = {}
    stated = re.search(r"align\((\d+)\)", node.text)
    size, align = 0, int(stated[1]) if stated else 1
    for member in node.members:
        kind, title, inner = _member(member)
        of = inner or (layout(kind.name) if kind.kind == "struct" else None)
        own_align = of.align if of else kind.size
        own_size = (of.size if of else kind.size) * (kind.count or 1)
        offset = 0 if is_union else -(-size // own_align) * own_align
        if title:
            fields[title] = Field(title, kind, offset, of)
        elif of is not None:
            for each in of.fields.values():
                fields[each.name] = Field(each.name, each.type, offset + each.offset, each.inner)
        size, align = max(size, offset + own_size), max(align, own_align)
    return Layout(name, names, is_union, -(-size // align) * align, align, fields)


def _member(node: Node) -> tuple[CType, str, Layout | None]:
    """Its type, name, and layout if it is a structure that is written in place."""
    if not node.members:
        kind, title = declared(node.text)
        return ctype(kind), title, None
    title = node.text.partition(" ")[2]
    name, bracket, rest = title.partition("[")
    count = int(rest.rstrip("]")) if bracket else 0
    return CType("struct", "", 0, count=count), name, _laid_out(node, "", ())
