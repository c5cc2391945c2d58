"""Launches on streams of the CPU device, which C does without Python."""

import gc
import threading
import weakref

import numpy as np
import pytest
from tests.waiting import until

import gridlane
from gridlane import cuda
from gridlane.runtime import observing
from gridlane.runtime.queues import host_stream
from gridlane.runtime.queues.native_queues import native


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


def _graph(stream, *launches):
    """The executable graph of functions that launch on a stream."""
    with cuda.capture(stream) as graph:
        for launch in launches:
            launch()
    return graph.instantiate()


def test_launches_of_graphs_enter_no_python(monkeypatch):
    """Work of Python between them keeps its place."""
    stream, x = cuda.stream(), cuda.to_device(np.zeros(128, np.float32))
    seen = []
    graph = _graph(
        stream,
        lambda: add[4, 32, stream](x, np.float32(1)),
        lambda: stream.add_callback(lambda *_: seen.append(float(x.copy_to_host()[0]))),
        lambda: add[4, 32, stream](x, np.float32(2)),
    )
    monkeypatch.delattr(host_stream._Launch, "__call__")
    for _ in range(50):
        graph.launch(stream)
    stream.synchronize()
    assert seen == [3.0 * n + 1 for n in range(50)] and (x.copy_to_host() == 150).all()


def test_the_error_of_a_graphs_launch():
    """The stream drops what is behind it; the graph is as good as before."""
    stream, x = cuda.stream(), cuda.to_device(np.zeros(128, np.float32))
    y = cuda.to_device(np.zeros(128, np.float32))
    graph = _graph(
        stream,
        lambda: add[4, 32, stream](y, np.float32(1)),
        lambda: refuse[4, 32, stream](x),
        lambda: add[4, 32, stream](y, np.float32(10)),
    )
    for n in range(1, 4):
        graph.launch(stream)
        with pytest.raises(ValueError, match="a bad thread"):
            stream.synchronize()
        assert (y.copy_to_host() == n).all()


def test_arrays_of_a_graph_live_until_its_launches_are_over():
    stream, x = cuda.stream(), cuda.to_device(np.zeros(128, np.float32))
    add[4, 32, stream](x, np.float32(0))
    stream.synchronize()
    alive = weakref.ref(x)
    graph = _graph(stream, lambda x=x: add[4, 32, stream](x, np.float32(1)))
    del x
    go = _held(stream)
    graph.launch(stream)
    del graph
    gc.collect()
    assert alive() is not None
    go()
    stream.synchronize()
    gc.collect()
    assert alive() is None


def test_what_is_no_launch_among_pieces():
    """A tuple of another length is refused, and nothing is appended."""
    queue = host_stream.HostQueue(None)
    with pytest.raises(TypeError):
        native.extend(queue.address, (lambda: None, (1, 2, 3)), (0, 0))
    with pytest.raises(TypeError):
        native.extend(queue.address, (lambda: None, (None, 0, 0, "text", 1, 1, 1, 0)), (0, 0))
    assert not queue.pending
