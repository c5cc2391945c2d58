"""The table of a self-test as text, with a digest that shows whether it was changed in transit.

The digest covers every line between the first and itself, less the blanks at their ends. It proves
nothing about who made the table: an author of changes can make a new digest.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable

from gridlane.cli.selftest.case_runner import VERDICTS, Row

FIRST = "gridlane selftest, table 1"
_DIGEST = "sha256: "
_MARK = " | "


def table(head: dict[str, str], rows: Iterable[Row]) -> str:
    """The text of the table, with its digest."""
    rows = list(rows)
    lines = [FIRST, *(f"{name}: {value}" for name, value in head.items()), ""]
    lines += [_line(row) for row in rows]
    lines += ["", _total(Counter(row.verdict for row in rows))]
    return "\n".join([*lines, _DIGEST + _digest(lines), ""])


def _line(row: Row) -> str:
    cells = row.case, row.row, row.types, row.verdict, row.detail
    return _MARK.join(cell.replace("\n", " ") for cell in cells).rstrip(" |")


def _total(counts: Counter[str]) -> str:
    parts = [f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict]]
    return f"total: {counts.total()} rows: {', '.join(parts)}"


def _digest(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(line.rstrip() for line in lines).encode()).hexdigest()


def check(text: str) -> tuple[bool, str]:
    """Whether a text contains a whole table, and its totals or the defect.

    >>> whole = table({"device": "metal"}, [Row("grid", "three axes", "int32", "right")])
    >>> check(f"As I saw it:\\r\\n{whole}  \\nThanks")
    (True, 'total: 1 rows: 1 right')
    >>> check(whole.replace("right", "WRONG"))
    (False, 'the digest is not that of the table: it was changed')
    """
    lines = [line.rstrip() for line in text.splitlines()]
    if FIRST not in lines:
        return False, f"there is no line {FIRST!r}"
    lines = lines[lines.index(FIRST) :]
    ends = [number for number, line in enumerate(lines) if line.startswith(_DIGEST)]
    if not ends:
        return False, f"there is no line that begins with {_DIGEST.strip()!r}: the end is missing"
    lines, digest = lines[: ends[0]], lines[ends[0]].removeprefix(_DIGEST)
    if _digest(lines) != digest:
        return False, "the digest is not that of the table: it was changed"
    counts = Counter(
        verdict for line in lines for verdict in line.split(_MARK)[3:4] if verdict in VERDICTS
    )
    if lines[-1] != _total(counts):
        return False, f"the last line says {lines[-1]!r}, the rows say {_total(counts)!r}"
    return True, lines[-1]
