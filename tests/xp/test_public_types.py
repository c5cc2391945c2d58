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


def test_no_function_has_the_name_of_a_module():
    """An import of a module makes it an attribute of its package, in a function's place."""
    from gridlane import xp

    modules = {each.stem for each in (ROOT / "src/gridlane/xp").iterdir()}
    assert {"arrays", "creation"} <= modules
    assert modules & set(dir(xp)) == {"fft", "linalg", "random"}
    assert xp.array([1, 2]).tolist() == [1, 2]
