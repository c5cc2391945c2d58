"""An error belongs to the launch that made it: to its thread, or to its stream."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.devices import DEVICES

from gridlane import cuda
from gridlane.launch import current
from gridlane.launch.devices import get_device

THREADS, ROUNDS = 4, 6


@pytest.fixture(params=["interp", *DEVICES])
def device(request):
    return get_device(request.param)


def kernel():
    @cuda.jit(debug=True, opt=False)
    def put(x, n):
        x[n] = 1

    return put


def on_threads(device, function):
    """The results of ``function(thread, round)``, on threads that run at the same time."""
    together = threading.Barrier(THREADS)

    def rounds(thread):
        current.choose(device)
        together.wait()
        return [function(thread, n) for n in range(ROUNDS)]

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(rounds, range(THREADS)))


def raised(function, *args):
    try:
        function(*args)
    except IndexError:
        return True
    return False


def wrong(thread, n):
    return bool((thread + n) % 2)


EXPECTED = [[wrong(thread, n) for n in range(ROUNDS)] for thread in range(THREADS)]


@pytest.mark.parametrize("where", ["host", "device"])
def test_errors_of_threads_on_the_default_stream(device, where):
    current.choose(device)
    put = kernel()
    put[1, 1](np.zeros(4, np.int32), 0)  # compiled before the threads begin

    def launch(thread, n):
        array = np.zeros(4, np.int32)
        given = cuda.to_device(array) if where == "device" else array
        return raised(put[1, 1], given, 9 if wrong(thread, n) else 1)

    assert on_threads(device, launch) == EXPECTED


def test_errors_of_threads_beside_a_thread_that_waits_for_all(device):
    """Whoever waits for the device takes no error of a launch that its own thread waits for."""
    current.choose(device)
    put, seen, end = kernel(), [], threading.Event()
    put[1, 1](np.zeros(4, np.int32), 0)

    def wait():
        current.choose(device)
        while not end.is_set():
            seen.append(raised(cuda.synchronize))

    waiter = threading.Thread(target=wait)
    waiter.start()
    try:
        got = on_threads(
            device,
            lambda thread, n: raised(
                put[1, 1], np.zeros(4, np.int32), 9 if wrong(thread, n) else 1
            ),
        )
    finally:
        end.set()
        waiter.join()
    assert got == EXPECTED and not any(seen)


def test_errors_of_streams_of_threads(device):
    current.choose(device)
    put = kernel()
    put[1, 1](np.zeros(4, np.int32), 0)

    def launch(thread, n):
        stream = cuda.stream()
        array = cuda.to_device(np.zeros(4, np.int32))
        put[1, 1, stream](array, 9 if wrong(thread, n) else 1)
        return raised(stream.synchronize)

    if device.name == "cuda":
        pytest.skip("a kernel on a GPU has one report for all streams")
    assert on_threads(device, launch) == EXPECTED


def test_errors_of_streams_of_one_thread(device):
    if device.name == "cuda":
        pytest.skip("a kernel on a GPU has one report for all streams")
    current.choose(device)
    put, array = kernel(), cuda.to_device(np.zeros(4, np.int32))
    good, bad = cuda.stream(), cuda.stream()
    put[1, 1, bad](array, 9)
    put[1, 1, good](array, 1)
    put[1, 1](array, 2)  # waits for both, and has no error of its own
    assert array.copy_to_host().tolist() == [0, 1, 1, 0]
    assert array.copy_to_host(stream=good).tolist() == [0, 1, 1, 0]
    assert not raised(good.synchronize)
    assert raised(bad.synchronize) and not raised(bad.synchronize)
    put[1, 1, bad](array, 9)
    assert raised(put[1, 1], array, 10) and raised(cuda.synchronize)
    assert not raised(cuda.synchronize) and not raised(bad.synchronize)


def test_errors_of_graphs(device):
    if device.name == "cuda":
        pytest.skip("a kernel on a GPU has one report for all streams")
    current.choose(device)
    put, array = kernel(), cuda.to_device(np.zeros(4, np.int32))
    put[1, 1](array, 0)
    first, second = cuda.stream(), cuda.stream()
    graphs = []
    for index in (9, 1):
        with cuda.capture(first) as graph:
            put[1, 1, first](array, index)
        graphs.append(graph.instantiate())
    bad, good = graphs
    bad.launch(second)
    good.launch(first)
    assert not raised(first.synchronize) and raised(second.synchronize)
    assert raised(bad.launch) and not raised(good.launch) and not raised(cuda.synchronize)
