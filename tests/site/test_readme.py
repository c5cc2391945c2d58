"""README.md: its commands of installing work, from a checkout and from a wheel built there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests import programs

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text()
INSTALL = re.findall(r"^    (.*)$", TEXT.partition("## Install")[2].partition("## Use")[0], re.M)
EXAMPLE = re.findall(r"^```python\n(.*?)^```", TEXT, re.M | re.S)


def test_what_is_shown() -> None:
    assert len(EXAMPLE) == 2  # a kernel, and arrays
    assert any(line == "pip install ." for line in INSTALL)
    for link in re.findall(r"\]\((?!https:)([^)#]+)", re.sub(r"```.*?```", "", TEXT, flags=re.S)):
        assert (ROOT / link).exists(), link


def test_the_example_computes_in_float32(tmp_path: Path) -> None:
    (tmp_path / "example.py").write_text(EXAMPLE[0])
    done = programs.run(
        ["-m", "gridlane", "compile", "--explain", "example.py"], tmp_path, {**os.environ}
    )
    assert done.stdout.endswith("): nothing became float64\n"), done.stdout + done.stderr


@pytest.mark.nightly
@pytest.mark.parametrize("way", ["checkout", "wheel"])
def test_installing(way: str, tmp_path: Path) -> None:
    """Each way in an environment of its own, then the example."""
    copy = tmp_path / "checkout"
    left_out = shutil.ignore_patterns(".git", ".venv", "build", "dist", "*.so", "*.egg-info")
    shutil.copytree(ROOT, copy, ignore=left_out)
    split = INSTALL.index("pip install .")
    steps = INSTALL[:split] + (INSTALL[split + 1 :] if way == "wheel" else ["pip install ."])
    (tmp_path / "example.py").write_text(EXAMPLE[0])
    script = "\n".join(["set -e", *steps, "cd ..", "python example.py", "gridlane devices"])
    done = subprocess.run(["bash", "-c", script], cwd=copy, text=True, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "999.5" in done.stdout and "cpu" in done.stdout
