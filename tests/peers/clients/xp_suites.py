"""Run public suites on gridlane.xp and gridlane.tiles, and write what came of them:
``python -m tests.peers.clients.xp_suites NAME --suite DIR``.

NAME is a suite of ``SUITES``, and DIR a checkout of it, which is read only. Each file has a process
of its own and a limit of time. The counts are in benchmarks/suites, and docs/array-suites.md and
docs/tile-suites.md are made of them; without ``--suite`` only the page is written.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.peers.clients.pytest_runs import Row, outcomes, worded
from tests.peers.clients.xp_suite_list import SUITES, Suite

_ROOT = Path(__file__).parents[3]
Rows = dict[str, list[Row]]
"""The outcomes of each file."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What suites are about: the file of their counts, and the page."""

    results: Path
    page: Path
    head: str


SUBJECTS = {
    "arrays": Subject(
        _ROOT / "benchmarks/suites/arrays.json",
        _ROOT / "docs/array-suites.md",
        """# Public suites of arrays

Tests and programs of other projects, unmodified, with `gridlane.xp` in the place of their array
library, on the device `cpu`. `python -m tests.peers.clients.xp_suites NAME --suite DIR` runs the
suite NAME of a checkout DIR and writes this page.
""",
    ),
    "tiles": Subject(
        _ROOT / "benchmarks/suites/tiles.json",
        _ROOT / "docs/tile-suites.md",
        """# Public suites of tile programs

Tests and programs of other projects, unmodified, with `gridlane.tiles` in the place of Triton.
`python -m tests.peers.clients.xp_suites NAME --suite DIR` runs the suite NAME of a checkout DIR
and writes this page; it needs an environment with PyTorch.
""",
    ),
}


def main() -> None:
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=sorted(SUITES))
    parser.add_argument("--suite", type=Path, help="the checkout")
    parser.add_argument("--raw", type=Path, help="outcomes; files that have some are not run again")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--commit", default="an unknown commit", help="of the checkout")
    parser.add_argument("--limit", type=int, default=900, help="seconds for a file")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("files", nargs="*", help="files to run, all by default")
    given = parser.parse_args()
    subject = SUBJECTS[SUITES[given.name].subject]
    if given.suite is not None:
        rows = _run(SUITES[given.name], given)
        there = subject.results
        results = json.loads(there.read_text()) if there.exists() else {}
        results[given.name] = summary(SUITES[given.name], rows, given.commit, given.device)
        there.write_text(json.dumps(results, indent=1) + "\n")
    subject.page.write_text(page(json.loads(subject.results.read_text()), subject))


def _run(suite: Suite, given: argparse.Namespace) -> Rows:
    rows: Rows = json.loads(given.raw.read_text()) if given.raw and given.raw.exists() else {}
    for name in given.files:
        rows.pop(name, None)
    folder = given.suite.absolute()
    wanted = given.files or [name for name in suite.files(folder) if name not in rows]

    def one(name: str) -> None:
        rows[name] = _outcomes(suite, folder, name, given.device, given.limit)
        print(name, dict(Counter(row[0] for row in rows[name])), flush=True)
        if given.raw:
            given.raw.write_text(json.dumps(dict(rows), indent=0))

    with ThreadPoolExecutor(given.jobs) as pool:
        list(pool.map(one, wanted))
    return rows


def _outcomes(suite: Suite, folder: Path, name: str, device: str, limit: int) -> list[Row]:
    path = os.pathsep.join([str(_ROOT), str(Path(__file__).parent)])
    environment = os.environ | suite.environment | {"PYTHONPATH": path, "GRIDLANE_DEVICE": device}
    environment[suite.place] = str(folder)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "outcomes"]
    command += [*suite.options, *suite.parts.get(name, (name,))]
    return outcomes(command, folder / suite.folder, environment, limit, name)[0]


def summary(suite: Suite, rows: Rows, commit: str, device: str) -> dict[str, Any]:
    """What the page shows of outcomes."""
    reasons: dict[str, Counter[str]] = defaultdict(Counter)
    files: dict[str, dict[str, int]] = {}
    for name, found in sorted(rows.items()):
        label = suite.label(name)
        kinds = Counter("skipped" if kind == "expected" else kind for kind, _, _ in found)
        own = files.setdefault(label, {})
        for kind, count in kinds.items():
            own[kind] = own.get(kind, 0) + count
        for kind, test, reason in found:
            if kind in ("failed", "ended"):
                reasons[worded(suite.reasons, test, reason)][label] += 1
    return {
        "commit": commit,
        "device": device,
        "files": files,
        "reasons": {
            words: dict(counts)
            for words, counts in sorted(
                reasons.items(), key=lambda item: (-item[1].total(), item[0])
            )
        },
    }


def page(results: dict[str, Any], subject: Subject) -> str:
    """The page, in Markdown."""
    text = subject.head + "\n| suite | passed | failed | skipped | of those not skipped |\n"
    text += "|---|--:|--:|--:|--:|\n"
    for name in (each for each in SUITES if each in results):
        passed, failed, skipped = _totals(results[name]["files"])
        text += f"| [{SUITES[name].title}](#{SUITES[name].anchor}) | {passed:,} | {failed:,} "
        text += f"| {skipped:,} | {100 * passed / max(1, passed + failed):.1f} % |\n"
    for name in (each for each in SUITES if each in results):
        text += _section(SUITES[name], results[name])
    return text


def _totals(files: dict[str, dict[str, int]]) -> tuple[int, int, int]:
    counts: Counter[str] = Counter()
    for own in files.values():
        counts.update(own)
    return counts["passed"], counts["failed"] + counts["ended"], counts["skipped"]


def _words(suite: Suite, result: dict[str, Any]) -> str:
    return suite.text.format(commit=result["commit"], device=result["device"])


def _section(suite: Suite, result: dict[str, Any]) -> str:
    text = f"\n## {suite.title}\n\n{_words(suite, result)}\n"
    if result["reasons"]:
        text += "\n| tests | files | reason |\n|--:|---|---|\n"
    for words, counts in result["reasons"].items():
        text += f"| {sum(counts.values())} | {', '.join(sorted(counts))} | {words} |\n"
    if not suite.has_table:
        return text
    text += "\n| file | passed | failed | skipped |\n|---|--:|--:|--:|\n"
    for label, own in sorted(result["files"].items()):
        passed, failed, skipped = _totals({label: own})
        text += f"| {label} | {passed} | {failed} | {skipped} |\n"
    return text


if __name__ == "__main__":
    main()
