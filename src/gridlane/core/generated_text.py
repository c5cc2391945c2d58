"""Functions of the dialect that are generated as text."""

from __future__ import annotations

import linecache
from hashlib import sha256
from types import FunctionType
from typing import Any


def function_of(text: str, name: str, around: dict[str, Any]) -> FunctionType:
    """The function of a name in a text, whose globals are the given values."""
    file = f"<generated {sha256(text.encode()).hexdigest()[:16]}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = dict(around)
    exec(compile(text, file, "exec"), scope)
    function_type = scope[name]
    assert isinstance(function_type, FunctionType)
    return function_type


def indented(lines: list[str], depth: int) -> list[str]:
    """Lines of a deeper block."""
    return ["    " * depth + line for line in lines]
