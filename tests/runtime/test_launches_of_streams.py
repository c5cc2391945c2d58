"""Launches on streams of the CPU device, which C does without Python."""

import threading
import weakref

import numpy as np
import pytest
from tests.waiting import until

import gridlane
from gridlane import cuda
from gridlane.runtime import observing
from gridlane.runtime.queues import host_stream


@pytest.fixture(autouse=True)
def on_cpu():
    with gridlane.device("cpu"):
        yield


@cuda.jit
def add(x, value):
    x[cuda.grid(1)] += value


@cuda.jit(debug=True, opt=False)
def refuse(x):
    if cuda.grid(1) == 37:
        raise ValueError("a bad thread")
    x[cuda.grid(1)] += 1


def _held(stream):
    """A function that lets go of the stream's work, which is held until then."""
    gate = threading.Event()
    stream.add_callback(lambda *_: gate.wait())
    return gate.set


def test_launches_enter_no_python(monkeypatch):
    """Their parameters are those of the call, whatever the caller does with its variables later."""
    add[4, 32](cuda.to_device(np.zeros(128, np.float32)), np.float32(1))
    monkeypatch.delattr(host_stream._Launch, "__call__")
    stream, x = cuda.stream(), cuda.to_device(np.zeros(128, np.float32))
    go = _held(stream)
    for n in range(100):
        add[4, 32, stream](x, np.float32(n))
    go()
    stream.synchronize()
    assert (x.copy_to_host() == 4950).all()


def test_arrays_live_until_the_launch_is_over():
    stream, x = cuda.stream(), cuda.to_device(np.zeros(128, np.float32))
    add[4, 32, stream](x, np.float32(0))
    stream.synchronize()
    y = cuda.to_device(np.zeros(128, np.float32))
    alive = weakref.ref(y)
    go = _held(stream)
    add[4, 32, stream](y, np.float32(1))
    del y
    assert alive() is not None
    go()
    stream.synchronize()
    assert alive() is None


def test_arrays_are_freed_without_a_wait():
    stream, x = cuda.stream(), cuda.to_device(np.zeros(128, np.float32))
    add[4, 32, stream](x, np.float32(1))
    alive = weakref.ref(x)
    del x
    until(lambda: alive() is None)


def test_the_error_of_a_launch():
    """It is that of the same launch on the default stream. The stream drops what is behind it."""
    x = cuda.to_device(np.zeros(128, np.float32))
    with pytest.raises(ValueError, match="a bad thread") as expected:
        refuse[4, 32](x)
        cuda.synchronize()
    stream = cuda.stream()
    alive = []
    x = cuda.to_device(np.zeros(128, np.float32))
    for _ in range(3):
        refuse[4, 32, stream](x)
        y = cuda.to_device(np.zeros(128, np.float32))
        add[4, 32, stream](y, np.float32(1))
        alive.append(weakref.ref(y))
        with pytest.raises(ValueError, match="a bad thread") as found:
            stream.synchronize()
        assert str(found.value) == str(expected.value)
        assert not y.copy_to_host().any()
        del y
    assert not any(each() for each in alive)


def test_observed_launches():
    """An observer sees launches of streams, as these are Python's then."""
    stream, x = cuda.stream(), cuda.to_device(np.zeros(128, np.float32))
    add[4, 32, stream](x, np.float32(1))
    stream.synchronize()
    seen = []

    class Observer(observing.Observer):
        def launched(self, launch, /):
            seen.append(launch.grid)

    observer = Observer()
    observing.start(observer)
    add[4, 32, stream](x, np.float32(1))
    stream.synchronize()
    observing.stop(observer)
    add[4, 32, stream](x, np.float32(1))
    stream.synchronize()
    assert seen == [(4, 1, 1)] and (x.copy_to_host() == 3).all()
