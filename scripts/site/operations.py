"""Write docs/operations.md from the table of operations of ``gridlane.xp``, and the errors that
benchmarks/operations.py measured.

python scripts/site/operations.py          write it
python scripts/site/operations.py --check  exit with 1 where it is stale
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))

from benchmarks import results

from gridlane.xp.operations import OPERATIONS, OVER_AN_AXIS, ROWS
from gridlane.xp.operations.loops import BFLOAT16
from gridlane.xp.operations.record import Operation

PAGE = ROOT / "docs" / "operations.md"
TEMPLATE = Path(__file__).with_name("operations.template.md")
RESULTS = results.FOLDER / "operations.json"
KINDS = {
    "bool": ["?"],
    "signed": list("bhiq"),
    "unsigned": list("BHIQ"),
    "float": ["e", BFLOAT16, "f", "d"],
    "complex": list("FD"),
}
"""The dtypes of a word of the page."""


def page() -> str:
    """The page."""
    tables: list[str] = []
    for section in dict.fromkeys(row.section for row in ROWS):
        rows = sorted([row for row in ROWS if row.section == section], key=lambda row: row.name)
        tables.append(f"## {section}\n\n" + table([HEADS, *map(cells, rows)]))
    axis = [("name", "operands", "keeps the axis", "definition")]
    axis += [
        (f"`{each.name}`", ", ".join(each.operands), yes(each.keeps_axis), f"`{each.definition}`")
        for each in OVER_AN_AXIS
    ]
    texts = {
        "rows": str(len(ROWS)),
        "names": str(len(OPERATIONS)),
        "tables": "\n\n".join(tables),
        "axis": table(axis),
    }
    return re.sub(r"{{(\w+)}}", lambda match: texts[match[1]], TEMPLATE.read_text())


HEADS = (
    "name",
    "other names",
    "operands",
    "result",
    "dtypes",
    "domain and special values",
    "error, ulp",
    "measured, ulp",
    "complex error, ulp",
    "gradient",
)


def cells(row: Operation) -> tuple[str, ...]:
    """The facts of a row."""
    return (
        f"`{row.name}`",
        ", ".join(f"`{name}`" for name in row.aliases),
        str(row.arity),
        row.summary,
        dtypes(row),
        row.special,
        bounds(row),
        measured(row),
        f"{row.complex_bound:g}" if row.complex_bound else "",
        gradients(row),
    )


def loop_of(row: Operation, code: object) -> tuple[str, ...] | None:
    """The results' dtypes for operands of a dtype that an operation computes as it is."""
    dtype = np.dtype(code)  # type: ignore[arg-type]  # a code or a dtype
    kinds: tuple[np.dtype, ...] = (dtype,) * row.arity
    if row.name == "ldexp":
        kinds = (dtype, np.dtype(np.int32))
    elif row.name == "where":
        kinds = (np.dtype(bool), dtype, dtype)
    try:
        loop = row.types(kinds)
    except TypeError:
        return None
    if loop.inputs != kinds:
        return None
    return tuple("same" if each == dtype else each.name for each in loop.outputs)


def dtypes(row: Operation) -> str:
    """The dtypes of operands, with those of results that differ."""
    groups: dict[str, list[str]] = {}
    for word, codes in KINDS.items():
        loops = [(np.dtype(code), loop_of(row, code)) for code in codes]
        found = [(dtype, loop) for dtype, loop in loops if loop is not None]
        if not found:
            continue
        results = {result(loop) for _, loop in found}
        names = word if len(found) == len(codes) else ", ".join(each.name for each, _ in found)
        groups.setdefault(results.pop() if len(results) == 1 else "its part", []).append(names)
    return "; ".join(
        ", ".join(names) + (f" to {to}" if to != "same" else "") for to, names in groups.items()
    )


def result(loop: tuple[str, ...]) -> str:
    """The results of a loop in words."""
    return loop[0] if len(set(loop)) == 1 else " and ".join(loop)


def bounds(row: Operation) -> str:
    """The error of floats."""
    if not any(loop_of(row, code) for code in KINDS["float"]):
        return "exact"
    bound = row.bound
    if bound is None:
        return "exact"
    numbers = [bound.float16, bound.bfloat16, bound.float32, bound.float64]
    text = "exact" if max(numbers) <= 0.5 else ", ".join(f"{each:g}" for each in numbers)
    return text + " of operands" * bound.of_operands + " of 1" * bool(bound.least)


def measured(row: Operation) -> str:
    """The largest errors for float32 and float64 that a run on the CPU saw."""
    seen: dict[str, float] = {}
    (run,) = [each for each in results.read(RESULTS) if "--device" not in each.command]
    for figure in run.figures:
        dtype = figure.of.split(",")[0]
        if figure.case == row.name and dtype in ("float32", "float64"):
            seen[dtype] = max(figure.value, seen.get(dtype, 0.0))
    return ", ".join(f"{seen[dtype]:.2f}" for dtype in sorted(seen))


def gradients(row: Operation) -> str:
    """The gradient's rules."""
    return "; ".join(f"`{text}`" if text else "none" for text in row.gradient)


def yes(fact: bool) -> str:
    """A fact in a word."""
    return "yes" if fact else "no"


def table(rows: list[tuple[str, ...]]) -> str:
    """Rows as a table of Markdown; the first has the heads."""
    lines = ["| " + " | ".join(each.replace("|", "\\|") for each in row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    return "\n".join(lines)


def main() -> int:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 where it is stale")
    wanted = page()
    if parser.parse_args().check:
        is_current = PAGE.exists() and PAGE.read_text() == wanted
        print(
            "" if is_current else "docs/operations.md is stale: python scripts/site/operations.py"
        )
        return not is_current
    PAGE.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
