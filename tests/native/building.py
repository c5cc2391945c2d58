"""C programs of the pool's sources."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from gridlane.native import text

HERE = Path(__file__).parent


def built(source: Path, made: Path, *options: str, sources: Sequence[Path] = ()) -> Path:
    """Compile a program or library with sources of the pool; skip where there is no compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("cc is not installed")
    strict = ("-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror")
    files = (f"-I{text.ROOM}", str(source), *map(str, sources), "-o", str(made), "-lpthread")
    done = subprocess.run(
        [compiler, *strict, *options, *files], capture_output=True, text=True, timeout=300
    )
    if "cannot find" in done.stderr and "san" in done.stderr:
        pytest.skip("cc has no library of this sanitizer")
    assert done.returncode == 0, done.stderr
    return made
