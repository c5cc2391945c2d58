"""Runs a file of tests in a process of its own, whose libcuda is the fake one.

A process has one libcuda, so these tests cannot share theirs with tests of a real GPU, nor with
those that expect none. A process that runs pytest reports each test here by its own outcome.
GRIDLANE_FAKE_CUDA, the path of the library, marks the inner process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from tests.fake_cuda.build import NoCompiler, built

LIBRARY = "GRIDLANE_FAKE_CUDA"
REPORTS = "GRIDLANE_FAKE_CUDA_REPORTS"
SECONDS = 300
"""The longest that a file's tests may take."""

Outcome = tuple[str, str]
"""(passed, failed or skipped; the text of a failure)"""


def inside() -> bool:
    """Whether this is the inner process."""
    return LIBRARY in os.environ


def write_report(report: Any) -> None:
    """In the inner process: tell the outer one."""
    if report.when == "call" or not report.passed:
        line = json.dumps([report.nodeid, report.outcome, report.longreprtext])
        with Path(os.environ[REPORTS]).open("a") as file:
            file.write(line + "\n")


def run(config: pytest.Config, items: list[pytest.Item]) -> dict[str, Outcome]:
    """The outcomes of tests of one file, run in a new process."""
    with tempfile.TemporaryDirectory(prefix="fake-cuda-") as folder:
        reports = Path(folder, "reports")
        reports.touch()
        environment = os.environ | {
            LIBRARY: str(built()),
            REPORTS: str(reports),
            "GRIDLANE_DEVICE": "cuda",
            "GRIDLANE_CACHE_DIR": folder,  # what the fake compiles is for nobody else
            "PYTHONPATH": os.pathsep.join([str(config.rootpath), *sys.path]),
        }
        environment.pop("GRIDLANE_TEST_GPU", None)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
        command += [item.nodeid for item in items]
        done = subprocess.run(
            command,
            cwd=config.rootpath,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        outcomes: dict[str, Outcome] = {}
        for line in reports.read_text().splitlines():
            name, outcome, text = json.loads(line)
            if outcomes.get(name, ("passed",))[0] != "failed":
                outcomes[name] = outcome, text
    said = f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    lost = "failed", f"did not run; the process ended with {done.returncode}:\n{said}"
    return {item.nodeid: outcomes.get(item.nodeid, lost) for item in items}


class Apart(pytest.Item):
    """A test whose outcome is the inner process's. The tests of a file run together, at the first
    of them."""

    outcomes: dict[str, Outcome] = {}

    def __init__(self, *, original: pytest.Item, **settings: Any) -> None:
        super().__init__(**settings)
        self.own_markers.extend(original.own_markers)
        self.keywords.update({name: True for name in original.keywords})
        self._location = original.reportinfo()

    def runtest(self) -> None:
        """Report how it went."""
        if self.nodeid not in self.outcomes:
            same = [other for other in self.session.items if other.path == self.path]
            try:
                self.outcomes |= run(self.config, same)
            except NoCompiler as error:
                verdict = "failed" if os.environ.get("CI") else "skipped"
                self.outcomes |= {other.nodeid: (verdict, str(error)) for other in same}
        outcome, text = self.outcomes[self.nodeid]
        if outcome == "skipped":
            pytest.skip(text)
        if outcome == "failed":
            pytest.fail(text, pytrace=False)

    def reportinfo(self) -> Any:
        """Where the test is."""
        return self._location


def put_apart(items: list[pytest.Item], folder: Path) -> None:
    """Let the tests of a folder run in processes of their own."""
    for n, item in enumerate(items):
        if folder in item.path.parents:
            items[n] = Apart.from_parent(item.parent, name=item.name, original=item)
