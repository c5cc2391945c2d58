"""The pool of devices whose memory is cut from many buffers, and what pinned memory they have."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests.runtime.arrays import params
from tests.runtime.host_driven.conftest import CHUNKED
from tests.runtime.host_driven.programs import ADD_ONE, family_of, kernel
from tests.runtime.metal import conftest as on_metal
from tests.runtime.vulkan import conftest as on_vulkan

from gridlane.core.errors import DeviceError
from gridlane.emulation.metal import bridge
from gridlane.runtime.suballocator import CHUNK, SMALL

MEGABYTE = 1 << 20


@pytest.fixture
def buffers(request, chunked):
    """How many buffers of the driver there are."""
    if family_of(chunked) == "metal":
        return lambda: bridge.living["MTLBuffer"]
    living = request.getfixturevalue("living")
    return lambda: living["Memory"]


def test_what_nothing_uses_is_given_back(chunked):
    pool, kept = chunked.pool, chunked.allocate(500)
    assert (pool.statistics().used, pool.statistics().reserved) == (500, CHUNK)
    del kept
    chunked.reset()
    assert (pool.statistics().used, pool.statistics().reserved) == (0, 0)


def test_a_large_array_has_a_chunk_of_its_own(chunked):
    addresses = {chunked.allocate(3 * MEGABYTE).address for _ in range(10)}
    assert len(addresses) == 1 and chunked.pool.reserved == 3 * MEGABYTE


def test_many_small_arrays_share_a_chunk(chunked, buffers):
    before = buffers()
    kept = [chunked.allocate(256) for _ in range(5000)]
    assert len({buffer.address for buffer in kept}) == 5000
    assert buffers() == before + 1
    assert chunked.allocate(SMALL + 1) and buffers() == before + 2


def test_memory_in_use_is_not_given_again(chunked):
    artifact = kernel(chunked, ADD_ONE)
    bound = chunked.load(artifact).bind((64, 1, 1))
    stream = chunked.new_stream()
    used = chunked.allocate(2 * MEGABYTE)
    stream.launch(bound, params(artifact, used, 64), 1, 1, 1, 0)
    address = used.address
    del used  # its launch is not even submitted
    other = chunked.allocate(2 * MEGABYTE)
    assert other.address != address
    stream.synchronize()
    assert chunked.allocate(2 * MEGABYTE).address == address


@pytest.mark.parametrize("size", [1 << 40, 1 << 63, (1 << 64) - 1, 1 << 70])
def test_pinned_memory_that_is_not_there(chunked, size):
    with pytest.raises(DeviceError, match="OUT_OF_MEMORY"):
        chunked.allocate_host(size, "pinned")
    assert chunked.pool.statistics().used == 0


@pytest.mark.parametrize("kind", CHUNKED)
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
