"""docs/tutorial.md, followed literally: every program is saved and every command run."""

from __future__ import annotations

import importlib.util
import os
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from PIL import Image
from tests import programs

ROOT = Path(__file__).parents[2]
PICTURES = ("ripples", "mandelbrot", "coral", "evenly", "warps")


def loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tutorial", ROOT / "scripts/site/tutorial.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules["tutorial"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_tutorial(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}

    def run(command: str) -> tuple[int, str]:
        first, *rest = shlex.split(command)
        if first == "gridlane":
            done = programs.run(["-m", "gridlane", *rest], tmp_path, environment)
        else:
            done = subprocess.run([first, *rest], cwd=tmp_path, text=True, capture_output=True)
        return done.returncode, done.stdout + done.stderr

    loaded().follow(tmp_path, run)
    for name in PICTURES:
        drawn = np.asarray(Image.open(tmp_path / f"{name}.png"), np.int32)
        shown = np.asarray(Image.open(ROOT / "docs" / "pictures" / f"{name}.png"), np.int32)
        assert drawn.shape == shown.shape, name
        # A function may differ by an ulp on another processor.
        assert np.mean(abs(drawn - shown) > 1) < 0.01, f"{name}.png is not what the page shows"


@pytest.mark.nightly
def test_tutorial_in_a_fresh_environment(tmp_path: Path) -> None:
    """With its first commands, which make an environment and install the checkout in it."""
    shell = subprocess.Popen(
        ["bash"], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert shell.stdin is not None and shell.stdout is not None
    printed = shell.stdout

    def run(command: str) -> tuple[int, str]:
        command = command.replace("install . ", f"install {shlex.quote(str(ROOT))} ")
        # One shell for all, as a reader has: one command activates the environment.
        script = f"{{ {command}\n}} 2>&1; status=$?; echo; echo done $status"
        print(script, file=shell.stdin, flush=True)
        lines = []
        while not (line := printed.readline()).startswith("done "):
            assert line, "the shell ended"
            lines.append(line)
        return int(line.split()[1]), "".join(lines)

    loaded().follow(tmp_path, run, install=True)
    shell.stdin.close()
    shell.wait(60)
    assert all((tmp_path / f"{name}.png").exists() for name in PICTURES)


def test_there_are_five_steps() -> None:
    page = (ROOT / "docs" / "tutorial.md").read_text()
    assert all(f"\n## {number}. " in page for number in range(1, 6))
    assert sum(step.command.startswith("gridlane") for step in loaded().steps(page)) >= 10
