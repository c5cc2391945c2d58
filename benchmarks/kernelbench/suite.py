"""The problems of a folder of KernelBench, with extents that a processor computes in seconds."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

SMALLEST = 16
"""Extents are not made smaller than this, and smaller ones are kept."""
KEPT = "channel", "features", "group", "kernel", "stride", "padding", "dilation"
"""Names that have one of these words keep their numbers: they are the problem's."""


class Problem(NamedTuple):
    """A file of the suite."""

    model: Callable[..., Any]
    inputs: Callable[[], list[Any]]
    init_inputs: Callable[[], list[Any]]


def files(folder: Path) -> dict[int, Path]:
    """The files of level 1, by number.

    Raises:
        FileNotFoundError: the folder has none.
    """
    for level in (folder / "KernelBench" / "level1", folder / "level1", folder):
        found = {int(p.name.split("_")[0]): p for p in level.glob("[0-9]*_*.py")}
        if found:
            return dict(sorted(found.items()))
    raise FileNotFoundError(f"{folder} has no level1 of KernelBench")


def load(path: Path, factor: int) -> Problem:
    """Run a problem's file, whose extents are divided by a factor."""
    tree = ast.parse(path.read_text("utf-8"), str(path))
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            if not any(word in node.targets[0].id for word in KEPT):
                node.value = _divided(node.value, factor)
    scope: dict[str, Any] = {"__name__": path.stem}
    exec(compile(tree, str(path), "exec"), scope)
    return Problem(scope["Model"], scope["get_inputs"], scope["get_init_inputs"])


def _divided(node: ast.expr, factor: int) -> ast.expr:
    """An expression of integers, or a tuple of them, divided by a factor; others as they are."""
    if isinstance(node, ast.Tuple):
        return ast.copy_location(
            ast.Tuple([_divided(e, factor) for e in node.elts], node.ctx), node
        )
    number = _number(node)
    return (
        node if number is None else ast.copy_location(ast.Constant(_smaller(number, factor)), node)
    )


def _number(node: ast.expr) -> int | None:
    """The value of an expression of integers; None for another one."""
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            one, other = _number(left), _number(right)
            return None if one is None or other is None else one * other
    return None


def _smaller(number: int, factor: int) -> int:
    """An extent divided by a factor, odd if it was."""
    if factor == 1 or number <= SMALLEST:
        return number
    return max(number // factor, SMALLEST) | (number & 1)
