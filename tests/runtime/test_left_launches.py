"""Kernels of the default stream that wait for the host, and what comes after them."""

from __future__ import annotations

import os

import numpy as np
import pytest

from gridlane import cuda
from gridlane.core.config import Config
from gridlane.launch import current
from gridlane.launch.devices import get_device

FLAG, SEEN = 0, 1


@pytest.fixture(autouse=True)
def device():
    found = get_device("cpu")
    current.choose(found)
    yield found
    found.synchronize()


@pytest.fixture
def flag():
    made = cuda.mapped_array(2, np.int32)
    made[:] = 0
    return made


@cuda.jit
def wait(flag, out):
    while cuda.atomic.add(flag, FLAG, 0) == 0:
        pass
    out[0] += flag[FLAG]
    flag[SEEN] = 1


@cuda.jit
def add(out, n):
    out[0] += n


def counter():
    return cuda.to_device(np.zeros(1, np.int32))


def test_the_host_ends_the_wait(flag):
    out = counter()
    wait[1, 1](flag, out)
    assert flag[SEEN] == 0 and not cuda.default_stream().native.query()
    flag[FLAG] = 3
    cuda.synchronize()
    assert flag[SEEN] == 1 and out.copy_to_host() == 3


def test_later_work_of_the_default_stream_comes_after(flag):
    out, event, called = counter(), cuda.event(), []
    add[1, 1](out, 1)  # its plan is known
    wait[1, 1](flag, out)
    event.record()
    add[1, 1](out, 10)
    cuda.default_stream().add_callback(lambda *_: called.append(flag[SEEN]))
    assert not event.query() and not called
    flag[FLAG] = 5
    event.synchronize()
    assert flag[SEEN] == 1
    assert out.copy_to_host() == 16 and called == [1]
    add[1, 1](out, 1)
    assert out.copy_to_host() == 17 and cuda.default_stream().native.queue is None


def test_other_streams_come_in_order(flag):
    out, stream, gate = counter(), cuda.stream(), cuda.mapped_array(2, np.int32)
    gate[:] = 0
    wait[1, 1, stream](gate, out)  # the default stream comes after it
    wait[1, 1](flag, out)
    add[1, 1, stream](out, 100)  # and this after the default stream
    flag[FLAG] = 7
    assert flag[SEEN] == 0 and not stream.native.query()
    gate[FLAG] = 1
    stream.synchronize()
    assert flag[SEEN] == 1 and out.copy_to_host() == 108


def test_the_default_stream_comes_after_a_stream_that_waits(flag):
    out, stream = counter(), cuda.stream()
    add[1, 1](out, 1)  # its plan is known
    wait[1, 1, stream](flag, out)
    add[1, 1](out, 10)  # returns at once
    assert flag[SEEN] == 0 and not cuda.default_stream().native.query()
    flag[FLAG] = 5
    cuda.default_stream().synchronize()
    assert flag[SEEN] == 1 and out.copy_to_host() == 16


def test_arrays_of_the_caller_are_waited_for():
    host, out = np.array([4, 0], np.int32), np.zeros(1, np.int32)
    cuda.mapped_array(1, np.int32)  # so that kernels that wait are left to a thread
    wait[1, 1](host, out)
    assert host.tolist() == [4, 1] and out[0] == 4


def limited(monkeypatch, nanoseconds, seen):
    """A kernel that waits, compiled with another limit of its waits. No other has its text."""
    monkeypatch.setattr(Config, "spin_nanoseconds", nanoseconds)
    monkeypatch.setattr("gridlane.compiler.default_cache", lambda: None)

    @cuda.jit
    def kernel(flag, out):
        while cuda.atomic.add(flag, FLAG, 0) == 0:
            pass
        out[0] += flag[FLAG]
        flag[SEEN] = seen

    return kernel


def test_its_error_is_raised_by_a_wait(flag, monkeypatch):
    out, kernel = counter(), limited(monkeypatch, 50_000_000, 50)
    kernel[1, 1](flag, out)
    with pytest.raises(RuntimeError, match=r"waited in this loop for 0.05 s"):
        cuda.synchronize()
    cuda.synchronize()
    kernel[1, 1](flag, out)
    with pytest.raises(RuntimeError, match="waited in this loop"):
        cuda.default_stream().synchronize()


def test_its_error_is_raised_by_a_copy_to_the_host(flag, monkeypatch):
    out, kernel = counter(), limited(monkeypatch, 50_000_000, 70)
    kernel[1, 1](flag, out)
    with pytest.raises(RuntimeError, match="waited in this loop"):
        out.copy_to_host()
    assert out.copy_to_host() == 0
    cuda.synchronize()


def test_without_a_limit_it_waits_for_the_host_as_well(flag, monkeypatch):
    out, kernel = counter(), limited(monkeypatch, 0, 60)
    kernel[1, 1](flag, out)
    flag[FLAG] = 2
    cuda.synchronize()
    assert out.copy_to_host() == 2 and flag[SEEN] == 60


def test_a_launch_of_a_graph_is_left_to_the_thread(flag):
    out, stream = counter(), cuda.stream()
    with cuda.capture(stream) as graph:
        wait[1, 1, stream](flag, out)
        add[1, 1, stream](out, 1)
    graph.instantiate().launch()
    assert flag[SEEN] == 0
    flag[FLAG] = 1
    assert out.copy_to_host() == 2


def test_a_child_of_a_fork_does_not_wait(flag):
    out = counter()
    wait[1, 1](flag, out)
    child = os.fork()
    if not child:
        try:
            add[1, 1](out, 1)
            os._exit(0 if flag[SEEN] == 0 else 1)
        finally:
            os._exit(2)
    flag[FLAG] = 1
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    cuda.synchronize()
    assert flag[SEEN] == 1
