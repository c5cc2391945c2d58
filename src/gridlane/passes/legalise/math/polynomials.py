"""Read the files of polynomials, which ``benchmarks/fit_math.py`` and ``fit_fused.py`` print.

A polynomial is a line of its name and what it approximates, and a row for each type: the type, the
largest error, and the coefficients, lowest power first, rounded to the type. A row goes on in lines
that begin with four spaces.
"""

from __future__ import annotations

from pathlib import Path

from gridlane.core.dtypes import DType, by_name

Polynomial = dict[DType, tuple[float, ...]]


def polynomials(path: Path) -> dict[str, Polynomial]:
    """The coefficients of a file by their names and types."""
    made: dict[str, Polynomial] = {}
    name = ""
    for row in path.read_text(encoding="ascii").replace("\n    ", " ").splitlines():
        word, *others = row.split()
        if row.startswith("  "):
            made[name][by_name(word)] = tuple(map(float, others[1:]))
        elif word != "#":
            name = word
            made[name] = {}
    return made
