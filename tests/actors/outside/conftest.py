"""A folder of shared inboxes of each test's own, and an actor that shares one."""

from __future__ import annotations

import sys

import pytest
from tests.actors.samples import total

from gridlane import actors

if sys.platform != "linux":
    pytest.skip("shared inboxes need Linux", allow_module_level=True)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where the files of shared inboxes are."""
    there = tmp_path / "run"
    there.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(there))
    return there / "gridlane" / "actors"


@pytest.fixture
def runtime(folder):
    with actors.Runtime(device="cpu", workers=1) as made:
        yield made


@pytest.fixture
def ref(runtime):
    made = runtime.launch(total, capacity=64)
    made.activate()
    return made
