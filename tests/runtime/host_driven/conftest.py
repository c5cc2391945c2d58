"""One suite for the host-driven devices: Vulkan, the stand-in for Metal, and those whose
memory is one buffer, on whatever drivers this machine has. What is special to one is in its
folder."""

from __future__ import annotations

import pytest
from tests.runtime.arrays import params
from tests.runtime.host_driven.programs import STEP, kernel
from tests.runtime.metal import conftest as on_metal
from tests.runtime.metal.conftest import device as metal_device
from tests.runtime.metal.conftest import metal, opening
from tests.runtime.single_buffer.conftest import ended
from tests.runtime.single_buffer.helpers import KINDS, opened
from tests.runtime.vulkan import conftest as on_vulkan
from tests.runtime.vulkan.conftest import device as vulkan_device
from tests.runtime.vulkan.conftest import living

from gridlane.runtime.queues import host_driven_transfers

__all__ = ["living", "metal", "metal_device", "opening", "vulkan_device"]

SUBALLOCATED = ("vulkan", "metal")
"""Devices that cut their memory from many buffers."""
DEVICES = (*SUBALLOCATED, *KINDS)
STAGED = "vulkan staged"
"""Vulkan, as if the host did not see its memory."""


def given(request, kind, monkeypatch, tmp_path):
    """A device of a kind, for the length of a test."""
    if kind in KINDS:
        yield from ended(request, opened(kind, monkeypatch, tmp_path / "programs"))
        return
    (on_metal if kind == "metal" else on_vulkan).require()
    device = request.getfixturevalue("metal_device" if kind == "metal" else "vulkan_device")
    if kind == STAGED:
        device.pool.by_pointer = False
        monkeypatch.setattr(host_driven_transfers, "PIECE", 1000)
    yield device


@pytest.fixture(params=DEVICES)
def device(request, monkeypatch, tmp_path):
    """Each of them."""
    yield from given(request, request.param, monkeypatch, tmp_path)


@pytest.fixture(params=[*DEVICES, STAGED])
def copying(request, monkeypatch, tmp_path):
    """Each of them, by each of its ways to copy."""
    yield from given(request, request.param, monkeypatch, tmp_path)


@pytest.fixture(params=SUBALLOCATED)
def suballocated(request, monkeypatch, tmp_path):
    """Those of which memory is cut from many buffers."""
    yield from given(request, request.param, monkeypatch, tmp_path)


@pytest.fixture
def step(device):
    """A function that launches x = 3 x + n on 64 words of a stream."""
    artifact = kernel(device, STEP)
    bound = device.load(artifact).bind((64, 1, 1))

    def launch(stream, buffer, n=64):
        stream.launch(bound, params(artifact, buffer, n), 1, 1, 1, 0)

    return launch
