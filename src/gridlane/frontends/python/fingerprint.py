"""A digest of everything that the IR of a function depends on, besides its argument types."""

from __future__ import annotations

import hashlib
import types

from gridlane.core.encoding import NotEncodable, encode, frame
from gridlane.frontends.python.captured import Capture
from gridlane.frontends.python.reads import Reads, reads_of
from gridlane.frontends.python.scope import lookup
from gridlane.frontends.python.source import FunctionSource, source_of


def fingerprint(function: types.FunctionType) -> bytes:
    """32 bytes that change when the function's source or a value that it takes from a closure or
    global changes, through the device functions that it calls.

    Raises:
        NotEncodable: it reads an object of which it cannot be told what the kernel makes of it.
        UnsupportedError: a function has no source.
    """
    loose: set[str] = set()
    while True:
        walk = _Walk(loose)
        data = walk.function(function)
        if not walk.capture.may_read(walk.loose - loose):
            return hashlib.sha256(data).digest()
        loose = walk.loose  # of all functions, known only now


class _Walk:
    """The way through a function and the device functions that it calls.

    Attributes:
        loose: the attributes that they read of objects under other names than their own.
    """

    def __init__(self, loose: set[str]) -> None:
        self.loose: set[str] = set()
        self.capture = Capture(loose, self.function)

    def function(self, function: types.FunctionType) -> bytes:
        """The bytes of a function; its number where it was met before."""
        return self.capture.once(function, self._text)

    def _text(self, function: types.FunctionType) -> bytes:
        """The text of a function, where that stands, and the values that it reads."""
        source, code = source_of(function), function.__code__
        place = source.locate(source.node)
        if {"__wrapped__", "__signature__"} & function.__dict__.keys():
            raise NotEncodable(f"{source.name}() says that it has another function's signature")
        parts = [
            encode((place.file, place.line, place.column, source.name, source.text)),
            encode(code.co_varnames[: code.co_argcount]),
            self.capture.value(function.__defaults__),
        ]
        for name, value in sorted((function.__kwdefaults__ or {}).items()):
            parts += [encode(name), self.capture.value(value)]
        reads = _reads(source, function)
        self.loose |= reads.loose
        for path in [*((name,) for name in reads.bare), *reads.paths]:
            found, value = lookup(function, path[0])
            told = self.capture.path(value, path[1:]) if found else frame(b"-")
            parts += [encode(path), told]
        return frame(b"P", *parts)


def _reads(source: FunctionSource, function: types.FunctionType) -> Reads:
    """What the function reads, found once for its source."""
    if source.reads is None:
        code = function.__code__
        source.reads = reads_of(source.node, frozenset((*code.co_varnames, *code.co_cellvars)))
    return source.reads
