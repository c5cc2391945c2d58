"""Launches that are submitted at once, by command buffers that are kept; in C and in Python."""

from __future__ import annotations

import gc
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from tests.runtime.arrays import params, to_device, words
from tests.runtime.vulkan import recording
from tests.runtime.vulkan.shaders import kernel

from gridlane.core.errors import DeviceError
from gridlane.runtime.drivers.vulkan import _commands
from gridlane.runtime.drivers.vulkan.commands import PythonCommands
from gridlane.runtime.drivers.vulkan.recorder import VulkanRecorder
from gridlane.runtime.queues.host_driven_recorder import Recorder

STEP = "values: uint64_t, n: uint32_t", "if (i < 64) at(values, i) = at(values, i) * 3 + n;"


@pytest.fixture(params=["native", "python"])
def idle(request, device):
    """A device that submits launches at once."""
    recorder = device.recorder
    assert type(recorder.commands) is _commands.Commands
    if request.param == "python":
        recorder.commands = PythonCommands(device.context.vk, *recorder.submission.handles)
    recorder.at_once = True
    return device


@pytest.fixture
def step(idle):
    artifact = kernel(*STEP)
    bound = idle.load(artifact).bind((64, 1, 1))

    def launch(stream, buffer, n, blocks=1):
        stream.launch(bound, params(artifact, buffer, n), blocks, 1, 1, 0)

    return launch


def expected(numbers) -> np.ndarray:
    value = np.zeros(64, np.uint32)
    for n in numbers:
        value = value * np.uint32(3) + np.uint32(n)
    return value


def test_other_parameters_by_the_same_commands(idle, step, monkeypatch):
    calls = recording.count(idle, monkeypatch, "launch", "submit", "submit_again")
    buffer = to_device(idle, np.zeros(64, np.uint32))
    idle.synchronize()
    for _ in range(2):  # the first waits for the copy, by a barrier
        step(idle.default_stream, buffer, 0)
        idle.synchronize()
    calls.clear()
    for n in range(20):
        step(idle.default_stream, buffer, n)
        idle.synchronize()
    assert calls == ["submit_again"] * 20
    assert (words(idle, buffer) == expected([0, 0, *range(20)])).all()


def test_launches_behind_one_in_flight_are_recorded(idle, step, monkeypatch):
    buffer = to_device(idle, np.zeros(64, np.uint32))
    idle.synchronize()
    calls = recording.count(idle, monkeypatch, "submit", "submit_again")
    for n in range(100):
        step(idle.default_stream, buffer, n)
    idle.synchronize()
    assert calls.count("submit_again") == 1 and calls.count("submit") == 2
    assert (words(idle, buffer) == expected(range(100))).all()


def test_streams_in_turns(idle, step):
    """What depends on what another stream submitted at once."""
    buffer = to_device(idle, np.zeros(64, np.uint32))
    first, second, event = idle.new_stream(), idle.new_stream(), idle.new_event()
    numbers = []
    for n in range(0, 60, 6):
        step(first, buffer, n)
        if n % 4:
            first.synchronize()
        event.record(first)
        event.wait(second)
        step(second, buffer, n + 1)
        second.synchronize()
        step(second, buffer, n + 2)
        step(idle.default_stream, buffer, n + 3)
        if n % 5:
            idle.synchronize()
        step(first, buffer, n + 4)
        step(first, buffer, n + 5)
        first.synchronize()
        numbers += range(n, n + 6)
    assert (words(idle, buffer) == expected(numbers)).all()


def test_more_grids_than_are_kept(idle, step):
    buffer = to_device(idle, np.zeros(64, np.uint32))
    numbers = [*range(1, 80), *range(1, 80)]
    for n in numbers:
        step(idle.default_stream, buffer, n, blocks=n)
        idle.synchronize()
    assert (words(idle, buffer) == expected(numbers)).all()
    assert len(idle.recorder._batches._all) < 40


def test_a_pipeline_that_ends_takes_its_commands_along(idle, living):
    """A driver may give the next pipeline its number."""
    buffer = to_device(idle, np.zeros(64, np.uint32))
    for n in range(1, 6):
        artifact = kernel("values: uint64_t", f"if (i < 64) at(values, i) += {n};")
        bound = idle.load(artifact).bind((64, 1, 1))
        bound.launch(params(artifact, buffer), 1, 1, 1, 0)
        idle.synchronize()
        del bound
        gc.collect()
        idle.synchronize()
        assert not idle.recorder._batches._kept and not living["Pipeline"]
    assert (words(idle, buffer) == 15).all()


@pytest.mark.parametrize("most", [(7, 2, 1), (1, 1, 1)])
def test_a_grid_in_parts(idle, most):
    idle.recorder._most, idle.recorder._whole = most, min(most)
    artifact = kernel("values: uint64_t", "atomicAdd(at(values, 0), 1);")
    bound = idle.load(artifact).bind((1, 1, 1))
    buffer = to_device(idle, np.zeros(64, np.uint32))
    for n in range(1, 4):
        idle.synchronize()
        bound.launch(params(artifact, buffer), 9, 3, 2, 0)
        assert words(idle, buffer)[0] == 54 * n


def test_parameters_of_any_size(idle):
    idle.synchronize()
    artifact = kernel(*STEP)
    bound = idle.load(artifact).bind((64, 1, 1))
    with pytest.raises(DeviceError, match="131073 bytes of parameters; the most is 131072"):
        bound.launch(bytes(131073), 1, 1, 1, 0)
    buffer = to_device(idle, np.zeros(64, np.uint32))
    bound.launch(params(artifact, buffer, 5) + bytes(60000), 1, 1, 1, 0)
    assert (words(idle, buffer) == 5).all()


def test_a_submission_that_fails(idle, step, monkeypatch):
    buffer = to_device(idle, np.zeros(64, np.uint32))
    idle.synchronize()
    recording.replace(idle, monkeypatch, submit_again=lambda *args: -4)
    with pytest.raises(DeviceError, match=r"719.*vkQueueSubmit"):
        step(idle.default_stream, buffer, 1)


def test_threads(idle, step):
    """Each with its stream and array."""
    results = {}

    def work(number):
        stream, buffer = idle.new_stream(), to_device(idle, np.zeros(64, np.uint32))
        for n in range(100):
            step(stream, buffer, n, blocks=1 + n % 3)
            if n % 7 == number:
                stream.synchronize()
        stream.synchronize()
        results[number] = words(idle, buffer)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert all((found == expected(range(100))).all() for found in results.values())


def test_polls(idle, step):
    buffer = to_device(idle, np.zeros(64, np.uint32))
    step(idle.default_stream, buffer, 1)
    idle.synchronize()
    commands, done = idle.recorder.commands, idle.recorder.last
    assert commands.poll(done, 0) == done == commands.poll(done + 1, 1000)
    commands.end()
    assert commands.poll(done, 0) == -4


def test_polls_of_two_threads(device):
    """The number of a query that has not returned is not another's: until then the validation layer
    holds that the command buffer is in use."""
    answers = iter([5, 7])

    def query(device, timeline, counter):
        counter[0] = number = next(answers)
        if number == 5:
            assert commands.poll(0, 0) == 7  # of the other thread, meanwhile
        return 0

    vk = SimpleNamespace(vkGetSemaphoreCounterValue=query)
    commands = PythonCommands(vk, *device.recorder.submission.handles)
    assert commands.poll(0, 0) == 5


@pytest.mark.parametrize("arguments", [(), (1,), (1, 2, 3), (-1, 2), ("1", 2), (1 << 64, 2)])
def test_arguments_of_another_kind(device, arguments):
    with pytest.raises((TypeError, OverflowError)):
        device.recorder.commands.poll(*arguments)


RECORDERS = Recorder.__module__, VulkanRecorder.__module__


class Raised(Exception):
    """What a signal handler raises."""


def raising_after(count):
    """A profiler that raises at a moment of the recorder at which Python handles signals: the
    beginning of a function in Python, or the end of one in C."""
    left = count

    def look(frame, event, arg):
        nonlocal left
        module = frame.f_globals["__name__"]
        if module in RECORDERS and event in ("call", "c_return"):
            left -= 1
            if left == 0:
                raise Raised

    return look


@pytest.mark.parametrize("at_once", [True, False])
def test_a_signal_handler_may_raise_at_any_moment_of_a_launch(device, at_once):
    artifact, recorder = kernel(*STEP), device.recorder
    bound, stream = device.load(artifact).bind((64, 1, 1)), device.default_stream
    buffer = to_device(device, np.zeros(64, np.uint32))
    arguments = params(artifact, buffer, 7), 1, 1, 1, 0
    recorder.at_once = at_once
    raised = []
    for count in range(1, 40):
        device.synchronize()
        sys.setprofile(raising_after(count))
        try:
            stream.launch(bound, *arguments)
            recorder.flush()
        except Raised:
            raised.append(count)
        finally:
            sys.setprofile(None)
        recorder.flush()  # every number that is waited for was submitted
        if recorder.commands.poll(recorder.last, 10**9) < recorder.last:
            device.fill(buffer.address, 0, 4)  # a later number, without which the test cannot end
            recorder.flush()
            pytest.fail(f"a number was never submitted, after an exception at moment {count}")
    assert 5 < len(raised) < 39
    device.synchronize()
    device.fill(buffer.address, 0, 256)
    stream.launch(bound, *arguments)
    assert (words(device, buffer) == 7).all()
