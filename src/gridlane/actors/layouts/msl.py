"""Layouts as the Metal Shading Language, which is C++ without binary64."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gridlane.actors.layouts import c_structs
from gridlane.actors.layouts.names import Scope, joined
from gridlane.actors.layouts.reserved import MSL, VECTORS
from gridlane.actors.layouts.schema import Layout

SCALARS = {
    "bool": "bool",
    "int8": "char",
    "int16": "short",
    "int32": "int",
    "int64": "long",
    "uint8": "uchar",
    "uint16": "ushort",
    "uint32": "uint",
    "uint64": "ulong",
    "float16": "half",
    "float32": "float",
    "float64": "/* the bits of a double */ ulong",
}
_HEAD = """\
#include <metal_stdlib>
using namespace metal;
// Messages of gridlane: made from their layouts, not by hand.
"""


def scope_of(layouts: Sequence[Layout]) -> Scope:
    """The structures of a text, and the names that they and their members have there.

    Raises:
        ArgumentError: two different layouts have one name.
    """
    return Scope(layouts, MSL, VECTORS)


def text(layouts: Sequence[Layout]) -> str:
    """The declarations of layouts, inner ones first. MSL has no binary64: such a field is a ulong
    of its bits.

    Raises:
        ArgumentError: two different layouts have one name.
    """
    scope = scope_of(layouts)
    return "\n".join([_HEAD, *("\n".join(_lines(each, scope)) + "\n" for each in scope.layouts)])


def _lines(layout: Layout, scope: Scope) -> Iterator[str]:
    constant = scope.names.take(joined(scope.struct(layout), "type_id"))
    yield from c_structs.struct(layout, SCALARS, scope)
    yield f"constant ulong {constant} = 0x{layout.type_id:016x}ul;"
