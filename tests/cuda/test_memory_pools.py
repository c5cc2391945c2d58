"""Pools of device memory: arrays of them on every device here, their figures against a model."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.devices import DEVICES
from tests.waiting import until

from gridlane import cuda
from gridlane.abi.state.pools import Pool as PoolOfC
from gridlane.core.errors import DeviceError
from gridlane.launch import current
from gridlane.launch.devices import get_device
from gridlane.memory.suballocator import rounded
from gridlane.runtime.memory_pools import MemoryPool


@pytest.fixture(params=["interp", *DEVICES])
def device(request):
    found = get_device(request.param)
    current.choose(found)
    return found


def double(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2


def free(pool):
    """Wait until the pool has nothing in use."""
    gc.collect()
    cuda.synchronize()
    until(lambda: pool.statistics().used == 0)


# --- on every device ---


def test_arrays_of_a_pool_are_those_of_the_device(device):
    kernel, pool = cuda.jit(double), cuda.memory.pool()
    host = np.arange(3000, dtype=np.int32)
    before = device.memory.statistics().used
    with pool:
        x = cuda.to_device(host)
        y = cuda.device_array_like(x)
    z = cuda.device_array(3000, np.int32)
    stream = cuda.stream()
    kernel[12, 256, stream](x)
    y.copy_to_device(x, stream=stream)
    z.copy_to_device(y, stream=stream)
    stream.synchronize()
    for each in (x[1:], y[1:], z[1:]):
        np.testing.assert_array_equal(each.copy_to_host(), 2 * host[1:])
    told = pool.statistics()
    assert told.used == told.peak == told.reserved == told.reserved_peak == 2 * rounded(12000)
    assert device.memory.statistics().used == before + 36000
    assert device.memory.find(x.buffer.address, 12000) is x.buffer
    assert device.memory.find(x.buffer.address, 12001) is None
    del each, x, y, z
    free(pool)
    assert device.memory.statistics().used == before


def test_freed_memory_serves_later_arrays_with_their_own_contents(device):
    kernel, pool = cuda.jit(double), cuda.memory.pool()
    with pool:
        for n in range(30):
            x = cuda.to_device(np.full(5000, n, np.int32))
            kernel[20, 256](x)
            y = cuda.to_device(np.full(4000, -n, np.int32))
            kernel[16, 256](y)
            np.testing.assert_array_equal(x.copy_to_host(), 2 * n)
            np.testing.assert_array_equal(y.copy_to_host(), -2 * n)
            gc.collect()  # a launch on interp has its arguments in a cycle
    del x, y
    free(pool)
    told = pool.statistics()
    # An array is live while the next of its size comes, and a small one may have a large piece.
    assert told.peak <= told.reserved_peak <= 4 * rounded(20000)
    pool.trim()
    assert pool.statistics().reserved == 0


def test_work_in_flight_keeps_the_memory_of_ended_arrays(device):
    kernel, pool = cuda.jit(double), cuda.memory.pool()
    streams = [cuda.stream() for _ in range(3)]
    results = [cuda.device_array(2000, np.int32) for _ in range(12)]
    with pool:
        for n, result in enumerate(results):
            stream = streams[n % 3]
            x = cuda.to_device(np.full(2000, n, np.int32), stream=stream)
            kernel[8, 256, stream](x)
            result.copy_to_device(x, stream=stream)
            del x
    cuda.synchronize()
    for n, result in enumerate(results):
        np.testing.assert_array_equal(result.copy_to_host(), 2 * n)


def test_memory_of_an_ended_array_waits_for_submitted_work(device, monkeypatch):
    if not hasattr(getattr(device, "context", None), "retire"):
        assert device.default_stream.inline or device.name == "cuda"
        return  # an array lives as long as the work that uses it, or its event is recorded
    pool, retired = cuda.memory.pool(), []
    monkeypatch.setattr(device.context, "retire", retired.append)
    with pool:
        x = cuda.device_array(1000, np.uint8)
    del x
    gc.collect()
    assert pool.statistics().used == rounded(1000)
    monkeypatch.undo()
    for work in retired:
        device.context.retire(work)
    free(pool)


def test_a_limit_holds_for_what_a_pool_has(device):
    pool = cuda.memory.pool(limit=100_000)
    with pool:
        x = cuda.device_array(60_000, np.uint8)
        with pytest.raises(DeviceError, match=r"OUT_OF_MEMORY.*pool's limit of 100000"):
            cuda.device_array(60_000, np.uint8)
        assert pool.statistics().used == rounded(60_000)
        del x
        free(pool)
        y = cuda.device_array(90_000, np.uint8)  # in place of what was free
    assert pool.statistics().reserved == rounded(90_000) and pool.limit == 100_000
    assert cuda.device_array(200_000, np.uint8).size == 200_000
    assert y.size == 90_000


def test_a_threshold_is_what_stays(device):
    pool = cuda.memory.pool(threshold=70_000)
    with pool:
        arrays = [cuda.device_array(60_000, np.uint8) for _ in range(3)]
    assert pool.statistics().reserved == 3 * rounded(60_000)
    arrays.clear()
    free(pool)
    until(lambda: pool.statistics().reserved == rounded(60_000))
    pool.threshold = 0
    assert pool.statistics().reserved == 0
    pool.threshold = None
    assert pool.threshold is None


# --- figures, blocks, threads ---


@given(
    st.lists(st.tuples(st.integers(1, 5000), st.booleans(), st.integers(0, 9)), max_size=25),
    st.sampled_from((None, 0)),
)
def test_the_figures_are_those_of_a_model(steps, threshold):
    """The model has the sizes of live arrays and of free pieces: the least that fits is taken, if
    the request is half of it or more."""
    current.choose(get_device("cpu"))
    pool, live, idle = cuda.memory.pool(threshold=threshold), [], []
    peak = high = 0
    for size, ends, which in steps:
        if ends and live:
            held, array = live.pop(which % len(live))
            del array
            idle.append(held)
            if threshold == 0:
                idle.clear()
        else:
            need = rounded(size)
            fitting = sorted(each for each in idle if need <= each[0] <= 2 * need)
            held = fitting[0] if fitting else (need, 0)
            if fitting:
                idle.remove(held)
            with pool:
                live.append(((held[0], need), cuda.device_array(size, np.uint8)))
        used = sum(each[0][1] for each in live)
        reserved = sum(each[0][0] for each in live) + sum(each[0] for each in idle)
        peak, high = max(peak, used), max(high, reserved)
        told = pool.statistics()
        assert (told.used, told.peak, told.reserved, told.reserved_peak) == (
            used, peak, reserved, high,
        )  # fmt: skip
    pool.reset_peak()
    told = pool.statistics()
    assert (told.peak, told.reserved_peak) == (told.used, told.reserved)


def test_with_blocks_nest_and_are_of_one_thread():
    outer, inner, there = cuda.memory.pool(), cuda.memory.pool(), []

    def other():
        there.append(cuda.device_array(700, np.uint8))

    with outer:
        with inner:
            first = cuda.device_array(256, np.uint8)
            thread = threading.Thread(target=other)
            thread.start()
            thread.join(60)
        second = cuda.device_array(512, np.uint8)
        with outer:
            third = cuda.device_array(512, np.uint8)
    outside = cuda.device_array(256, np.uint8)
    assert (outer.statistics().used, inner.statistics().used) == (1024, 256)
    assert len({each.buffer.address for each in (first, second, third, outside, *there)}) == 5
    assert get_device("cpu").memory.accounting.is_plain


def test_a_block_that_ends_in_another_order_is_refused():
    one, two = cuda.memory.pool(), cuda.memory.pool()
    one.__enter__()
    two.__enter__()
    with pytest.raises(DeviceError, match="another order"):
        one.__exit__(None, None, None)
    two.__exit__(None, None, None)
    one.__exit__(None, None, None)
    with pytest.raises(DeviceError, match="another order"):
        one.__exit__(None, None, None)
    assert get_device("cpu").memory.accounting.is_plain


def test_a_pool_of_another_device_is_refused():
    current.choose(get_device("interp"))
    pool = cuda.memory.pool()
    current.choose(get_device("cpu"))
    with pytest.raises(DeviceError, match=r"of interp, this thread's is cpu"), pool:
        pass
    assert "interp" in repr(pool)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"limit": 0}, DeviceError),
        ({"limit": -1}, DeviceError),
        ({"threshold": -1}, DeviceError),
        ({"limit": 1.5}, TypeError),
        ({"threshold": "1"}, TypeError),
    ],
)
def test_wrong_bytes_are_refused(arguments, error):
    with pytest.raises(error):
        cuda.memory.pool(**arguments)


def test_an_array_outlives_its_pool():
    before = cuda.memory.statistics()
    with cuda.memory.pool():
        x = cuda.to_device(np.arange(100))
    gc.collect()
    np.testing.assert_array_equal(x.copy_to_host(), np.arange(100))
    del x
    gc.collect()
    assert cuda.memory.statistics().used == before.used


def test_the_devices_limit_and_the_trace_hold_for_arrays_of_pools():
    current.choose(get_device("cpu"))
    before, was = cuda.memory.statistics().used, cuda.memory.trace(True)
    cuda.memory.set_limit(before + 2000)
    try:
        with cuda.memory.pool() as pool:
            x = cuda.device_array(1500, np.uint8)
            with pytest.raises(DeviceError, match="pool's limit"):
                cuda.device_array(501, np.uint8)
        assert pool.statistics().used == rounded(1500)
        (own,) = [
            each
            for each in cuda.memory.explain(10**6).holdings
            if each.device == "cpu" and each.kind == "device"
        ]
        (holder,) = [each for each in own.largest if each.address == x.buffer.address]
        assert (holder.size, holder.what) == (1500, "DeviceNDArray (1500,) uint8")
        assert __file__ in holder.site
    finally:
        cuda.memory.set_limit(None)
        cuda.memory.trace(was)


def test_threads_share_a_pool():
    pool, errors = cuda.memory.pool(), []

    def work(number):
        with pool:
            for n in range(40):
                x = cuda.to_device(np.full(100 + n, number))
                if (x.copy_to_host() != number).any():
                    errors.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    told = pool.statistics()
    assert not errors and told.used == 0 and told.reserved == told.reserved_peak > 0


def test_pools_of_python_and_of_c_are_of_one_class():
    assert issubclass(PoolOfC, MemoryPool)
    assert isinstance(cuda.memory.pool()._pieces, MemoryPool)


FORK = """
import os, signal, threading
import numpy as np
from gridlane import cuda

pool = cuda.memory.pool()
held, go_on = threading.Event(), threading.Event()

def hold():
    with pool._pieces._lock:
        held.set()
        go_on.wait()

thread = threading.Thread(target=hold, daemon=True)
thread.start()
held.wait()
child = os.fork()
if not child:
    signal.alarm(60)
    code = 1
    try:
        with pool:
            x = cuda.to_device(np.arange(10))
        code = 0 if (x.copy_to_host() == np.arange(10)).all() else 2
    finally:
        os._exit(code)
assert os.waitpid(child, 0)[1] == 0
go_on.set()
thread.join()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_a_pool_works_in_the_child_of_a_fork():
    subprocess.run([sys.executable, "-c", FORK], check=True, timeout=120)
