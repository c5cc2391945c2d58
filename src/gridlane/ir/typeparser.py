"""Parse types as they print."""

from __future__ import annotations

from collections.abc import Callable

from gridlane.core import dtypes
from gridlane.ir.lexer import Tokens
from gridlane.ir.types import (
    ArrayType,
    FragmentType,
    PointerType,
    Role,
    Space,
    StructType,
    TileType,
    Type,
    VectorType,
    pointer,
    tile,
    vector,
)

MAX_DEPTH = 100
"""The maximum nesting depth of types."""

_SCALARS = {dtype.name: dtype for dtype in dtypes.ALL}
_ROLES = {role.value: role for role in Role}
_SPACES = {space.name.lower(): space for space in Space}


def parse_type(tokens: Tokens, depth: int = 0) -> Type:
    """The type at the current token."""
    token = tokens.kind("word", "a type")
    scalar = _SCALARS.get(token.text)
    if scalar is not None:
        return scalar
    read = _COMPOUND.get(token.text)
    if read is None:
        raise tokens.error(f"{token.text!r} is not a type", token)
    if depth >= MAX_DEPTH:
        raise tokens.error(f"types nest more than {MAX_DEPTH} deep", token)
    tokens.expect("<")
    result = read(tokens, depth + 1)
    tokens.expect(">")
    return result


def _pointer(tokens: Tokens, depth: int) -> PointerType:
    element = parse_type(tokens, depth)
    tokens.expect(",")
    token = tokens.kind("word", "an address space")
    if token.text not in _SPACES:
        raise tokens.error(f"{token.text!r} is not one of {', '.join(_SPACES)}", token)
    buffer = tokens.count() if tokens.accept(",") else 0
    return pointer(element, _SPACES[token.text], buffer)


def _fragment(tokens: Tokens, depth: int) -> FragmentType:
    start = tokens.kind("word", "a role")
    if start.text not in _ROLES:
        raise tokens.error(f"{start.text!r} is not one of {', '.join(_ROLES)}", start)
    extents: list[int] = []
    for _ in range(2):
        tokens.expect(",")
        extents.append(tokens.count())
    tokens.expect(",")
    token = tokens.current
    element = parse_type(tokens, depth)
    if not isinstance(element, dtypes.DType):
        raise tokens.error(f"a fragment of {element}: its elements are scalars", token)
    return FragmentType(_ROLES[start.text], extents[0], extents[1], element)


def _vector(tokens: Tokens, depth: int) -> VectorType:
    token = tokens.current
    element = parse_type(tokens, depth)
    if not isinstance(element, dtypes.DType):
        raise tokens.error(f"a vector of {element}: its elements are scalars", token)
    tokens.expect(",")
    token = tokens.current
    count = tokens.count()
    if not 2 <= count <= 16:
        raise tokens.error("a vector has 2 to 16 elements", token)
    return vector(element, count)


def _tile(tokens: Tokens, depth: int) -> TileType:
    """``extent, extent, element``"""
    shape: list[int] = []
    while tokens.current.kind == "number":
        shape.append(tokens.count())
        tokens.expect(",")
    token = tokens.current
    element = parse_type(tokens, depth)
    if not shape or min(shape) < 1:
        raise tokens.error("a tile has one extent or more, each 1 or more", token)
    if not isinstance(element, dtypes.DType | PointerType):
        raise tokens.error(f"a tile of {element}: its elements are scalars or pointers", token)
    return tile(tuple(shape), element)


def _array(tokens: Tokens, depth: int) -> ArrayType:
    element = parse_type(tokens, depth)
    tokens.expect(",")
    return ArrayType(element, tokens.count())


def _struct(tokens: Tokens, depth: int) -> StructType:
    """``name, {field: type @offset, …}, size, align``"""
    name = tokens.name()
    tokens.expect(",")
    tokens.expect("{")
    names: list[str] = []
    types: list[Type] = []
    offsets: list[int] = []
    while not tokens.accept("}"):
        if names:
            tokens.expect(",")
        names.append(tokens.name())
        tokens.expect(":")
        types.append(parse_type(tokens, depth))
        offset = tokens.kind("symbol", "the field's offset such as @4")
        if not offset.text[1:].isdecimal() or len(offset.text) > 20:
            raise tokens.error("expected the field's offset such as @4", offset)
        offsets.append(int(offset.text[1:]))
    tokens.expect(",")
    size = tokens.count()
    tokens.expect(",")
    token = tokens.current
    align = tokens.count()
    if align < 1 or align & (align - 1):
        raise tokens.error("an alignment is a power of two", token)
    return StructType(name, tuple(names), tuple(types), tuple(offsets), size, align)


_COMPOUND: dict[str, Callable[[Tokens, int], Type]] = {
    "ptr": _pointer,
    "vec": _vector,
    "array": _array,
    "struct": _struct,
    "frag": _fragment,
    "tile": _tile,
}
