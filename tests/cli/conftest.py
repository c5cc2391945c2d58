"""The command line as its users have it: a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests import programs

ROOT = Path(__file__).parents[2]
WITHOUT_OURS = {
    name: value for name, value in os.environ.items() if not name.startswith("GRIDLANE_")
}


def environment_in(folder: Path, more: dict[str, str]) -> dict[str, str]:
    """The environment of a program, with a cache of its own."""
    ours = {"PYTHONPATH": str(ROOT / "src"), "GRIDLANE_CACHE_DIR": str(folder / "kernels")}
    return {**WITHOUT_OURS, **ours, **more}


@pytest.fixture
def python(tmp_path):
    """Run a new Python in the test's folder: ``python(words, stdin="", **environment)``."""

    def run(*words, stdin="", **environment):
        return subprocess.run(
            [sys.executable, *map(str, words)],
            cwd=tmp_path,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=300,
            env=environment_in(tmp_path, environment),
        )

    return run


@pytest.fixture
def gridlane(tmp_path):
    """Run the command in the test's folder."""

    def run(*words, stdin="", **environment):
        return programs.run(
            ["-m", "gridlane", *map(str, words)],
            tmp_path,
            environment_in(tmp_path, environment),
            stdin,
            seconds=300,
        )

    return run


@pytest.fixture
def fails(gridlane):
    """Run the command; it must fail in words, with a status. Returns what it said."""

    def run(*words, status=2, **rest):
        done = gridlane(*words, **rest)
        assert done.returncode == status, done.stderr
        assert "Traceback" not in done.stderr
        assert done.stderr.startswith("gridlane: ")
        return done.stderr.removeprefix("gridlane: ")

    return run
