"""``scripts.testing.crashes``: the summary shows how a worker has ended, and where."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = """
import faulthandler, threading

def test_faults():
    faulthandler._sigsegv()

def test_hangs():
    threading.Event().wait()
"""
HANGS = ["-o", "faulthandler_timeout=0.5", "-o", "faulthandler_exit_on_timeout=true"]


def test_how_workers_ended_is_in_the_summary(tmp_path):
    (tmp_path / "test_crashing.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-n", "1", "-p", "scripts.testing.crashes", *HANGS]
    run = subprocess.run(
        [*command, "-c", os.devnull, str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    # In any order: "gw0 was ended by SIGSEGV", its stack, "gw1 exited with 1: ...", its stack.
    parts = re.split(r"=+ gw\d (was ended by SIGSEGV|exited with 1).* =+\n", run.stdout)
    ends = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert "in test_faults" in ends["was ended by SIGSEGV"], run.stdout + run.stderr
    assert "in test_hangs" in ends["exited with 1"]
