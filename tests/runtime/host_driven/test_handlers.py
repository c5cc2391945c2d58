"""Signal handlers and finalizers that use a device in the middle of what uses it already."""

from __future__ import annotations

import signal
import sys

import numpy as np
import pytest

from gridlane.core.errors import DeviceError
from gridlane.memory.addresses import AddressMap
from gridlane.runtime.queues.reentry import left_a_handler

ROOMS = "gridlane/runtime", "gridlane/memory"
SKIPPED = [
    function.__code__ for function in (AddressMap.find, AddressMap.remove, AddressMap.discard)
]
"""A signal can come behind calls alone, and these count on it."""


class Divides:
    def __call__(self, number, frame):
        return 1 // 0


class Interrupt:
    """Calls something once, behind so many lines that this thread runs in gridlane's runtime."""

    def __init__(self, lines, work):
        self.left, self.work = lines, work

    def __call__(self, frame, event, argument):
        file = frame.f_code.co_filename
        if not any(room in file for room in ROOMS) or frame.f_code in SKIPPED:
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                sys.settrace(None)
                self.work()
                return None
        return self


def interrupted(lines, work, handler):
    """Do some work, in the middle of which a signal handler runs; whether it did."""
    reached = []

    def raise_signal():
        reached.append(True)
        signal.raise_signal(signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, lambda number, frame: handler())
    tracing = sys.gettrace()
    sys.settrace(Interrupt(lines, raise_signal))
    try:
        work()
    finally:
        sys.settrace(tracing)
        signal.signal(signal.SIGUSR1, before)
    return bool(reached)


def read(device, buffer, n):
    target = np.zeros(n, np.int32)
    device.download(memoryview(target).cast("B"), buffer.address)
    return target


def test_a_handler_works_or_is_refused_at_every_line(device, step):
    """x = 3 x + n of the interrupted launch, and the handler's, on memory of its own."""
    size, told = 64 * 4, []
    stream, other = device.new_stream(), device.new_stream()
    mine, its = device.allocate(size), device.allocate(size)
    step(stream, mine)
    step(other, its)
    device.synchronize()
    device.fill(mine.address, 0, size)
    device.fill(its.address, 0, size)
    rounds, worked = 0, 0

    def handler():
        nonlocal worked
        try:
            step(other, its)
            worked += 1
            other.synchronize()
            told.append("works")
        except DeviceError as error:
            assert error.name == "CUDA_ERROR_NOT_PERMITTED"
            assert "signal handler" in str(error)
            told.append("refused")

    def work():
        step(stream, mine)
        stream.synchronize()

    lines = 1
    while interrupted(lines, work, handler):
        rounds += 1
        lines += 1
    assert rounds > 20
    assert set(told) == {"works", "refused"}
    wanted = np.zeros(64, np.int32)
    for _ in range(rounds + 1):  # the last one was not interrupted
        wanted = wanted * np.int32(3) + np.int32(64)
    assert (read(device, mine, 64) == wanted).all()
    wanted = np.zeros(64, np.int32)
    for _ in range(worked):
        wanted = wanted * np.int32(3) + np.int32(64)
    assert (read(device, its, 64) == wanted).all()


def test_a_handler_that_allocates_and_copies(device):
    size, refused, kept = 1000, 0, []
    source = np.arange(size, dtype=np.uint8)

    def use():
        buffer = device.allocate(size)
        device.upload(buffer.address, memoryview(source))
        target = np.zeros(size, np.uint8)
        device.download(memoryview(target), buffer.address)
        assert (target == source).all()
        kept.append(buffer)

    def handler():
        nonlocal refused
        try:
            use()
        except DeviceError as error:
            assert error.name == "CUDA_ERROR_NOT_PERMITTED"
            refused += 1

    use()
    lines = 1
    while interrupted(lines, use, handler):
        lines += 1
    assert lines > 20
    assert 0 < refused < lines - 1
    starts = [buffer.address for buffer in kept]
    assert len(set(starts)) == len(starts)


def test_a_handler_behind_a_host_function(device, step):
    """Deferred work: a handler launches, or waits, in the middle of what defers it."""
    size, told = 64 * 4, []
    its = device.allocate(size)

    def use(buffer, host_functions):
        stream = device.new_stream()
        stream.fill(buffer.address, 0, size)
        if host_functions:
            stream.submit(lambda: told.append("host"))
        step(stream, buffer)
        stream.submit(lambda: None)
        step(stream, buffer)
        stream.synchronize()
        found = read(device, buffer, 64)
        assert (found == 64 * 3 + 64).all(), found

    def handler():
        try:
            use(its, host_functions=False)
        except DeviceError as error:
            assert error.name == "CUDA_ERROR_NOT_PERMITTED"

    mine, lines = device.allocate(size), 1
    while interrupted(lines, lambda: use(mine, host_functions=True), handler):
        lines += 4
    assert len(told) == (lines + 3) / 4


@pytest.mark.parametrize(
    "handler", [lambda number, frame: 1 // 0, lambda *given: 1 // 0, Divides()]
)
def test_what_leaves_a_handler(handler):
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with pytest.raises(ZeroDivisionError) as found:
            signal.raise_signal(signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert left_a_handler(found.value)
    with pytest.raises(ZeroDivisionError) as found:
        handler(signal.SIGUSR1, None)
    assert not left_a_handler(found.value)
