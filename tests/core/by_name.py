"""Modules of gridlane that files name in strings: what ``import_module`` and tables of lazily
loaded names reach, and no linter sees."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from pathlib import Path

_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*\.?")


def named_modules(files: dict[str, Path]) -> dict[str, set[str]]:
    """The modules that each module names in strings, its own packages left out unless it imports
    them by name.

    Args:
        files: of the modules.
    """
    extensions = {
        f"{name}.{stub.stem}" for name, path in files.items() for stub in _stubs(path)
    } - files.keys()
    known = files.keys() | extensions
    return {
        name: set(_named(name, path, known)) - extensions - {name} for name, path in files.items()
    }


def _stubs(path: Path) -> Iterator[Path]:
    """The stubs and sources of a package's modules in C."""
    if path.name == "__init__.py":
        yield from path.parent.glob("*.pyi")
        yield from path.parent.glob("_*.c")


def _named(name: str, path: Path, known: Collection[str]) -> Iterator[str]:
    tree = ast.parse(path.read_bytes(), str(path))
    loads = [each for each in ast.walk(tree) if isinstance(each, ast.Call) and _imports(each)]
    loaded = {id(call.args[0]) for call in loads}
    starts = {start for call in loads if (start := _start(name, call)) is not None}
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node, word in _words(tree):
        for whole in (word, *[start + word for start in starts]):
            member_of = whole.rpartition(".")[0]
            if whole.startswith("gridlane.") and whole not in known and member_of in known:
                whole = member_of
            is_around = f"{name}.".startswith(f"{whole}.")
            if whole in known and (id(node) in loaded or not is_around):
                yield whole
        if "." in word and f"{package}.{word}" in known:
            yield f"{package}.{word}"


def _words(tree: ast.Module) -> Iterator[tuple[ast.Constant, str]]:
    """The names in strings that hold nothing but names, docstrings left out."""
    docstrings = {
        id(each.value)
        for each in ast.walk(tree)
        if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            words = node.value.split()
            if id(node) not in docstrings and all(map(_NAME.fullmatch, words)):
                yield from ((node, word.rstrip(".")) for word in words)


def _imports(call: ast.Call) -> bool:
    """Whether it is a call of import_module or __import__."""
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in ("import_module", "__import__", "_imported")


def _start(name: str, call: ast.Call) -> str | None:
    """How the name of the module begins that a call imports, where the rest is computed."""
    match call.args[0] if call.args else None:
        case ast.JoinedStr(values=[ast.Constant(value=str(start)), *_]):
            return start
        case ast.JoinedStr(values=[ast.FormattedValue(value=ast.Name(id="__name__")), *_]):
            return f"{name}."
        case _:
            return None
