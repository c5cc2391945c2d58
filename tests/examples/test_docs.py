"""What the documentation shows runs: Python blocks, and ``gridlane compile`` lines.

A block that needs other libraries says so in its first line, ``# needs ...``, and is only compiled.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from tests import programs
from tests.devices import DEVICES

ROOT = Path(__file__).parents[2]
TEXTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)
QUOTED = re.compile(r"^```py\n(.*?)^```", re.M | re.S)
COMMAND = re.compile(r"^    gridlane (compile examples/.*)$", re.M)
# The interpreter has everything; the CPU device refuses some of it.
RUN_ON = ["interp", *(device for device in DEVICES if device == "cuda")]


# tests/site/test_language.py runs its examples, on every device.
ELSEWHERE = {"language.md"}


def found(pattern: re.Pattern[str]) -> list:
    """Each match, named by its file and line."""
    return [
        pytest.param(match[1], id=f"{path.name}-{text.count(chr(10), 0, match.start()) + 1}")
        for path in TEXTS
        if pattern is not BLOCK or path.name not in ELSEWHERE
        for text in [path.read_text()]
        for match in pattern.finditer(text)
    ]


def gridlane(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return programs.run(["-m", "gridlane", *words], folder, environment)


@pytest.mark.parametrize("device", RUN_ON)
@pytest.mark.parametrize("block", found(BLOCK))
def test_python(block: str, device: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(block)
    if block.startswith("# needs "):
        compile(block, program, "exec")
        return
    done = gridlane("run", "--device", device, str(program), folder=tmp_path)
    assert done.returncode == 0, f"{block}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("block", found(QUOTED))
def test_quoted(block: str) -> None:
    """Code that a page quotes stands so in a file that the page names."""
    named = {
        name
        for path in TEXTS
        for name in re.findall(r"`((?:src|tests)/[^`]*\.py)`", path.read_text())
    }
    assert any(block in (ROOT / name).read_text() for name in named if (ROOT / name).exists())


@pytest.mark.parametrize("line", found(COMMAND))
def test_commands(line: str, tmp_path: Path) -> None:
    if "cubin" in line:
        from gridlane.compiler.cuda import find_ptxas

        if find_ptxas() is None:
            pytest.skip("no CUDA toolkit on this machine")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    done = gridlane(*shlex.split(line), folder=tmp_path)
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout or list(tmp_path.glob("*.cubin"))


def test_there_is_something_to_try() -> None:
    assert len(found(BLOCK)) >= 6 and len(found(COMMAND)) >= 3
