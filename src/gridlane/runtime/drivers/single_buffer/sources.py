"""Texts that the shaders' languages share: the body of the kernel ``move``, and messages."""

from __future__ import annotations

import re

# FROM is the buffer that is read; see transfers.py.
_MOVE = """\
    LET end = params[0] + params[2];
    LET at = (params[0] >> 2u) + PLACE;
    LET start = at * 4u;
    if (at > ((end - 1u) >> 2u)) {
        return;
    }
    VAR keep = 0u;
    if (start < params[0]) {
        keep = ~(0xffffffffu << ((params[0] - start) * 8u));
    }
    if (end - start < 4u) {
        keep |= 0xffffffffu << ((end - start) * 8u);
    }
    VAR word = params[3];
    if (params[1] != 0u) {
        LET source = params[1] + start - params[0];
        LET shift = (source & 3u) * 8u;
        word = FROM[source >> 2u];
        if (shift != 0u) {
            word = (word >> shift) | (FROM[(source >> 2u) + 1u] << (32u - shift));
        }
    }
    if (keep != 0u) {
        word = (heap[at] & keep) | (word & ~keep);
    }
    heap[at] = word;
}
"""


def moving(head: str, place: str, constant: str, variable: str, other: str) -> tuple[str, str]:
    """The kernel ``move``, and ``move_between``, which reads another buffer.

    Args:
        head: the buffers ``heap``, ``params`` and ``launch``, SOURCE, and the kernel up to "{".
        place: the thread's number in the grid.
        constant, variable: the words that declare a uint.
        other: declares the buffer ``heap1``.
    """
    body = _MOVE.replace("PLACE", place).replace("LET", constant).replace("VAR", variable)
    text = head + body
    within = text.replace("SOURCE\n", "").replace("FROM", "heap")
    return within, text.replace("SOURCE", other).replace("FROM", "heap1")


def with_line(what: str, place: re.Match[str] | None, text: str, language: str) -> str:
    """A compiler's message with the line of the text whose number a match has, if there is one."""
    if place is None:
        return what
    number, lines = int(place[1]), text.splitlines()
    shown = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    return f"{what}, in line {number} of the {language}: {shown}"
