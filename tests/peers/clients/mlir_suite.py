"""Run the tests of numba-cuda-mlir on gridlane, and write what came of them:
``python -m tests.peers.clients.mlir_suite --suite DIR --out docs/numba-cuda-mlir-suite.md``.

DIR is the folder ``tests`` of a checkout of NVIDIA/numba-cuda-mlir, which is read only. Each file
has a process of its own, ``gridlane run -m pytest FILE``, and a limit of time. The interpreter's
environment has pytest, pytest-benchmark, filecheck, cffi, ml_dtypes, psutil and NVIDIA's bindings.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.peers.clients.mlir_report import page

Rows = dict[str, list[dict[str, Any]]]
_ROOT = Path(__file__).parents[3]
_APART = "benchmarks"
"""Measurements, which are no tests."""


def main() -> None:
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", type=Path, help="the folder of tests")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--raw", type=Path, help="outcomes; files that have some are not run again")
    parser.add_argument("--write", action="store_true", help="only write, from --raw's outcomes")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--limit", type=int, default=300, help="seconds for a file")
    parser.add_argument("--group", type=int, default=1, help="files of a process")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("files", nargs="*", help="files to run, all by default")
    given = parser.parse_args()
    if given.suite is None:
        print("skipped: no --suite DIR, a checkout of NVIDIA/numba-cuda-mlir's tests")
        return
    rows: Rows = json.loads(given.raw.read_text()) if given.raw and given.raw.exists() else {}
    names = given.files or files(given.suite)
    for name in given.files:
        rows.pop(name, None)

    wanted = [name for name in names if name not in rows and not given.write]
    groups = [wanted[n : n + given.group] for n in range(0, len(wanted), given.group)]

    def one(group: list[str]) -> None:
        rows.update(run(given.suite, group, given.device, given.limit))
        print(*group, flush=True)
        if given.raw:
            given.raw.write_text(json.dumps(dict(rows), indent=0))

    with ThreadPoolExecutor(given.jobs) as pool:
        list(pool.map(one, groups))
    if given.out:
        given.out.write_text(page(rows, given.suite, given.device, len(files(given.suite))))


def files(suite: Path) -> list[str]:
    """The files of tests, relative to the folder."""
    found = sorted(suite.rglob("test_*.py"))
    return [str(each.relative_to(suite)) for each in found if _APART not in each.parts]


def run(suite: Path, names: list[str], device: str, limit: int) -> Rows:
    """The lines of the tests of files, as mlir_parts.py writes them, with one of the end.

    Files whose common process does not end by itself run again, each in its own.
    """
    with tempfile.TemporaryDirectory() as folder:
        outcomes = Path(folder, "outcomes")
        command = [sys.executable, "-m", "gridlane", "run", "--device", device, "-m", "pytest"]
        command += [
            "-q",
            "-o",
            "addopts=",
            "-p",
            "no:cacheprovider",
            "--continue-on-collection-errors",
        ]
        command += ["-p", "tests.peers.clients.mlir_parts", "--outcomes", str(outcomes), *names]
        path = os.pathsep.join([str(_ROOT), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        time = limit * len(names)
        try:
            ended: int | str = subprocess.run(
                command, cwd=suite, env=environment, capture_output=True, text=True, timeout=time
            ).returncode
        except subprocess.TimeoutExpired:
            ended = "time"
        text = outcomes.read_text() if outcomes.exists() else ""
    if len(names) > 1 and ended not in (0, 1, 2, 5):
        return {name: run(suite, [name], device, limit)[name] for name in names}
    lines = [json.loads(line) for line in text.splitlines()]
    return {
        name: [
            *[line for line in lines if _file(line["test"]) == name],
            {"test": name, "outcome": "end", "why": ended},
        ]
        for name in names
    }


def _file(test: str) -> str:
    """The file of a test, relative to the folder of tests."""
    return test.partition("::")[0].removeprefix("tests/")


if __name__ == "__main__":
    main()
