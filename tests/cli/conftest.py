"""The command line as its users have it: a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WITHOUT_OURS = {
    name: value for name, value in os.environ.items() if not name.startswith("GRIDLANE_")
}


@pytest.fixture
def python(tmp_path):
    """Run Python in the test's folder: ``python(words, stdin="", **environment)``."""

    def run(*words, stdin="", **environment):
        return subprocess.run(
            [sys.executable, *map(str, words)],
            cwd=tmp_path,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            env={
                **WITHOUT_OURS,
                "PYTHONPATH": str(ROOT / "src"),
                "GRIDLANE_CACHE_DIR": str(tmp_path / "kernels"),
                **environment,
            },
        )

    return run


@pytest.fixture
def gridlane(python):
    """Run the command in the test's folder."""
    return lambda *words, **rest: python("-m", "gridlane", *words, **rest)


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
