"""The page of operations is that of the table."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

from gridlane.xp.operations import OPERATIONS, OVER_AN_AXIS, ROWS

ROOT = Path(__file__).parents[2]


def script() -> ModuleType:
    path = ROOT / "scripts" / "site" / "operations.py"
    spec = importlib.util.spec_from_file_location("site_operations", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_current():
    assert script().PAGE.read_text() == script().page(), "run python scripts/site/operations.py"


def test_the_page_has_every_row():
    page = script().page()
    lines = page.splitlines()
    firsts = {line.split("|")[1].strip(" `") for line in lines if line.startswith("| `")}
    assert firsts == {row.name for row in ROWS} | {each.name for each in OVER_AN_AXIS}
    assert f"{len(ROWS)} operations" in page and f"{len(OPERATIONS)} names" in page
    assert all(line.count("|") - line.count("\\|") == 11 for line in lines if " | 1 | " in line)
