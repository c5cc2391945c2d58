"""A plugin of pytest that writes each test's outcome as it comes: a process may not live on.

It runs in another package's environment and imports nothing of gridlane. ``OUTCOMES`` names the
file; a line of it is a test that starts, or its outcome with a reason.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import types
from pathlib import Path

import pytest

_FILE = os.environ["OUTCOMES"]


class _Named(pytest.Module):
    """A module by the name that processes which its tests start find it by."""

    def _getobj(self) -> types.ModuleType:
        parts = self.path.with_suffix("").parts
        return importlib.import_module(".".join(parts[parts.index("numba_cuda") + 1 :]))


def pytest_pycollect_makemodule(
    module_path: Path, parent: pytest.Collector
) -> pytest.Module | None:
    if "numba_cuda" not in module_path.parts:
        return None
    return _Named.from_parent(parent, path=module_path)


def _write(*words: str) -> None:
    with open(_FILE, "a") as out:
        out.write(json.dumps(words) + "\n")


@pytest.fixture(scope="class")
def initialize_from_pytest_config(request: pytest.FixtureRequest) -> None:
    """What numba-cuda's repository has outside of its package."""
    request.cls._dump_failed_filechecks = False


def pytest_runtest_logstart(nodeid: str) -> None:
    _write("starts", nodeid, "")


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2]).removeprefix("Skipped: ")
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = [each for each in str(crash.message if crash else report.longrepr).splitlines() if each]
    # An error that numba wraps says what happened at its end.
    told = [each for each in lines if re.search(r"CUDA_ERROR|CudaAPIError|LinkerError", each)]
    if any(each.startswith("Traceback (most recent call last)") for each in lines):
        # A test that repeats another error's text.
        told += [each.strip() for each in lines if re.match(r"\s*[\w.]*(Error|Exception): ", each)][
            -1:
        ]
    return (told or lines or [""])[0]


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" or report.outcome != "passed":
        kind = "expected" if hasattr(report, "wasxfail") else report.outcome
        _write(kind, report.nodeid, "" if kind == "passed" else _reason(report))


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.outcome != "passed":
        _write(report.outcome, report.nodeid, _reason(report))
