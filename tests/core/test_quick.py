"""``make quick``: which tests are near to a change."""

from __future__ import annotations

import subprocess

import pytest
from scripts.testing import quick, seconds
from scripts.testing.graph import distances, graph, standing_for

FILES = {
    "src/gridlane/__init__.py": "",
    "src/gridlane/core.py": "",
    "src/gridlane/passes/__init__.py": "",
    "src/gridlane/passes/fold.py": "from gridlane.core import x",
    "src/gridlane/backends/__init__.py": "def load(n):\n    return f'gridlane.backends.{n}'",
    "src/gridlane/backends/cpu.py": "PASS = 'fold.fold_all'",
    "src/gridlane/launch.py": "def go():\n    import gridlane.backends",
    "tests/helper.py": "from gridlane import launch",
    "tests/passes/test_fold.py": "from gridlane.passes.fold import fold_all",
    "tests/test_launch.py": "from tests import helper",
    "tests/test_alone.py": "import os",
    "tests/near/__init__.py": "",
    "tests/near/shared.py": "",
    "tests/near/test_relative.py": "from .shared import y\nfrom . import other",
    "tests/near/other.py": "from ..helper import z",
    "tests/near/conftest.py": "x = f''",
    "tests/scripts/test_tool.py": "from scripts.tool import main",
    "scripts/tool.py": "",
    "src/gridlane/native/__init__.py": "",
    "tests/test_native.py": "from gridlane.native import x",
}


@pytest.fixture
def edges(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return graph(tmp_path)


@pytest.mark.parametrize(
    "changed, wanted",
    [
        (
            "src/gridlane/passes/fold.py",
            {"tests/passes/test_fold.py": 1, "tests/test_launch.py": 5},
        ),
        ("src/gridlane/launch.py", {"tests/test_launch.py": 2, "tests/near/test_relative.py": 3}),
        ("tests/near/shared.py", {"tests/near/test_relative.py": 1}),
        ("tests/test_alone.py", {"tests/test_alone.py": 0}),
        ("tests/near/conftest.py", {"tests/near/test_relative.py": 1}),
        ("scripts/tool.py", {"tests/scripts/test_tool.py": 1}),
        ("src/gridlane/native/pool.c", {"tests/test_native.py": 1}),
        ("src/gridlane/native/deep/er/pool.h", {"tests/test_native.py": 1}),
        ("src/gridlane/native/gone.py", {"tests/test_native.py": 1}),
        ("tests/passes/fold.txt", {"tests/passes/test_fold.py": 0}),
        ("README.md", {}),
    ],
)
def test_distances(edges, changed, wanted):
    """By imports anywhere in a file, by relative ones, by strings, by names made of a string."""
    found = distances(edges, standing_for(changed, edges))
    tests = {path: far for path, far in found.items() if "/test_" in path}
    assert wanted.items() <= tests.items()
    assert changed in wanted or "tests/test_alone.py" not in tests


def test_the_nearest_come_first(edges, monkeypatch):
    monkeypatch.setattr(quick, "graph", lambda: edges)
    monkeypatch.setattr(quick, "known", lambda: {"tests/test_launch.py": 3.0})
    ordered = quick.nearest(["src/gridlane/core.py"])
    assert ordered[0] == "tests/passes/test_fold.py"
    assert "tests/test_launch.py" in ordered and "tests/test_alone.py" not in ordered
    assert quick.within(ordered, 5.0) == ordered[:1]
    assert quick.within(ordered, 0.5) == ordered[:1]
    assert quick.within(ordered, 100.0) == ordered


def test_changes_are_those_of_git(tmp_path, monkeypatch):
    """New, deleted and moved files, of any name; a commit that is not there is an error."""

    def git(*words):
        named = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run(["git", *named, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q")
    for name in ("same.py", "gone.py", "old.py"):
        (tmp_path / name).write_text(f"text of {name}\n" * 9)
    git("add", "-A")
    git("commit", "-qm", "Add files")
    monkeypatch.setattr(quick, "ROOT", tmp_path)
    (tmp_path / "gone.py").unlink()
    (tmp_path / "old.py").rename(tmp_path / "new name \u00e9.py")
    assert quick.changes(None) == ["gone.py", "new name \u00e9.py", "old.py"]
    git("add", "-A")
    assert quick.changes("HEAD") == ["gone.py", "new name \u00e9.py", "old.py"]
    with pytest.raises(SystemExit, match="quick: git diff: fatal: bad revision 'nowhere'"):
        quick.changes("nowhere")


@pytest.mark.parametrize("text", ["", "[1]", '{"a": "b"}', "{"])
def test_times_that_are_broken_are_none(text, tmp_path, monkeypatch):
    monkeypatch.setattr(seconds, "KEPT", tmp_path / "seconds.json")
    (tmp_path / "seconds.json").write_text(text)
    assert seconds.known() == {}
