"""``kernel.explain()``: what the compiler made of a kernel, by the lines of its source."""

from __future__ import annotations

import linecache
from collections.abc import Iterable
from os.path import basename

from gridlane.core.decisions import Decision, users_place

_WIDTH = 72
NOTHING = "no line is vectorised, gathered, masked, narrowed or coarsened"
"""What is said where no decision was made: of a kernel that touches no memory, and on Metal, whose
code has integers of 64 bits as they are."""


def told(title: str, decisions: Iterable[Decision], files: set[str]) -> str:
    """Decisions by line, in the order of the lines; repeated decisions of a line are printed once.

    Args:
        files: of the user's: decisions about other code are left out.
    """
    lines: dict[tuple[str, int], dict[str, dict[str, None]]] = {}
    for each in decisions:
        loc = users_place(each.loc, files)
        if loc is not None:
            by_decision = lines.setdefault((loc.file, loc.line), {})
            by_decision.setdefault(each.what, {})[each.how] = None
    parts = [title]
    for (file, line), about in sorted(lines.items()):
        text = linecache.getline(file, line).strip()
        shown = text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."
        parts.append(f"{basename(file)}:{line}: {shown}")
        parts += [f"    {what}: {'; '.join(ways)}" for what, ways in about.items()]
    if not lines:
        parts.append(NOTHING)
    return "\n".join(parts)
