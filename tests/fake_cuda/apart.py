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


class Apart:
    """The plugin of the outer process."""

    def __init__(self) -> None:
        self._outcomes: dict[str, Outcome] = {}

    def outcome(self, item: pytest.Item) -> Outcome:
        """How a test went; the tests of its file run at the first that is asked for."""
        if item.nodeid not in self._outcomes:
            same = [other for other in item.session.items if other.path == item.path]
            try:
                self._outcomes |= run(item.config, same)
            except NoCompiler as error:
                verdict = "failed" if os.environ.get("CI") else "skipped"
                self._outcomes |= {other.nodeid: (verdict, str(error)) for other in same}
        return self._outcomes[item.nodeid]

    def report(self, item: pytest.Item) -> None:
        """Report a test as pytest would."""
        hook = item.ihook
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        outcome, text = self.outcome(item)
        longrepr: Any = text or None
        if outcome == "skipped":
            longrepr = str(item.path), 0, text
        for when in ("setup", "call", "teardown"):
            shown = when == "call"
            report = pytest.TestReport(
                item.nodeid,
                item.location,
                {name: 1 for name in item.keywords},
                outcome if shown else "passed",
                longrepr if shown else None,
                when,
            )
            hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
