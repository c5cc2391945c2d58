"""The threads of a kernel: which iterations of parallel loops each runs."""

from __future__ import annotations

import re

import islpy as isl

from gridlane.compute.threads import WORD, Body, Context, Lines
from gridlane.compute.tree import Loop, depth_of


def rows_of(
    context: Context,
    nodes: list[isl.AstNode],
    loops: list[Loop],
    row: Loop,
    inside: set[str],
    count: int,
) -> int:
    """How many iterations of a loop a thread has at once: the count, or 1."""
    if not max(map(depth_of, nodes)):
        return 1
    body, nest = Body(context, inside, Lines()), context.nest
    taken = {f"{v}_{context.letter}{n}" for v in nest.variables for n in range(count)}
    if any(each.step > 1 for each in loops) or taken & nest.names:
        return 1
    return count if all(body.can_have_rows(each, row.name) for each in nodes) else 1


def add_rows(
    context: Context,
    nodes: list[isl.AstNode],
    row: Loop,
    others: list[Loop],
    inside: set[str],
    body: Lines,
    rows: int,
) -> None:
    """Add what a thread does of all of its rows at once, or of each where some are outside."""
    base, own = f"{row.name}_row", rf"\b{row.name}\b"
    texts = {each: f"{each.name} >= {each.first} and {each.condition}" for each in (row, *others)}
    tests = [each for each in texts if each is row or row.name in WORD.findall(texts[each])]
    both = [
        re.sub(own, f"({base} + {n})", f"({texts[each]})") for each in tests for n in range(rows)
    ]
    with body.block(*(f"if {text}:" for each, text in texts.items() if each not in tests)):
        with body.block(f"if {' and '.join(both)}:"):
            body.add(f"{row.name} = {base}")
            kernel = Body(context, inside, body, row.name, rows)
            for each in nodes:
                kernel.walk(each)
        last = f"({base} + {rows - 1})"
        with body.block("else:", f"for {row.name} in range({base}, {last} + 1):"):
            add_threads(context, nodes, tests, inside, body)


def add_threads(
    context: Context, nodes: list[isl.AstNode], loops: list[Loop], inside: set[str], body: Lines
) -> None:
    """Add what a thread does, if it is one of the loops' iterations."""
    with body.block(*(f"if {test}:" for loop in loops for test in tests_of(loop))):
        kernel = Body(context, inside, body)
        for each in nodes:
            kernel.walk(each)


def tests_of(loop: Loop) -> list[str]:
    """The conditions under which a value is one of a loop's."""
    found = [f"{loop.name} >= {loop.first} and {loop.condition}"]
    if loop.step > 1:
        found.append(f"({loop.name} - {loop.first}) % {loop.step} == 0")
    return found
