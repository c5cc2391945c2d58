"""Programs in processes of their own: a fault on a GPU is the end of its process's context."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path


def run(folder: Path, program: str) -> str:
    """What a program prints on the GPU; it must end well. Kernels are read from their source, so it
    is put in a file."""
    path = folder / "program.py"
    path.write_text(textwrap.dedent(program))
    environment = os.environ | {"GRIDLANE_DEVICE": "cuda"}
    command = [sys.executable, str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
