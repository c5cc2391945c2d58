"""A folder of its own for what tunings keep."""

from __future__ import annotations

import pytest

from gridlane.core.config import config
from gridlane.tuning import search, store, tables


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("GRIDLANE_CACHE", "1")
    monkeypatch.setenv("GRIDLANE_CACHE_DIR", str(tmp_path))
    config.cache_clear()
    yield tmp_path / "tuned"
    monkeypatch.undo()
    config.cache_clear()


@pytest.fixture(autouse=True)
def apart(monkeypatch, request):
    """Without the tables that gridlane ships, and those of other tests; nothing on disk is read or
    kept without the folder."""
    monkeypatch.setattr(search, "_SAMPLE_S", 0.02)
    if "folder" not in request.fixturenames:
        monkeypatch.setattr(store, "place_of", lambda device, *parts: None)
    monkeypatch.setattr(tables, "_used", [])
    monkeypatch.setattr(tables, "shipped", lambda: ())
