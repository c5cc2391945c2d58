"""The types of the namespace that checkers and editors see."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_file_is_what_the_script_makes():
    command = [sys.executable, str(ROOT / "scripts" / "xp_stub.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"run scripts/xp_stub.py\n{done.stdout}{done.stderr}"
