"""The check of commits' titles."""

from __future__ import annotations

import os
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
        "Document the IR",
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
        ("Let's wait for the host", "does not say"),
        ("Gives a kernel its name", "does not say"),
        ("Merge two loops " + 69 * "x", "85 characters"),
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


@pytest.mark.parametrize(
    "message, status",
    [
        ("\n\n# Please enter the message\nAdd \u00e9t\u00e9\n", 0),
        ("# Please enter the message\n", 0),
        ("\nlet it be\n", 1),
    ],
)
def test_the_title_is_the_first_line_that_git_keeps(
    message: str, status: int, tmp_path: Path
) -> None:
    (tmp_path / "message").write_bytes(message.encode())
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path / "message")], check=False, env=environment
    )
    assert done.returncode == status
