"""Pools of streams and events, on every device here; their counts against a model."""

from __future__ import annotations

import gc
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.devices import DEVICES
from tests.waiting import until_blocked

from gridlane import cuda
from gridlane.core.errors import DeviceError
from gridlane.launch import current
from gridlane.launch.devices import get_device

POOLS = [cuda.stream_pool, cuda.event_pool]


@pytest.fixture(params=["interp", *DEVICES])
def device(request):
    found = get_device(request.param)
    current.choose(found)
    return found


def increment(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


def figures(pool):
    told = pool.statistics()
    return told.in_use, told.most, told.waits, told.leases, told.created


# --- on every device ---


def test_a_stream_is_leased_again_with_its_work_done(device):
    pool, kernel = cuda.stream_pool(2), cuda.jit(increment)
    x = cuda.to_device(np.zeros(1000, np.int32))
    handles = set()
    for n in range(5):
        with pool.acquire() as stream:
            kernel[4, 256, stream](x)
            handles.add(stream.handle)
        np.testing.assert_array_equal(x.copy_to_host(), n + 1)
    assert len(handles) == 1 and pool.device is device
    assert figures(pool) == (0, 1, 0, 5, 1)


def test_events_of_leases_are_as_new_ones(device):
    streams, pool, kernel = cuda.stream_pool(2), cuda.event_pool(1), cuda.jit(increment)
    x = cuda.to_device(np.zeros(1000, np.int32))
    with streams.acquire() as first, streams.acquire() as second:
        for _ in range(2):
            with pool.acquire() as event:
                assert event.query()
                event.synchronize()
                event.wait(second)
                with pytest.raises(DeviceError, match="not recorded in its lease"):
                    event.elapsed_ms(event)
                kernel[4, 256, first](x)
                event.record(first)
                event.wait(second)
            kernel[4, 256, second](x)
            second.synchronize()
    np.testing.assert_array_equal(x.copy_to_host(), 4)
    assert figures(pool) == (0, 1, 0, 2, 1)


def test_a_pool_is_of_the_device_that_its_creator_has(device):
    pools = [make(1) for make in POOLS]
    current.choose(get_device("interp"))
    streams, events = pools
    with streams.acquire() as stream, events.acquire() as event:
        assert stream.native.device is device
        event.record(stream)
        event.synchronize()
        assert event.elapsed_ms(event) == 0


def test_the_time_between_leased_events(device):
    pool = cuda.event_pool(2)
    with pool.acquire() as start, pool.acquire() as end:
        start.record()
        end.record()
        end.synchronize()
        plain = cuda.event()
        plain.record()
        plain.synchronize()
        assert start.elapsed_ms(end) >= 0 and start.elapsed_ms(plain) >= start.elapsed_ms(end)
        assert cuda.event_elapsed_time(start, end) == start.elapsed_time(end)


# --- errors ---


@cuda.jit(debug=True, opt=False)
def fails(x):
    raise ValueError("a kernel's")


def test_errors_of_a_lease_are_raised_at_its_end():
    pool, x = cuda.stream_pool(1), cuda.to_device(np.zeros(4, np.int32))
    with pytest.raises(ValueError, match="a kernel's"), pool.acquire() as stream:
        fails[1, 1, stream](x)
    with pool.acquire() as stream:  # has none of them
        stream.submit(lambda: None)
    lease = pool.acquire()
    lease.stream.submit(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        lease.release()
    assert pool.statistics().in_use == 0 and pool.statistics().created == 2


def test_an_exception_of_the_block_goes_on_and_has_the_error_of_the_work_as_a_note():
    pool = cuda.stream_pool(1)
    with pytest.raises(KeyError) as caught, pool.acquire() as stream:
        stream.submit(lambda: 1 // 0)
        raise KeyError("the block's")
    assert "ZeroDivisionError" in caught.value.__notes__[0]
    with pytest.raises(KeyError) as caught, pool.acquire() as stream:
        raise KeyError("the block's")
    assert not hasattr(caught.value, "__notes__")
    assert pool.statistics().in_use == 0


@pytest.mark.parametrize("make", POOLS)
def test_a_lease_ends_once(make):
    lease = make(1).acquire()
    with lease as item:
        lease.release()
    assert item is not None
    for use in (lease.release, lease.__enter__, lambda: lease.stream, lambda: lease.event):
        with pytest.raises((DeviceError, AttributeError), match=r"has ended|no attribute"):
            use()


def test_events_of_ended_leases_are_refused():
    pool, other = cuda.event_pool(1), cuda.event()
    other.record()
    with pool.acquire() as event:
        event.record()
    uses = (event.record, event.query, event.synchronize, event.wait, lambda: event.handle)
    for use in (*uses, lambda: event.elapsed_ms(other), lambda: other.elapsed_ms(event)):
        with pytest.raises(DeviceError, match="lease has ended"):
            use()
    assert "leased" in repr(event)
    lost = pool.acquire().event
    with pytest.raises(DeviceError, match="lease has ended"):
        lost.record()


@pytest.mark.parametrize("make", POOLS)
@pytest.mark.parametrize(
    ("count", "error"), [(0, ValueError), (-1, ValueError), (1.5, TypeError), (None, TypeError)]
)
def test_pools_without_places_are_refused(make, count, error):
    with pytest.raises(error):
        make(count)


@pytest.mark.parametrize("make", POOLS)
def test_pools_and_leases_belong_to_the_process(make):
    pool = make(1)
    for each in (pool, pool.acquire()):
        with pytest.raises(TypeError, match="where it is used"):
            pickle.dumps(each)
    assert "of 1 on" in repr(pool) and "growing" in repr(make(1, growing=True))


# --- waits, threads, garbage ---


@pytest.mark.parametrize("make", POOLS)
def test_a_lease_too_many_waits_for_the_end_of_another(make):
    pool = make(1)
    lease, done = pool.acquire(), []

    def other():
        with pool.acquire():
            done.append(pool.statistics().in_use)

    thread = threading.Thread(target=other)
    thread.start()
    until_blocked(thread)
    assert not done
    lease.release()
    thread.join(60)
    assert done == [1] and figures(pool) == (0, 1, 1, 2, 1)


@pytest.mark.parametrize("make", POOLS)
def test_a_lease_that_comes_too_late_is_an_error(make):
    pool = make(1)
    lease = pool.acquire()
    with pytest.raises(TimeoutError, match=r"within 0\.01 seconds"):
        pool.acquire(timeout=0.01)
    with pytest.raises(ValueError, match="timeout"):
        pool.acquire(timeout=-1)
    lease.release()
    with pool.acquire(timeout=0):
        assert pool.statistics().leases == 2


@pytest.mark.parametrize("make", POOLS)
def test_a_growing_pool_never_waits_and_keeps_as_many_as_it_has_places(make):
    pool = make(2, growing=True)
    for created in (5, 8):
        leases = [pool.acquire() for _ in range(5)]
        assert pool.statistics().created == created and pool.statistics().waits == 0
        for each in leases:
            each.release()


@pytest.mark.parametrize("make", POOLS)
def test_a_lease_that_is_garbage_returns_its_place(make):
    pool = make(1)
    for n in range(3):
        lease = pool.acquire()
        assert pool.statistics().in_use == 1 and pool.statistics().created == n + 1
        cycle = [lease]
        cycle.append(cycle)
        del lease, cycle
        gc.collect()
        assert pool.statistics().in_use == 0


def test_a_stream_of_a_lost_lease_is_not_leased_while_the_program_has_it():
    pool, done = cuda.stream_pool(1), threading.Event()
    stream = pool.acquire().stream
    stream.submit(lambda: done.wait(60))
    with pool.acquire() as other:
        assert other != stream and other.query()
    done.set()
    stream.synchronize()


def test_many_threads_have_each_stream_alone():
    pool, lock = cuda.stream_pool(3), threading.Lock()
    holders, most, errors = {}, [], []

    def work():
        for _ in range(50):
            with pool.acquire() as stream:
                with lock:
                    if holders.setdefault(stream.handle, threading.get_ident()) != (
                        threading.get_ident()
                    ):
                        errors.append(stream.handle)
                    most.append(len(holders))
                stream.submit(lambda: None)
                with lock:
                    del holders[stream.handle]

    threads = [threading.Thread(target=work) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    told = pool.statistics()
    assert not errors and max(most) <= 3
    assert told.in_use == 0 and told.leases == 400 and max(told.created, told.most) <= 3


def test_an_interrupted_wait_for_the_work_ends_the_lease_and_drops_its_stream(monkeypatch):
    pool = cuda.stream_pool(1)
    lease = pool.acquire()
    first = lease.stream

    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(first.native, "synchronize", interrupted)
    with pytest.raises(KeyboardInterrupt):
        lease.release()
    with pool.acquire() as stream:
        assert stream != first
    assert figures(pool) == (0, 1, 0, 2, 2)


STEPS = st.lists(
    st.one_of(
        st.just(("acquire", 0)), st.tuples(st.sampled_from(("release", "drop")), st.integers(0, 9))
    ),
    max_size=40,
)


@pytest.mark.parametrize("make", POOLS)
@given(count=st.integers(1, 4), growing=st.booleans(), steps=STEPS)
def test_the_counts_are_those_of_a_model(make, count, growing, steps):
    """The model has numbers: of leases, and of what is idle."""
    pool, leases = make(count, growing), []
    most = waits = begun = created = idle = 0
    for action, which in steps:
        if action == "acquire":
            if not growing and len(leases) == count:
                waits += 1
                with pytest.raises(TimeoutError):
                    pool.acquire(timeout=0)
                continue
            leases.append(pool.acquire())
            begun, most = begun + 1, max(most, len(leases))
            created, idle = (created, idle - 1) if idle else (created + 1, 0)
        elif leases:
            lease = leases.pop(which % len(leases))
            if action == "release":
                lease.release()
                idle = min(idle + 1, count)
            del lease
        assert figures(pool) == (len(leases), most, waits, begun, created)


FORK = """
import os, signal, sys, threading
from gridlane import cuda

pools = cuda.stream_pool(2), cuda.event_pool(2)
for pool in pools:
    pool.acquire().release()
go_on = threading.Event()

def hold():
    leases = [pool.acquire() for pool in pools]
    held.set()
    go_on.wait()

held = threading.Event()
thread = threading.Thread(target=hold, daemon=True)
thread.start()
held.wait()
own = [pool.acquire() for pool in pools]
child = os.fork()
if not child:
    signal.alarm(60)
    code = 1
    try:
        assert [pool.statistics().in_use for pool in pools] == [0, 0]
        for lease in own:
            lease.release()
        for pool in pools:
            with pool.acquire(timeout=0), pool.acquire(timeout=0):
                assert pool.statistics().in_use == pool.statistics().most == 2
            try:
                leases = [pool.acquire(timeout=0) for _ in range(3)]
            except TimeoutError:
                code = 0
            else:
                code = 2
                break
    finally:
        os._exit(code)
assert os.waitpid(child, 0)[1] == 0
assert [pool.statistics().in_use for pool in pools] == [2, 2]
go_on.set()
thread.join()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_all_places_are_free_in_the_child_of_a_fork():
    subprocess.run([sys.executable, "-c", FORK], check=True, timeout=120)
