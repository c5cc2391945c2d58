"""The suite that WebGPU, OpenGL and OpenGL ES share, on whatever drivers this machine has."""

from __future__ import annotations

import gc

import pytest
from tests.runtime.heap.helpers import KINDS, opened


@pytest.fixture(params=KINDS)
def device(request, tmp_path, monkeypatch):
    """A device, opened for the test. At the end nothing may be left in its heap."""
    made = opened(request.param, monkeypatch, tmp_path / "programs")
    yield made
    request.node.funcargs.clear()
    gc.collect()
    if made.queue.fault is None:
        made.synchronize()
        assert made.pool.statistics().used == 0
    made.close()
