"""``cuda.memory.pool`` on NVIDIA's driver: whose memory it has, and in which order it is used."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from gridlane import cuda
from gridlane.core.errors import DeviceError
from gridlane.launch import current


@pytest.fixture(autouse=True)
def _chosen(device):
    current.choose(device)
    yield
    current.choose(None)


def test_a_pool_takes_memory_of_the_drivers_pool_once(machine, device):
    with cuda.memory.pool() as pool:
        x = cuda.device_array(1000, np.uint8)
        address = x.buffer.address
        del x
        machine.clear_log()
        y = cuda.device_array(900, np.uint8)
        calls = list(machine.calls)
    assert y.buffer.address == address
    assert "cuMemAllocFromPoolAsync" not in calls and "cuMemFreeAsync" not in calls
    assert pool.statistics().reserved == 1024 == device.memory.statistics().reserved
    del y
    gc.collect()
    pool.trim()
    assert pool.statistics().reserved == 0 == device.memory.statistics().used


def test_a_stream_apart_from_the_default_one_waits_for_what_memory_had(machine, device):
    """As for memory of the driver's pool: an allocation counts, also of memory that is reused."""
    with cuda.memory.pool():
        x = cuda.device_array(1000, np.uint8)
        before = device.pool.epoch
        del x
        y = cuda.device_array(1000, np.uint8)
        assert device.pool.epoch > before
    del y


def test_work_in_flight_is_waited_for_before_memory_returns(machine, device):
    with cuda.memory.pool() as pool:
        x = cuda.device_array(1000, np.uint8)
        machine.late()
        device.default_stream.submit(lambda: None)
        del x
        pool.trim()
        assert pool.statistics().reserved == 1024  # its event is not done
        machine.late(False)
        device.synchronize()
        pool.trim()
        assert pool.statistics().reserved == 0


def test_a_limit_of_the_pool(machine, device):
    with cuda.memory.pool(limit=2000):
        x = cuda.device_array(1000, np.uint8)
        with pytest.raises(DeviceError, match="pool's limit of 2000"):
            cuda.device_array(1025, np.uint8)
    del x
