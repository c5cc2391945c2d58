"""``make replay``: what two trees compile."""

from __future__ import annotations

import os
import shutil
import sys
import zipfile
from contextlib import nullcontext
from pathlib import Path

import pytest
from scripts.testing import replay
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
    count, failures, differences = compare(other, ROOT, SMALL)
    assert (count, failures) == (8, [])
    assert {text.partition(":")[0] for text in differences} == {
        "opengl/sub-i32",
        "opengl/sub-f32",
    }
    (line,) = [text for text in differences if "sub-i32" in text]
    assert "opengl/sub-i32: differs\n    @@ " in line
    assert "\n    -" in line and "\n    +" in line and " - " in line


def zipped(path: Path, texts: dict[str, str]) -> zipfile.ZipFile:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in texts.items():
            archive.writestr(name, text)
    return zipfile.ZipFile(path)


def test_what_fails_in_both_trees_is_named(tmp_path: Path) -> None:
    """As its texts are equal and compare nothing."""
    texts = {"cpu/add": "failed: KeyError: 1", "cpu/sub": "refused: no", "cpu/mul": "text"}
    with zipped(tmp_path / "a", texts) as before:
        with zipped(tmp_path / "b", {**texts, "cpu/mul": "failed: KeyError: 2"}) as after:
            assert list(replay._failures(before, after)) == ["cpu/add"]


@pytest.mark.parametrize(
    "only, reason", [("(", "is no pattern"), ("^nowhere/", "no text has such a name")]
)
def test_a_pattern_of_nothing_is_an_error(
    only: str,
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["replay", "HEAD", "--only", only])
    monkeypatch.setattr(replay, "checked_out", lambda commit: nullcontext(tmp_path))
    monkeypatch.setattr(replay, "compare", lambda *words: (0, [], []))
    with pytest.raises(SystemExit) as stopped:
        replay.main()
    assert stopped.value.code == 2 and reason in capsys.readouterr().err
