"""The source lines of a class and its annotations."""

from __future__ import annotations

import ast
import inspect
import textwrap

from gridlane.core.source import Loc


def line_of(cls: type, name: str = "") -> Loc:
    """The line of the annotation of a name, or of the class's own first line.

    Without the source, as at a prompt, it is the class's name and module.
    """
    try:
        file = inspect.getsourcefile(cls) or ""
        lines, first = inspect.getsourcelines(cls)
        node = ast.parse(textwrap.dedent("".join(lines))).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):
        return Loc(f"<{cls.__module__}.{cls.__qualname__}>", 0)
    margin = len(lines[0]) - len(lines[0].lstrip())
    place: ast.AST = _annotation(node, name) or node
    line, column = getattr(place, "lineno", 1), getattr(place, "col_offset", 0)
    end = getattr(place, "end_col_offset", column) if place is not node else 0
    behind = end + margin + 1 if end else 0
    return Loc(file, first + line - 1, column + margin + 1, behind, cls.__qualname__)


def _annotation(node: ast.AST, name: str) -> ast.AST | None:
    """The last annotation of a name in a class's body."""
    annotation = None
    for each in getattr(node, "body", ()):
        if isinstance(each, ast.AnnAssign) and getattr(each.target, "id", None) == name:
            annotation = each
    return annotation
