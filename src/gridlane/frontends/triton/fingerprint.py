"""A digest of what the IR of a program depends on, besides its types and constants."""

from __future__ import annotations

import ast
import enum
import hashlib
import inspect
import types
from typing import Any, cast

from gridlane.core.encoding import NotEncodable, encode, frame
from gridlane.frontends.foreign.python import reads_of
from gridlane.frontends.triton.carrying import assigned_names
from gridlane.frontends.triton.constants import unwrapped
from gridlane.frontends.triton.context import is_builtin
from gridlane.frontends.triton.functions import ConstexprFunction, TileFunction
from gridlane.frontends.triton.names import is_fixed
from gridlane.frontends.triton.types import block_type, dtype, pointer_type

PLAIN = (type(None), bool, int, float, str, bytes)
_PACKAGE = __name__.rpartition(".")[0]


def fingerprint(function: TileFunction, placed: bool = True) -> bytes:
    """32 bytes that change when the text of a program or of a function that it calls changes, or a
    constant that they read.

    Args:
        placed: the places of functions in their files count as well, as code has them.

    Raises:
        NotEncodable: it reads an object that cannot be encoded.
    """
    return hashlib.sha256(Walk(placed).everything(function)).digest()


def constant_bytes(value: Any) -> bytes:
    """The bytes of a constant argument.

    Raises:
        NotEncodable: it cannot be encoded.
    """
    walk = Walk()
    return frame(b"c", walk.value(value), walk.everything(None))


def paths_of(function: TileFunction | ConstexprFunction) -> list[tuple[str, ...]]:
    """The names that a function reads from around it, with the attributes that follow."""
    made = as_tile_function(function)
    node = made.source.node
    assert isinstance(node, ast.FunctionDef)
    local = assigned_names(node.body) | {*made.arg_names}
    if made is function:  # of the language, where a name may be read before it is bound
        local -= {name for name in _read_first(node.body) if _is_fixed_global(made, name)}
    reads = reads_of(node, frozenset(local))
    return [*((name,) for name in reads.bare), *reads.paths]


def as_tile_function(function: TileFunction | ConstexprFunction) -> TileFunction:
    """A function of Python with the interface of a tile function."""
    return function if isinstance(function, TileFunction) else TileFunction(function.fn)


def _read_first(body: list[ast.stmt]) -> set[str]:
    """The names that may be read where no statement has bound them."""
    bound: set[str] = set()
    found: set[str] = set()
    for statement in body:
        names = [each for each in ast.walk(statement) if isinstance(each, ast.Name)]
        found |= {each.id for each in names if isinstance(each.ctx, ast.Load)} - bound
        if isinstance(statement, (ast.Assign, ast.AnnAssign)):
            bound |= {each.id for each in names if isinstance(each.ctx, ast.Store)}
    return found


def _is_fixed_global(function: TileFunction, name: str) -> bool:
    known, value = function.lookup(name)
    return known and is_fixed(value)


class Walk:
    """The traversal of a program and the functions that it calls."""

    def __init__(self, placed: bool = True) -> None:
        self._placed = placed
        self._numbers: dict[Any, int] = {}
        self._functions: list[Any] = []

    def everything(self, function: TileFunction | None) -> bytes:
        """The bytes of a function and of all that it reads."""
        if function is not None:
            self._number(function)
        parts: list[bytes] = []
        while len(parts) < len(self._functions):
            parts.append(self._text(self._functions[len(parts)]))
        return b"".join(parts)

    def _number(self, function: TileFunction | ConstexprFunction) -> bytes:
        known = self._numbers.setdefault(function.fn, len(self._numbers))
        if known == len(self._functions):
            self._functions.append(function)
        return encode(known)

    def _text(self, function: Any) -> bytes:
        made = as_tile_function(function)
        source = made.source
        place = source.locate(source.node)
        where = (place.file, place.line, place.column) if self._placed else ()
        parts = [encode((*where, source.name, source.text))]
        defaults = [each.default for each in made.signature.parameters.values()]
        parts += [self.value(each) for each in defaults if each is not inspect.Parameter.empty]
        for path in paths_of(function):
            parts.append(encode(path))
            parts.append(self._path(made, path))
        return frame(b"P", *parts)

    def _path(self, function: TileFunction, path: tuple[str, ...]) -> bytes:
        known, value = function.lookup(path[0])
        if not known:
            return frame(b"-")
        for name in path[1:]:
            if not isinstance(value, (types.ModuleType, type)) or not hasattr(value, name):
                break
            value = getattr(value, name)
        return self.value(value)

    def value(self, value: Any) -> bytes:
        """The bytes of a value that a program reads."""
        plain = unwrapped(value)
        if type(plain) in PLAIN:
            return encode(plain)
        if isinstance(plain, (TileFunction, ConstexprFunction)):
            return frame(b"F", self._number(plain))
        if isinstance(plain, (pointer_type, block_type)):
            shape = plain.shape if isinstance(plain, block_type) else ()
            return frame(b"Y", encode((type(plain).__name__, plain.name, shape)))
        if isinstance(plain, dtype):
            return frame(b"D", encode(plain.name))
        if isinstance(plain, (tuple, list)):
            items = tuple(cast("list[Any]", plain))
            return frame(b"T", *[self.value(each) for each in items])
        if isinstance(plain, dict):
            pairs = cast("dict[Any, Any]", plain).items()
            return frame(b"K", *[self.value(each) for pair in pairs for each in pair])
        if isinstance(plain, types.ModuleType):
            return frame(b"M", encode(plain.__name__))
        return self._named(plain)

    def _named(self, value: Any) -> bytes:
        """An object that its name identifies."""
        module = getattr(value, "__module__", None) or type(value).__module__
        name = getattr(value, "__qualname__", None)
        if isinstance(value, enum.Enum):
            return frame(b"E", encode((type(value).__module__, str(value))))
        if name is not None and (is_builtin(value) or module.startswith(_PACKAGE)):
            return frame(b"N", encode((module, name)))
        if isinstance(value, (type, types.BuiltinFunctionType)) and name is not None:
            return frame(b"B", encode((module, name)))
        if isinstance(value, types.FunctionType):
            # A program cannot call it with tensors, and what it returns may be anything.
            raise NotEncodable(f"{name}() runs when the program is compiled")
        raise NotEncodable(f"an object of {type(value).__qualname__} has no encoding")
