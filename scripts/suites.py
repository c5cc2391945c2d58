"""Write docs/cuda-suites.md, what public CUDA suites do on the CPU device.

    python scripts/suites.py          write the page from benchmarks/suites/results.json
    python scripts/suites.py --check  exit with 1 where the page is stale

The results are rows of a suite, a program, what came of it by nvcc and `gridlane exec` and by
`gridlane cc`, and the reason where it is not right. `KINDS` has the words for what can come.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks/suites/results.json"
PAGE = ROOT / "docs/cuda-suites.md"

KINDS = {
    "right": "its own check passed, or it prints a difference from the host of rounding alone",
    "ran": "ran to its end; it has no check",
    "fault": "its result is undefined by the program's own fault, which the reason shows",
    "long": "its size is fixed, and it did not end within the limit of time",
    "wrong": "ran, with a wrong result",
    "failed": "compiled, and was refused or failed",
    "compile": "did not compile",
    "rules": "breaks the rules of this way's compiler, NVIDIA's or the host's",
    "absent": "needs what is not here: a library, graphics, MPI, several GPUs, data",
    "untried": "not tried this way",
}
"""Kinds of results, in the order of the table."""

JUDGED = "right", "ran", "fault", "long", "wrong", "failed", "compile"
"""Those of programs that are within the rules of the compiler and have what they need."""

RAN = "right", "ran", "fault"
COMPILED = *RAN, "long", "wrong", "failed"

WAYS = {"exec": "nvcc and `gridlane exec`", "cc": "`gridlane cc`"}


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a program by one way."""

    kind: str
    reason: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"no kind of result: {self.kind}")
        if self.kind not in ("right", "ran", "untried") and not self.reason:
            raise ValueError(f"{self.kind} needs a reason")


@dataclass(frozen=True, slots=True)
class Program:
    """A program of a suite."""

    suite: str
    name: str
    ways: dict[str, Result]


@dataclass(frozen=True, slots=True)
class Results:
    """The file of results."""

    facts: tuple[str, ...]
    suites: dict[str, str]
    programs: tuple[Program, ...]


def read(text: str) -> Results:
    """The results of a JSON text; raises ValueError for a kind or a suite that is unknown."""
    given: dict[str, Any] = json.loads(text)
    suites: dict[str, str] = given["suites"]
    programs = tuple(
        Program(
            row["suite"],
            row["name"],
            {way: Result(*row.get(way, ["untried"])) for way in WAYS},
        )
        for row in given["programs"]
    )
    for each in programs:
        if each.suite not in suites:
            raise ValueError(f"{each.name} is of no suite of the file: {each.suite}")
    names = Counter((each.suite, each.name) for each in programs)
    if twice := [name for name, count in names.items() if count > 1]:
        raise ValueError(f"twice in the results: {twice}")
    return Results(tuple(given["facts"]), suites, programs)


def page(results: Results) -> str:
    """The text of the page."""
    parts = [_head(results)]
    for way in WAYS:
        parts += [f"## By {WAYS[way]}\n", _counts(results, way)]
    parts.append("## Kinds\n")
    parts.append("\n".join(f"- *{kind}*: {words}." for kind, words in KINDS.items()) + "\n")
    for suite, words in results.suites.items():
        parts += [f"## {suite}\n", words + "\n", _programs(results, suite)]
    return "\n".join(parts)


def _head(results: Results) -> str:
    facts = "\n".join(f"- {each}" for each in results.facts)
    return (
        "# Public CUDA suites\n\n"
        "Programs of public suites, unmodified, on the device `cpu`, two ways: built by NVIDIA's "
        "nvcc and run by `gridlane exec`, and built by `gridlane cc`. "
        "`python scripts/suites.py` writes this page.\n\n" + facts + "\n"
    )


def _counts(results: Results, way: str) -> str:
    header = ["suite", *KINDS, "compiled", "ran"]
    rows = [
        _count_row(suite, [each for each in results.programs if each.suite == suite], way)
        for suite in results.suites
    ]
    rows.append(_count_row("all", results.programs, way))
    return _table(header, rows, "|---|" + "--:|" * (len(header) - 1))


def _count_row(name: str, programs: Sequence[Program], way: str) -> list[str]:
    count = Counter(each.ways[way].kind for each in programs)
    judged = sum(count[kind] for kind in JUDGED)
    compiled = sum(count[kind] for kind in COMPILED)
    ran = sum(count[kind] for kind in RAN)
    shares = [f"{part} of {judged}" for part in (compiled, ran)]
    return [name, *(str(count[kind] or "") for kind in KINDS), *shares]


def _programs(results: Results, suite: str) -> str:
    rows = [
        [each.name, *(_cell(each.ways[way]) for way in WAYS)]
        for each in results.programs
        if each.suite == suite
    ]
    return _table(["program", *WAYS.values()], rows, "|---|---|---|")


def _cell(result: Result) -> str:
    reason = result.reason.replace("|", "\\|")
    return f"{result.kind}: {reason}" if reason else result.kind


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], rule: str) -> str:
    lines = [header, *rows]
    text = ["| " + " | ".join(each) + " |" for each in lines]
    return "\n".join([text[0], rule, *text[1:]]) + "\n"


def main() -> None:
    """Write the page, or compare it."""
    parser = argparse.ArgumentParser(description="Write docs/cuda-suites.md.")
    parser.add_argument("--check", action="store_true", help="compare only")
    given = parser.parse_args()
    made = page(read(RESULTS.read_text()))
    if not given.check:
        PAGE.write_text(made)
    elif PAGE.read_text() != made:
        sys.exit(f"{PAGE.name} is stale: run python scripts/suites.py")


if __name__ == "__main__":
    main()
