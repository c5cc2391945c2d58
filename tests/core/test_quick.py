"""``make quick``: which tests are near to a change."""

from __future__ import annotations

import pytest
from scripts.testing import quick
from scripts.testing.graph import distances, graph

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
        ("README.md", {}),
    ],
)
def test_distances(edges, changed, wanted):
    """By imports anywhere in a file, by relative ones, by strings, by names made of a string."""
    found = distances(edges, [changed])
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
