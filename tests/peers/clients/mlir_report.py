"""The page of numba-cuda-mlir's tests on gridlane: what passed, and the rest by reason."""

from __future__ import annotations

import ast
import datetime
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.peers.clients.mlir_reasons import REASONS

Rows = dict[str, list[dict[str, Any]]]

_TEXT = """# numba-cuda-mlir's own tests

`python -m tests.peers.clients.mlir_suite --suite DIR --out docs/numba-cuda-mlir-suite.md` writes
this page; last on {date}. DIR has the tests of NVIDIA/numba-cuda-mlir, version {version}, which run
unmodified by `gridlane run -m pytest` on the device `{device}`. A test is a function with
one set of parameters, as pytest counts.

| tests | |
|---|--:|
| that do not reach into its compiler | {counted} |
| of these passed | {passed} |
| of those that passed, expected to fail in numba-cuda-mlir itself | {better} |
| of these failed | {failed} |
| of these did not end | {ended} |
| reach into its compiler | {reached} |
| skipped, or marked as expected to fail | {skipped} |

**{rate:.1f} %** of those that do not reach into its compiler pass; of the {functions} functions
among them, all sets of parameters of **{function_rate:.1f} %**.

A test reaches into the compiler if it uses one of the compiler's modules, requests MLIR or machine
code, or matches the text of compiled code. Modules of the compiler are placeholders in this run,
so a test that only imports one counts by its result. A test that reaches into the compiler counts
only as such, whether it passes or not. {files} files of {all_files} were run; the table by file has
their names.
"""

_BETTER = "expected to fail"


@dataclass(frozen=True, slots=True)
class Test:
    """A test and what came of it. ``kind``: passed, failed, ended, reached or skipped."""

    file: str
    name: str
    kind: str
    reason: str

    @property
    def function(self) -> str:
        """The function, without its parameters."""
        return f"{self.file}::{self.name.partition('[')[0]}"


def page(rows: Rows, suite: Path, device: str, total: int) -> str:
    """The page, in Markdown. ``total``: the files of the suite, of which some were run."""
    tests = [test for file, lines in sorted(rows.items()) for test in tests_of(file, lines, suite)]
    counts = Counter(test.kind for test in tests)
    counted = [test for test in tests if test.kind in ("passed", "failed", "ended")]
    functions = {test.function for test in counted}
    failing = {test.function for test in counted if test.kind != "passed"}
    text = _TEXT.format(
        date=datetime.date.today(),
        version=version_of(suite),
        device=device,
        files=len(rows),
        all_files=total,
        counted=len(counted),
        rate=100 * counts["passed"] / max(1, len(counted)),
        functions=len(functions),
        better=sum(test.reason == _BETTER for test in counted),
        function_rate=100 * (1 - len(failing) / max(1, len(functions))),
        **{kind: counts[kind] for kind in ("passed", "failed", "ended", "reached", "skipped")},
    )
    titles = {
        "failed": "What failed",
        "ended": "What did not end",
        "reached": "Tests that reach into the compiler",
        "skipped": "Skipped tests and expected failures",
    }
    parts = [
        _by_reason(title, [t for t in tests if t.kind == kind]) for kind, title in titles.items()
    ]
    return text + "".join(parts) + _by_file(tests)


def version_of(suite: Path) -> str:
    """The version of the checkout that has the tests."""
    for folder in (suite.parent / "src" / "numba_cuda_mlir", suite.parent):
        if (folder / "VERSION").exists():
            return (folder / "VERSION").read_text().strip()
    return "unknown"


def tests_of(file: str, lines: list[dict[str, Any]], suite: Path) -> list[Test]:
    """The tests of a file: those that were collected, or those of its text where it could not be
    imported."""
    found: dict[str, Test] = {}
    for line in lines:
        name = line["test"].partition("::")[2]
        if line["outcome"] == "import":
            kind, reason = _judged(line)
            if kind == "failed":
                reason = _worded(reason)
            for each in _defined(suite / file):
                found[each] = Test(file, each, kind, reason)
        elif line["outcome"] == "skipped module":
            found[file] = Test(file, file, "skipped", _plain(line["why"]))
        elif line["outcome"] == "collected":
            found[name] = Test(file, name, "ended", "")
        elif line["outcome"] != "end":
            kind, reason = _judged(line)
            found[name] = Test(file, name, kind, _worded(reason) if kind == "failed" else reason)
    return list(found.values())


def _judged(line: dict[str, Any]) -> tuple[str, str]:
    """The kind of an outcome, and its reason as the test gave it."""
    if line.get("reached"):
        return "reached", _part(line["reached"][0])
    outcome = line["outcome"]
    if outcome == "passed":
        return "passed", ""
    if outcome == "skipped" or outcome.startswith("expected"):
        why = line.get("why")
        return "skipped", _plain(why if isinstance(why, str) else "expected to fail")
    message = " / ".join(line["why"][:3])
    if message.startswith("[XPASS(strict)]"):
        return "passed", _BETTER
    return "failed", message


_USES = re.compile(r"(?:uses|does not have) (numba(?:_cuda_mlir)?[\w.]*)")


def _part(reached: str) -> str:
    """The part of the compiler that a test reached."""
    found = _USES.search(reached)
    if found is None:
        known = re.search(r"matches compiled code, by \w+|inspect_\w+", reached)
        return known[0] if known else "imports or uses a part of the compiler"
    names = found[1].split(".")
    depth = 3 if names[1:2] and names[1] in ("numba_cuda", "cuda", "compiler", "extending") else 2
    depth = 4 if names[1:3] == ["numba_cuda", "core"] else depth
    return f"uses `{'.'.join(names[:depth])}`"


def _worded(message: str) -> str:
    for pattern, reason in REASONS.items():
        if re.search(pattern, message):
            return reason
    return f"`{_plain(message).replace('`', '')}`"


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"[|<>]", " ", text)).strip()[:110] or "no words"


def _defined(path: Path) -> list[str]:
    """The test functions of a file's text."""
    tree = ast.parse(path.read_text())
    return [
        each.name
        for each in ast.walk(tree)
        if isinstance(each, ast.FunctionDef) and each.name.startswith("test")
    ]


def _by_reason(title: str, tests: list[Test]) -> str:
    if not tests:
        return ""
    groups: dict[str, list[Test]] = defaultdict(list)
    for test in tests:
        groups[test.reason or "no end"].append(test)
    lines = [f"\n## {title}\n", "| tests | files | reason |", "|--:|---|---|"]
    for reason, found in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        files = sorted({test.file.removesuffix(".py").rpartition("/")[2] for test in found})
        shown = ", ".join(files[:4]) + (f" and {len(files) - 4} more" if len(files) > 4 else "")
        lines.append(f"| {len(found)} | {shown} | {reason} |")
    return "\n".join(lines) + "\n"


def _by_file(tests: list[Test]) -> str:
    lines = ["\n## By file\n", "| file | passed | failed | reaches | skipped |"]
    lines.append("|---|--:|--:|--:|--:|")
    for file in sorted({test.file for test in tests}):
        count = Counter(test.kind for test in tests if test.file == file)
        failed = count["failed"] + count["ended"]
        cells = count["passed"], failed, count["reached"], count["skipped"]
        lines.append(f"| {file.removesuffix('.py')} | {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"
