"""A digest of everything that the IR of a function depends on, besides its argument types."""

from __future__ import annotations

import hashlib
import types

from gridlane.core.encoding import NotEncodable, encode, frame
from gridlane.frontends.python.captured import Capture
from gridlane.frontends.python.extensions import EXTENSIONS
from gridlane.frontends.python.reads import Reads, reads_of
from gridlane.frontends.python.scope import Surroundings
from gridlane.frontends.python.source import FunctionSource, source_of


def fingerprint(
    function: types.FunctionType, around: Surroundings | None = None, placed: bool = True
) -> bytes:
    """32 bytes that change when the function's source or a value that it takes from a closure or
    global changes, through the device functions that it calls. Values are those of ``around``.

    Args:
        placed: the places of functions in their files count as well, as code has them.

    Raises:
        NotEncodable: it reads an object whose use in the kernel cannot be encoded.
        UnsupportedError: a function has no source.
    """
    loose: set[str] = set()
    around = around or Surroundings()
    while True:
        walk = _Walk(around, loose, placed)
        data = walk.everything(function)
        if not walk.capture.may_read(walk.loose - loose):
            return hashlib.sha256(data).digest()
        loose = walk.loose  # of all functions, known only now


class _Walk:
    """The traversal of a function and of the device functions that it calls.

    Attributes:
        loose: the attributes that they read of objects under other names than their own.
    """

    def __init__(self, around: Surroundings, loose: set[str], placed: bool = True) -> None:
        self.loose: set[str] = set()
        self.around, self.placed = around, placed
        self.capture = Capture(around, loose, self.number)
        self._functions: list[types.FunctionType] = []
        self._numbers: dict[types.FunctionType, int] = {}

    def everything(self, function: types.FunctionType) -> bytes:
        """The bytes of a function and of all its callees, one after the other: calls may nest
        deeper than Python's stack."""
        self.number(function)
        functions: list[bytes] = []
        while len(functions) < len(self._functions):
            functions.append(self._text(self._functions[len(functions)]))
        return b"".join(functions)

    def number(self, function: types.FunctionType) -> bytes:
        """The number of a function: the count of functions met before it."""
        if function not in self._numbers:
            self._numbers[function] = len(self._functions)
            self._functions.append(function)
        return encode(self._numbers[function])

    def _text(self, function: types.FunctionType) -> bytes:
        """The text of a function, its location, and the values that it reads."""
        source, code = source_of(function), function.__code__
        place = source.locate(source.node)
        if {"__wrapped__", "__signature__"} & function.__dict__.keys():
            raise NotEncodable(f"{source.name}() says that it has another function's signature")
        where = (place.file, place.line, place.column) if self.placed else ()
        parts = [
            encode((*where, source.name, source.text)),
            encode(code.co_varnames[: code.co_argcount]),
        ]
        if function.__defaults__ or function.__kwdefaults__:
            for name, parameter in self.around.signature(function).parameters.items():
                if parameter.default is not parameter.empty:
                    parts += [encode(name), self.capture.value(parameter.default)]
        reads = _reads(source, function)
        _check_extensions(reads)
        self.loose |= reads.loose
        for path in [*((name,) for name in reads.bare), *reads.paths]:
            exists, value = self.around.lookup(function, path[0])
            encoded = self.capture.path(value, path[1:]) if exists else frame(b"-")
            parts += [encode(path), encoded]
        return frame(b"P", *parts)


def _check_extensions(reads: Reads) -> None:
    """Refuse a function whose expressions the program may implement: operators, and attributes that
    types of the program's have."""
    if EXTENSIONS.operators:
        raise NotEncodable("operators are implemented by functions of types")
    attributes = {name for path in reads.paths for name in path[1:]} | reads.loose
    implemented = attributes & EXTENSIONS.members.keys()
    if implemented:
        raise NotEncodable(f"the attribute {min(implemented)} is implemented by functions of types")


def _reads(source: FunctionSource, function: types.FunctionType) -> Reads:
    """The names that the function reads, computed once per source."""
    if source.reads is None:
        code = function.__code__
        source.reads = reads_of(source.node, frozenset((*code.co_varnames, *code.co_cellvars)))
    return source.reads
