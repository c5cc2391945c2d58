"""The pool of devices whose memory is cut from many buffers, and what pinned memory they have."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests.runtime.arrays import params
from tests.runtime.host_driven.conftest import SUBALLOCATED
from tests.runtime.host_driven.programs import ADD_ONE, family_of, kernel
from tests.runtime.metal import conftest as on_metal
from tests.runtime.vulkan import conftest as on_vulkan

from gridlane.core.errors import DeviceError
from gridlane.emulation.metal import bridge
from gridlane.memory.suballocator import ARENA, SMALL

MEGABYTE = 1 << 20


@pytest.fixture
def buffers(request, suballocated):
    """How many buffers of the driver there are."""
    if family_of(suballocated) == "metal":
        return lambda: bridge.living["MTLBuffer"]
    living = request.getfixturevalue("living")
    return lambda: living["Memory"]


def test_what_nothing_uses_is_given_back(suballocated):
    memory, kept = suballocated.memory, suballocated.allocate(500)
    assert (memory.statistics().used, memory.statistics().reserved) == (500, ARENA)
    del kept
    suballocated.reset()
    assert (memory.statistics().used, memory.statistics().reserved) == (0, 0)


def test_a_large_array_has_an_arena_of_its_own(suballocated):
    addresses = {suballocated.allocate(3 * MEGABYTE).address for _ in range(10)}
    assert len(addresses) == 1 and suballocated.pool.reserved == 3 * MEGABYTE


def test_many_small_arrays_share_an_arena(suballocated, buffers):
    before = buffers()
    kept = [suballocated.allocate(256) for _ in range(5000)]
    assert len({buffer.address for buffer in kept}) == 5000
    assert buffers() == before + 1
    assert suballocated.allocate(SMALL + 1) and buffers() == before + 2


def test_memory_in_use_is_not_given_again(suballocated):
    artifact = kernel(suballocated, ADD_ONE)
    bound = suballocated.load(artifact).bind((64, 1, 1))
    stream = suballocated.new_stream()
    suballocated.recorder.at_once = False  # see the Vulkan driver's; Metal submits nothing at once
    used = suballocated.allocate(2 * MEGABYTE)
    stream.launch(bound, params(artifact, used, 64), 1, 1, 1, 0)
    address = used.address
    del used  # its launch is not even submitted
    other = suballocated.allocate(2 * MEGABYTE)
    assert other.address != address
    stream.synchronize()
    assert suballocated.allocate(2 * MEGABYTE).address == address


@pytest.mark.parametrize("size", [1 << 40, 1 << 63, (1 << 64) - 1, 1 << 70])
def test_pinned_memory_that_is_not_there(suballocated, size):
    with pytest.raises(DeviceError, match="OUT_OF_MEMORY"):
        suballocated.allocate_host(size, "pinned")
    assert suballocated.memory.statistics().used == 0


@pytest.mark.parametrize("kind", SUBALLOCATED)
def test_the_end_of_a_process(kind):
    """Whatever is alive then: work, pinned memory, host functions."""
    (on_metal if kind == "metal" else on_vulkan).require()
    source = """
import numpy as np
from gridlane.launch.devices import get_device
device = get_device({kind!r})
kept = [device.allocate(1000), device.new_stream(), device.new_event()]
kept[1].submit(lambda: print("called"))
kept[1].fill(kept[0].address, 0, 1000)
if {pinned}:
    pinned = device.allocate_host(1000, "pinned")
    array = np.frombuffer(pinned.owner.view(), np.uint8)
"""
    for pinned in (True, False):
        done = subprocess.run(
            [sys.executable, "-c", source.format(kind=kind, pinned=pinned)],
            env={**os.environ, "GRIDLANE_METAL": "emulated"},
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "called\n", "")
