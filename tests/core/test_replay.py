"""``make replay``: what two trees compile."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from scripts.testing.replay import ROOT, compare

EMITTER = Path("codegen/clike/scalars.py")
SMALL = ["--without-examples", "--only", "^(opengl|cpu)/(sub|add)-(i32|f32)$"]


def tree_with(folder: Path, file: Path, old: str, new: str) -> Path:
    """A tree of links to this one, in which one file of the package is changed."""
    package, own = folder / "src" / "gridlane", ROOT / "src" / "gridlane"
    package.mkdir(parents=True)
    for room in own.iterdir():
        if room.name == file.parts[0]:
            shutil.copytree(room, package / room.name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            os.symlink(room, package / room.name)
    for name in ("tests", "examples"):
        os.symlink(ROOT / name, folder / name)
    text = (package / file).read_text()
    assert text.count(old) == 1
    (package / file).write_text(text.replace(old, new))
    return folder


def test_a_changed_emitter_is_reported(tmp_path: Path) -> None:
    """In the texts that it emits, and in no others: these are the same in two processes."""
    other = tree_with(tmp_path, EMITTER, 'arith.Sub: _plain("-"),', 'arith.Sub: _plain("+"),')
    count, differences = compare(other, ROOT, SMALL)
    assert count == 8
    assert {text.partition(":")[0] for text in differences} == {
        "opengl/sub-i32",
        "opengl/sub-f32",
    }
    (line,) = [text for text in differences if "sub-i32" in text]
    assert "opengl/sub-i32: differs\n    @@ " in line
    assert "\n    -" in line and "\n    +" in line and " - " in line
