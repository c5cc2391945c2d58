"""Each message that docs/troubleshooting.md quotes is one that the source still has."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| `((?:[^`|]|\\\|)+)` \|", re.M)
QUOTED = ROW.findall((ROOT / "docs" / "troubleshooting.md").read_text())
# Where one literal ends and the next begins, which Python joins.
SEAM = re.compile(r"\"\s*\n\s*f?\"|'\s*\n\s*f?'")


@cache
def source() -> str:
    """The text of all modules, with a message of several literals on one line."""
    paths = sorted((ROOT / "src" / "gridlane").rglob("*.py"))
    return "\n".join(
        SEAM.sub("", path.read_text()) for path in paths if "emulation" not in path.parts
    )


@pytest.mark.parametrize("message", QUOTED)
def test_the_message_exists(message: str) -> None:
    parts = [part.replace("\\|", "|") for part in message.split("…") if part.strip(" ;:,().")]
    assert parts, "the row quotes no text"
    # Lines with the first part are few; a pattern over the whole text takes seconds.
    lines = (line for line in source().splitlines() if parts[0].strip() in line)
    pattern = re.compile(".*".join(re.escape(part.strip()) for part in parts))
    assert any(map(pattern.search, lines)), f"no line of src has {message!r}"


def test_there_are_messages() -> None:
    assert len(QUOTED) > 50
