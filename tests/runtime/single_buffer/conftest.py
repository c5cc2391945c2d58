"""What is WebGPU's, OpenGL's and OpenGL ES's, on whatever drivers this machine has."""

from __future__ import annotations

import gc

import pytest
from tests.runtime.single_buffer.helpers import KINDS, opened


def ended(request, made):
    """Gives a device to a test. At the end nothing may be left in its arena."""
    yield made
    request.node.funcargs.clear()
    gc.collect()
    if made.context.fault is None:
        made.synchronize()
        assert made.memory.statistics().used == 0
    made.close()


@pytest.fixture(params=KINDS)
def device(request, tmp_path, monkeypatch):
    """A device, opened for the test."""
    yield from ended(request, opened(request.param, monkeypatch, tmp_path / "programs"))
