"""The check of commits' titles."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from scripts.commit_title import complaints

SCRIPT = Path(__file__).parents[2] / "scripts" / "commit_title.py"


@pytest.mark.parametrize(
    "title",
    [
        "Fix match: scope a guarded case's assignments to that case",
        "Speed up wmma on the CPU: a call for each product and each access",
        "Merge branch 'x'",
        'Revert "Let a kernel wait"',
    ],
)
def test_good_titles(title: str) -> None:
    assert not complaints(title)


@pytest.mark.parametrize(
    "title, told",
    [
        ("Let a kernel wait for the host", '"Let" does not say'),
        ("The cache has a key", '"The" does not say'),
        ("fix a typo", "verb in the imperative"),
        ("Cache", "verb in the imperative"),
        ("Fix a typo.", "full stop"),
        ("Fix " + 69 * "x", "73 characters"),
    ],
)
def test_bad_titles(title: str, told: str, tmp_path: Path) -> None:
    assert any(told in each for each in complaints(title))
    (tmp_path / "message").write_text(f"{title}\n\nFix what was wrong.\n")
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path / "message")], capture_output=True, text=True
    )
    assert done.returncode == 1 and told in done.stderr
