"""Sizes and circles of the sources, to compare two states of the project.

    python -m scripts.testing.counts [ROOT] [--json]

Lines of rooms are all lines of the files. Those that a build writes (scripts/stubs.py) are counted
apart. A class or function has the lines from its `def` or `class` on that have code: no blank line,
no comment, no docstring, no decorator. The lines of a function or class inside of a function are
its own, and not those of the function around it; a class has the lines of its methods, and not
those of classes inside of it. An import is one anywhere in a file, by its module alone: not by the
packages around that, whose files Python runs as well. A string is an import where it names a
module, as `graph.py` reads it.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from scripts.testing.graph import ROOT, base_of, modules, named

SOURCES = "src/gridlane"
TEXTS = (".py", ".pyi", ".c", ".h", ".inc", ".cuh", ".hpp", ".txt")
C_TEXTS = (".c", ".h", ".inc", ".cuh", ".hpp")
WRITTEN = ("actors/_engine.pyi", "cuda/__init__.pyi")
MOST_OF_CLASS, MOST_OF_FUNCTION = 250, 40
_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]', re.MULTILINE)
_NOTHING = (
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENCODING, tokenize.ENDMARKER,
)  # fmt: skip

_Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
Edges = Mapping[str, Iterable[str]]


@dataclass(frozen=True)
class Long:
    """A class or function over the limit.

    Attributes:
        whole: its lines with blank ones, comments and docstrings, and what is inside of it.
    """

    lines: int
    whole: int
    file: str
    name: str


@dataclass
class Counts:
    """What is printed.

    Attributes:
        lines: by the ends of files' names.
        rooms: lines by the folders of the package; files beside them are rooms as well.
        written: lines of the files that a build writes, which are in neither.
        imports, with_strings, includes: circles, each the files that reach each other.
    """

    lines: dict[str, int] = field(default_factory=dict[str, int])
    rooms: dict[str, int] = field(default_factory=dict[str, int])
    written: int = 0
    classes: list[Long] = field(default_factory=list[Long])
    functions: list[Long] = field(default_factory=list[Long])
    imports: list[list[str]] = field(default_factory=list[list[str]])
    with_strings: list[list[str]] = field(default_factory=list[list[str]])
    includes: list[list[str]] = field(default_factory=list[list[str]])


def counts(root: Path) -> Counts:
    """The counts of a checkout."""
    source, result = root / SOURCES, Counts()
    lines, rooms = Counter[str](), Counter[str]()
    for path in sorted(source.rglob("*")):
        if not path.is_file() or path.suffix not in TEXTS:
            continue
        number = len(path.read_bytes().splitlines())
        if path.relative_to(source).as_posix() in WRITTEN:
            result.written += number
            continue
        lines[path.suffix] += number
        rooms[path.relative_to(source).parts[0]] += number
        if path.suffix == ".py":
            _measure(path, path.relative_to(source).as_posix(), result)
    result.lines, result.rooms = dict(lines.most_common()), dict(rooms.most_common())
    for found in (result.classes, result.functions):
        found.sort(key=lambda each: (-each.lines, each.file, each.name))
    known = {n: p for n, p in modules(root).items() if p.startswith(f"{SOURCES}/")}
    edges = {path: {*imported(known, name, root / path)} for name, path in known.items()}
    more = {path: {*_by_strings(known, root / path)} for path in edges}
    result.imports = circles(edges)
    result.with_strings = circles({path: edges[path] | more[path] for path in edges})
    result.includes = circles(included(root, source))
    return result


# --- sizes


def _measure(path: Path, file: str, result: Counts) -> None:
    """Add the long classes and functions of a file."""
    data = path.read_bytes()
    tree = ast.parse(data)
    code = _lines_of_code(data) - {line for text in _docstrings(tree) for line in text}
    for node in ast.walk(tree):
        if not isinstance(node, _Definition):
            continue
        is_class = isinstance(node, ast.ClassDef)
        own = _span(node) & code
        for inner in _inner(node, of_class=is_class):
            own -= _span(inner) | _decorators(inner)
        most = MOST_OF_CLASS if is_class else MOST_OF_FUNCTION
        if len(own) > most:
            long = Long(len(own), len(_span(node)), file, node.name)
            (result.classes if is_class else result.functions).append(long)


def _span(node: _Definition) -> set[int]:
    return {*range(node.lineno, (node.end_lineno or node.lineno) + 1)}


def _decorators(node: _Definition) -> set[int]:
    first = min([each.lineno for each in node.decorator_list], default=node.lineno)
    return {*range(first, node.lineno)}


def _inner(node: ast.AST, of_class: bool) -> Iterator[_Definition]:
    """The definitions inside of one whose lines are not its own."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef) or (isinstance(child, _Definition) and not of_class):
            yield child
        else:
            yield from _inner(child, of_class)


def _lines_of_code(data: bytes) -> set[int]:
    found = set[int]()
    for token in tokenize.tokenize(io.BytesIO(data).readline):
        if token.type not in _NOTHING:
            found |= {*range(token.start[0], token.end[0] + 1)}
    return found


def _docstrings(tree: ast.AST) -> Iterator[range]:
    """The lines of strings that are statements."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                yield range(node.lineno, (node.end_lineno or node.lineno) + 1)
            case _:
                pass


# --- circles


def imported(known: Mapping[str, str], name: str, path: Path) -> Iterator[str]:
    """The files of the modules that a module imports, anywhere in its text."""
    is_package = path.name == "__init__.py"
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (known[each.name] for each in node.names if each.name in known)
        elif isinstance(node, ast.ImportFrom):
            base = base_of(node, name if is_package else name.rpartition(".")[0])
            for alias in node.names:
                module = next((n for n in (f"{base}.{alias.name}", base) if n in known), None)
                if module is not None:
                    yield known[module]


def _by_strings(known: dict[str, str], path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Constant):
            yield from named(known, node.value)


def included(root: Path, source: Path) -> dict[str, set[str]]:
    """The files of C that each includes: those beside it, else those that an end of a path names
    alone."""
    paths = [p for p in sorted(source.rglob("*")) if p.suffix in C_TEXTS]
    edges: dict[str, set[str]] = {}
    for path in paths:
        reached = edges.setdefault(path.relative_to(root).as_posix(), set())
        for raw in _INCLUDE.findall(path.read_bytes()):
            beside = (path.parent / raw.decode()).resolve()
            others = [p for p in paths if p == beside] or [
                p for p in paths if p.as_posix().endswith(f"/{raw.decode()}")
            ]
            if len(others) == 1:
                reached.add(others[0].relative_to(root).as_posix())
    return edges


def circles(edges: Edges) -> list[list[str]]:
    """The sets of files that reach each other: components of more than one (R. Tarjan, "Depth-First
    Search and Linear Graph Algorithms", 1972), the largest first."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []
    for start in edges:
        if start in number:
            continue
        work = [(start, iter(sorted(edges[start])))]
        number[start] = low[start] = len(number)
        stack.append(start)
        while work:
            node, rest = work[-1]
            child = next((each for each in rest if each in edges and each != node), None)
            if child is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    part = stack[stack.index(node) :]
                    del stack[stack.index(node) :]
                    found += [sorted(part)] if len(part) > 1 else []
            elif child not in number:
                number[child] = low[child] = len(number)
                stack.append(child)
                work.append((child, iter(sorted(edges[child]))))
            elif child in stack:
                low[node] = min(low[node], number[child])
    return sorted(found, key=lambda part: (-len(part), part))


# --- the command


def text_of(found: Counts) -> str:
    """The counts as text."""
    parts = [f"{sum(found.lines.values())} lines: "]
    parts[0] += ", ".join(f"{number} of {end}" for end, number in found.lines.items())
    parts += [f"  {number:7} {room}" for room, number in found.rooms.items()]
    parts.append(f"{found.written} lines of files that a build writes")
    for what, most, longs in (
        ("classes", MOST_OF_CLASS, found.classes),
        ("functions", MOST_OF_FUNCTION, found.functions),
    ):
        parts.append(f"{len(longs)} {what} over {most} lines of code")
        parts += [f"  {e.lines:7} ({e.whole} in all) {e.file}: {e.name}" for e in longs]
    for what, parted in (
        ("imports", found.imports),
        ("imports with those by strings", found.with_strings),
        ("includes", found.includes),
    ):
        sizes = ", ".join(f"{len(each)} files" for each in parted)
        parts.append(f"{len(parted)} circles of {what}{': ' if sizes else ''}{sizes}")
        parts += [f"  {' '.join(each[:12])}{' ...' if len(each) > 12 else ''}" for each in parted]
    return "\n".join(parts)


def main() -> None:
    """Print the counts of a checkout."""
    parser = argparse.ArgumentParser(description="Count lines, long definitions and circles.")
    parser.add_argument("root", nargs="?", type=Path, default=ROOT)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = counts(given.root.resolve())
    print(json.dumps(asdict(found), indent=1) if given.json else text_of(found))


if __name__ == "__main__":
    main()
