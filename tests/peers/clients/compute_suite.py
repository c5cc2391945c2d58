"""Run CCCL's tests of ``cuda.compute``, or with ``--package coop`` those of ``cuda.coop``, on
gridlane.algorithms, and write what came of them:
``python -m tests.peers.clients.compute_suite --suite DIR --out docs/cuda-compute-suite.md``.

DIR is the folder ``python/cuda_cccl/tests`` of a checkout of NVIDIA/cccl, which is read only. Each
file has a process of its own, ``gridlane run -m pytest FILE``, and a limit of time; the plugin
``compute_standins`` has what the tests use of other packages.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.peers.clients.compute_reasons import REASONS
from tests.peers.clients.pytest_runs import Row, outcomes, worded

Rows = dict[str, list[Row]]
"""The outcomes of each file: pytest's word, the test, a reason."""
_ROOT = Path(__file__).parents[3]
_STANDINS = {
    "compute": "`cuda.core` and `cupy` are stand-ins over gridlane's arrays.",
    "coop": """`cuda.core` is a stand-in over gridlane's arrays, and `inspect_sass` returns an empty
text: gridlane shows no machine code of NVIDIA's.""",
}
"""What the tests of each package use that is no part of it."""
_OPTIONS = {"compute": "", "coop": " --package coop"}
_LARGE = "\n| marked as large, of sorts and of reductions of segments; left out | {} |"
_TEXT = """# CCCL's tests of cuda.{package}

`python -m tests.peers.clients.compute_suite{options} --suite DIR --out
docs/cuda-{package}-suite.md` writes this page. DIR is the folder `python/cuda_cccl/tests` of a
checkout of [NVIDIA/cccl](https://github.com/NVIDIA/cccl), here at {commit}. Its tests and examples
of `cuda.{package}` run unmodified by `gridlane run -m pytest` on the device `{device}`;
{standins} A test is a function with one set of parameters.

| tests | |
|---|--:|
| passed | {passed} |
| failed | {failed} |
| did not end | {ended} |
| skipped, or marked as expected to fail | {skipped} |{large}

**{rate:.1f} %** of the tests that are not skipped pass. Of those that do not use what gridlane
refuses by name, **{kept_rate:.1f} %**.

## By reason

| tests | files | reason |
|--:|---|---|
"""
_SMALL = "merge_sort", "radix_sort", "segmented_sort", "segmented_reduce"
"""Files of which the tests that CCCL marks as large are left out: they take hours on a CPU."""
_REFUSED = "refused by name"
"""What the reason of a refused feature ends with."""


def main() -> None:
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", type=Path, help="python/cuda_cccl/tests of a checkout")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--raw", type=Path, help="outcomes; files that have some are not run again")
    parser.add_argument("--package", default="compute", choices=list(_STANDINS))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--commit", default="an unknown commit", help="of the checkout")
    parser.add_argument("--limit", type=int, default=1200, help="seconds for a file")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("files", nargs="*", help="files to run, all by default")
    given = parser.parse_args()
    if given.suite is None:
        print("skipped: no --suite DIR, the folder python/cuda_cccl/tests of NVIDIA/cccl")
        return
    rows: Rows = json.loads(given.raw.read_text()) if given.raw and given.raw.exists() else {}
    for name in given.files:
        rows.pop(name, None)
    wanted = given.files or [name for name in files(given.suite, given.package) if name not in rows]

    def one(name: str) -> None:
        rows[name] = run(given.suite.absolute(), name, given.package, given.device, given.limit)
        print(name, dict(Counter(row[0] for row in rows[name])), flush=True)
        if given.raw:
            given.raw.write_text(json.dumps(dict(rows), indent=0))

    with ThreadPoolExecutor(given.jobs) as pool:
        list(pool.map(one, wanted))
    if given.out:
        given.out.write_text(page(rows, given.package, given.commit, given.device))


def files(suite: Path, package: str) -> list[str]:
    """The files of tests of a package, and the one that runs its examples."""
    pattern = "test_*.py" if package == "compute" else "**/test_*.py"
    found = [*sorted((suite / package).glob(pattern)), suite / "test_examples.py"]
    return [str(each.relative_to(suite)) for each in found]


def run(suite: Path, name: str, package: str, device: str, limit: int) -> list[Row]:
    """The outcomes of a file's tests; the one that ran when the process ended has its reason."""
    with TemporaryDirectory() as room:
        # Examples are programs of their own, and import cupy first.
        Path(room, "cupy.py").write_text("import tests.peers.clients.compute_standins\n")
        folders = [str(_ROOT), str(Path(__file__).parent), room, str(suite)]
        path = os.pathsep.join([*folders, os.environ.get("PYTHONPATH", "")])
        command = [sys.executable, "-m", "gridlane", "run", "--device", device, "-m", "pytest"]
        command += ["-q", "-p", "no:cacheprovider", "-p", "outcomes"]
        command += ["-p", "tests.peers.clients.compute_standins", name]
        if name.removeprefix("compute/test_").removesuffix(".py") in _SMALL:
            command += ["-m", "not large"]
        if name == "test_examples.py":
            command += ["-k", f"test_{package}"]
        environment = {**os.environ, "PYTHONPATH": path}
        rows, printed = outcomes(command, suite, environment, limit, name)
    left_out = re.search(r"(\d+) deselected", printed)
    if left_out and name != "test_examples.py":
        rows.append(("large", name, left_out[1]))
    return rows


def page(rows: Rows, package: str, commit: str, device: str) -> str:
    """The page, in Markdown."""
    tests = [(name, *row) for name, found in sorted(rows.items()) for row in found]
    large = sum(int(count) for _, kind, _, count in tests if kind == "large")
    tests = [row for row in tests if row[1] != "large"]
    counts = Counter("skipped" if kind == "expected" else kind for _, kind, _, _ in tests)
    counted = sum(counts.values()) - counts["skipped"]
    groups: dict[str, list[str]] = defaultdict(list)
    for name, kind, test, reason in tests:
        if kind in ("failed", "ended"):
            groups[worded(REASONS, test, reason)].append(Path(name).stem)
    refused = sum(len(each) for reason, each in groups.items() if reason.endswith(_REFUSED))
    text = _TEXT.format(
        package=package,
        options=_OPTIONS[package],
        standins=_STANDINS[package],
        commit=commit,
        device=device,
        rate=100 * counts["passed"] / max(1, counted),
        large=_LARGE.format(large) if package == "compute" else "",
        kept_rate=100 * counts["passed"] / max(1, counted - refused),
        **{kind: counts[kind] for kind in ("passed", "failed", "ended", "skipped")},
    )
    for reason, names in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        text += f"| {len(names)} | {', '.join(sorted(set(names)))} | {reason} |\n"
    text += "\n## By file\n\n| file | passed | failed | skipped |\n|---|--:|--:|--:|\n"
    for name in sorted(rows):
        own = Counter("skipped" if kind == "expected" else kind for kind, _, _ in rows[name])
        text += f"| {Path(name).stem} | {own['passed']} | {own['failed'] + own['ended']} "
        text += f"| {own['skipped']} |\n"
    return text


if __name__ == "__main__":
    main()
