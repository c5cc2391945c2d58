"""Launches that are repeated: one call of C makes them all, as if each was alone."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import gridlane
from gridlane import compute, cuda
from gridlane.cuda.kernels.batches import repetition
from gridlane.runtime import observing


@cuda.jit
def append(x, count, value):
    """Write a value behind those that are there."""
    x[count[0]] = value
    count[0] += 1


@cuda.jit(debug=True)
def append_below(x, count, value, limit):
    if count[0] >= limit[0]:
        raise ValueError("no room")
    x[count[0]] = value
    count[0] += 1


@pytest.fixture(autouse=True)
def on_cpu():
    with gridlane.device("cpu"):
        yield


def some_launches(count: int):
    x, number = np.zeros(count), np.zeros(1, np.int64)
    launches = [(append[1, 1], (x, number, float(n))) for n in range(count)]
    for launch, args in launches:
        launch(*args)
    return x, number, launches


@pytest.mark.parametrize("count", [1, 2, 64, 65, 200])
def test_launches_run_in_order(count):
    x, number, launches = some_launches(count)
    repeated = repetition(launches)
    for _ in range(2):
        x[:] = number[0] = 0
        assert repeated.has_run()
        assert number[0] == count and x.tolist() == [float(n) for n in range(count)]


def test_launches_that_were_not_made_have_no_repetition():
    new = np.zeros(1, np.int8), np.zeros(1, np.int64), 1.0
    assert repetition([(append[1, 1], new)]) is None
    assert repetition([(print, ())]) is None
    with gridlane.device("interp"):
        _, _, launches = some_launches(2)
        assert repetition(launches) is None


def test_the_first_error_ends_it():
    x, number = np.zeros(200), np.zeros(1, np.int64)
    limit = np.array([1000])
    launches = [(append_below[1, 1], (x, number, float(n), limit)) for n in range(100)]
    for launch, args in launches:
        launch(*args)
    repeated = repetition(launches)
    for most in (70, 0):
        number[0], limit[0] = 0, most
        with pytest.raises(ValueError, match="no room"):
            repeated.has_run()
        assert number[0] == most
    number[0], limit[0] = 0, 100
    assert repeated.has_run() and number[0] == 100


class Watch:
    def __init__(self):
        self.seen = []

    def launched(self, launch):
        self.seen.append(launch)

    def copied(self, copy): ...

    def compiled(self, *_): ...

    def forked(self): ...


def test_observers_see_each_launch():
    x, number, launches = some_launches(3)
    repeated, watch = repetition(launches), Watch()
    x[:] = number[0] = 0
    observing.start(watch)
    try:
        assert not repeated.has_run() and number[0] == 0
    finally:
        observing.stop(watch)
    assert repeated.has_run() and number[0] == 3


def test_launches_are_delayed_where_they_are_fused():
    _, number, launches = some_launches(3)
    repeated = repetition(launches)
    number[0] = 0
    with compute.fused():
        assert not repeated.has_run()
    assert number[0] == 0


@cuda.jit
def slowly(x):
    for _ in range(3_000_000):
        x[0] += 1.0


def test_a_stream_is_waited_for():
    _, number, launches = some_launches(1)
    repeated, stream = repetition(launches), cuda.stream()
    y = cuda.to_device(np.zeros(1))
    slowly[1, 1](y)
    y[0] = 0.0
    slowly[1, 1, stream](y)
    number[0] = 0
    assert repeated.has_run() and y.copy_to_host()[0] == 3e6


def test_threads_repeat_at_once():
    all_ = [some_launches(50) for _ in range(4)]
    repeated = [repetition(launches) for _, _, launches in all_]

    def work(n):
        with gridlane.device("cpu"):
            for _ in range(20):
                all_[n][1][0] = 0
                assert repeated[n].has_run()
                time.sleep(0)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for x, number, _ in all_:
        assert number[0] == 50 and x.tolist() == [float(n) for n in range(50)]
