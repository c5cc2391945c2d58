"""The graph of imports of gridlane and of its tests, read from their text.

An edge is an import anywhere in a file, or a string that names a module: passes, emitters and
backends are loaded by name.
"""

from __future__ import annotations

import ast
import re
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
_SOURCES = {
    "gridlane": "src/gridlane",
    "tests": "tests",
    "scripts": "scripts",
    "benchmarks": "benchmarks",
}
_BASES = ("", "gridlane.", "gridlane.passes.")
"""What names of modules in strings may begin behind."""
_NAME = re.compile(r"[A-Za-z_]\w*(\.\w+)+[.:]?")

Graph = dict[str, frozenset[str]]
"""The modules that each module reaches directly, by their files' paths from the root."""


def modules(root: Path) -> dict[str, str]:
    """The file of each module, as a path from the root."""
    found: dict[str, str] = {}
    for package, place in _SOURCES.items():
        folder = root / place
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            name = ".".join((package, *parts)).removesuffix(".__init__")
            found[name] = path.relative_to(root).as_posix()
    return found


def graph(root: Path = ROOT) -> Graph:
    """The edges of all modules."""
    known = modules(root)
    return {
        path: frozenset((*_reached(known, name, root / path), *_conftests(known, name))) - {path}
        for name, path in known.items()
    }


def standing_for(path: str, edges: Graph) -> list[str]:
    """The modules that a changed file changes: itself; of a file that is no module, or is gone,
    those of the nearest folder around it that has some."""
    if path in edges:
        return [path]
    for folder in PurePosixPath(path).parents:
        if not any(folder.is_relative_to(source) for source in _SOURCES.values()):
            break
        beside = [each for each in edges if PurePosixPath(each).parent == folder]
        if beside:
            return beside
    return []


def distances(edges: Graph, changed: Iterable[str]) -> dict[str, int]:
    """How many imports lie between each file and a changed one; files that reach none are not here.

    Args:
        edges: of ``graph``.
        changed: paths from the root.
    """
    users: dict[str, list[str]] = {}
    for path, reached in edges.items():
        for each in reached:
            users.setdefault(each, []).append(path)
    found = dict.fromkeys(changed, 0)
    queue = deque(found)
    while queue:
        path = queue.popleft()
        for user in users.get(path, ()):
            if user not in found:
                found[user] = found[path] + 1
                queue.append(user)
    return found


def _conftests(known: dict[str, str], name: str) -> Iterator[str]:
    """The files of fixtures that pytest loads for a module of tests."""
    while name.startswith("tests"):
        name = name.rpartition(".")[0]
        if f"{name}.conftest" in known:
            yield known[f"{name}.conftest"]


def _reached(known: dict[str, str], name: str, path: Path) -> Iterator[str]:
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_bytes(), str(path))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _files(known, alias.name)
        elif isinstance(node, ast.ImportFrom):
            base = base_of(node, package)
            yield from _files(known, base)
            names = (f"{base}.{alias.name}" for alias in node.names)
            yield from (known[each] for each in names if each in known)
        elif isinstance(node, ast.JoinedStr):
            first = node.values[0] if node.values else None
            start = str(first.value) if isinstance(first, ast.Constant) else ""
            if start.startswith("gridlane.") and start.endswith("."):
                yield from (file for each, file in known.items() if each.startswith(start))
        elif isinstance(node, ast.Constant):
            yield from named(known, node.value)


def base_of(node: ast.ImportFrom, package: str) -> str:
    """The module in front of the names of an import, in a module of a package."""
    base = node.module or ""
    if not node.level:
        return base
    parts = package.split(".")
    above = ".".join(parts[: len(parts) + 1 - node.level])
    return f"{above}.{base}" if base else above


def _files(known: dict[str, str], name: str) -> Iterator[str]:
    """The files that an import of a module runs: those of its packages too."""
    while name:
        if name in known:
            yield known[name]
        name = name.rpartition(".")[0]


def named(known: dict[str, str], value: object) -> Iterator[str]:
    """The file of the module that a constant names, or of whose member it is the name."""
    text = str(value)
    if not _NAME.fullmatch(text):
        return
    text = text.rstrip(".:")
    for start in _BASES:
        for name in (start + text, (start + text).rpartition(".")[0]):
            if name in known and name != "gridlane":
                yield known[name]
