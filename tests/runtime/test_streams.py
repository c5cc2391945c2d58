"""Streams run work in order and report errors where they are waited for."""

from __future__ import annotations

import gc
import itertools
import threading
import time
import weakref
from contextlib import suppress

import pytest
from tests.waiting import until, until_blocked, when_blocked

from gridlane.core.errors import DeviceError
from gridlane.runtime.drivers.cpu import CpuDevice
from gridlane.runtime.queues.host_event import HostEvent as Event
from gridlane.runtime.queues.host_queue import BUSY
from gridlane.runtime.queues.software_queue import SoftwareQueue

DEVICE = CpuDevice()
DEFAULT = DEVICE.default_stream
Stream = DEVICE.new_stream


def test_work_runs_in_order_on_one_thread():
    stream, seen = Stream(), []
    for n in range(100):
        stream.submit(lambda n=n: seen.append((n, threading.get_ident())))
    stream.synchronize()
    assert [n for n, _ in seen] == list(range(100))
    assert len({thread for _, thread in seen}) == 1
    assert seen[0][1] != threading.get_ident()


def test_an_error_drops_what_follows_and_surfaces_once():
    stream, seen = Stream(), []
    stream.submit(lambda: 1 / 0)
    stream.submit(lambda: seen.append("dropped"))
    stream.submit(lambda: seen.append("always"), always=True)
    with pytest.raises(ZeroDivisionError):
        stream.synchronize()
    stream.submit(lambda: seen.append("after"))
    stream.synchronize()
    assert seen == ["always", "after"]


def test_who_reads_is_told_the_error_once():
    stream = Stream()
    data = DEVICE.allocate(4)
    DEVICE.fill(data.address, 7, 4)
    stream.submit(lambda: 1 / 0)
    target = bytearray(4)
    with pytest.raises(ZeroDivisionError):
        stream.read(memoryview(target), data.address)
    assert target == bytes(4)
    stream.read(memoryview(target), data.address)
    assert target == bytes([7] * 4)
    stream.synchronize()


def test_default_stream_waits_for_others_and_leaves_their_errors():
    stream, seen = Stream(), []
    stream.submit(lambda: (until_blocked(), seen.append(1)))
    stream.submit(lambda: 1 / 0)
    DEFAULT.submit(lambda: seen.append(2))
    assert seen == [1, 2] and not BUSY
    with pytest.raises(ZeroDivisionError):
        stream.synchronize()


def test_query():
    stream, gate = Stream(), threading.Event()
    assert stream.query()
    stream.submit(gate.wait)
    assert not stream.query() and not DEFAULT.query()
    gate.set()
    stream.synchronize()
    assert stream.query()


def test_waiting_for_oneself_is_an_error():
    stream = Stream()
    stream.submit(stream.synchronize)
    with pytest.raises(DeviceError, match="NOT_PERMITTED"):
        stream.synchronize()


def test_a_dropped_stream_ends_its_thread():
    stream = Stream()
    stream.submit(lambda: None)
    stream.synchronize()
    thread, ref = stream.queue.thread, weakref.ref(stream)
    del stream
    gc.collect()
    assert ref() is None
    thread.join(timeout=60)
    assert not thread.is_alive()


def test_work_is_let_go_when_it_is_done():
    class Argument:
        pass

    stream, argument = Stream(), Argument()
    ref = weakref.ref(argument)
    stream.submit(lambda argument=argument: None)
    del argument
    stream.synchronize()
    assert ref() is None


def test_events_order_streams():
    first, second, seen = Stream(), Stream(), []
    gate = threading.Event()
    first.submit(gate.wait)
    first.submit(lambda: seen.append("first"))
    event = Event()
    event.record(first)
    event.wait(second)
    second.submit(lambda: seen.append("second"))
    assert not event.query()
    gate.set()
    second.synchronize()
    assert seen == ["first", "second"] and event.query()


def test_event_times():
    """Times between events are those of the host's clock."""
    for stream in (DEFAULT, Stream()):
        start, end, work = Event(), Event(), []
        stream.submit(lambda: None)

        def two_ms(work=work):
            work.append(time.perf_counter_ns())
            while time.perf_counter_ns() < work[0] + 2_000_000:
                pass
            work.append(time.perf_counter_ns())

        before = time.perf_counter_ns()
        start.record(stream)
        stream.submit(two_ms)
        end.record(stream)
        stream.synchronize()
        most = (time.perf_counter_ns() - before) / 1e6
        assert 2 <= (work[1] - work[0]) / 1e6 < start.elapsed_ms(end) < most
        assert end.elapsed_ms(start) == -start.elapsed_ms(end)


def test_an_event_of_an_idle_stream_needs_no_thread():
    stream, event = Stream(), Event()
    event.record(stream)
    assert event.query() and event.recorded and stream.queue.thread is None
    event.wait(stream)
    assert stream.query() and stream.queue.thread is None


@pytest.mark.parametrize("case", ["unrecorded", "untimed", "unready"])
def test_event_misuse(case):
    start, end = Event(), Event(timing=case != "untimed")
    start.record(DEFAULT)
    stream, gate = Stream(), threading.Event()
    if case == "untimed":
        end.record(DEFAULT)
    if case == "unready":
        stream.submit(gate.wait)
        end.record(stream)
    name = {"unrecorded": "INVALID_HANDLE", "untimed": "timing=False", "unready": "NOT_READY"}
    with pytest.raises(DeviceError, match=name[case]):
        start.elapsed_ms(end)
    gate.set()


def _ends(run):
    """Run something that may hang, on a thread; what it gave."""
    found = []
    thread = threading.Thread(target=lambda: found.append(run()), daemon=True)
    thread.start()
    thread.join(timeout=60)
    assert found, "it did not end"
    return found[0]


def test_two_callbacks_that_use_the_default_stream():
    first, second, seen = Stream(), Stream(), []
    both = threading.Barrier(2, timeout=60)

    def callback():
        both.wait()
        DEFAULT.submit(lambda: seen.append(1))

    first.submit(callback)
    second.submit(callback)
    _ends(lambda: (first.synchronize(), second.synchronize()))
    assert seen == [1, 1]


def test_a_callback_waits_for_another_stream():
    first, second, seen, gate = Stream(), Stream(), [], threading.Event()
    second.submit(gate.wait)
    second.submit(lambda: seen.append("second"))
    first.submit(lambda: (second.synchronize(), seen.append("first")))
    gate.set()
    _ends(first.synchronize)
    assert seen == ["second", "first"]


def test_callbacks_that_wait_for_each_other_are_refused():
    first, second = Stream(), Stream()
    both = threading.Barrier(2, timeout=60)
    first.submit(lambda: (both.wait(), second.synchronize()))
    second.submit(lambda: (both.wait(), first.synchronize()))
    errors = []
    for stream in first, second:
        _ends(lambda stream=stream: _error_of(stream, errors))
    assert len(errors) == 1 and "NOT_PERMITTED" in str(errors[0])


def _error_of(stream, errors):
    try:
        stream.synchronize()
    except DeviceError as error:
        errors.append(error)
    return True


def _errors_of(work, *streams):
    """The errors of work of the default stream, and of streams."""
    errors = []
    for each in (lambda: DEFAULT.submit(work), *(stream.synchronize for stream in streams)):
        try:
            each()
        except DeviceError as error:
            errors.append(str(error))
    return errors


@pytest.mark.parametrize("is_first", [True, False], ids=["waits", "has the turn"])
@pytest.mark.parametrize("between", [0, 1, 2])
def test_a_circle_through_the_default_stream_is_refused(is_first, between):
    """Work of the default stream waits for a stream, whose callback, or that of another one for
    which that waits, needs the default stream's turn."""
    streams = [Stream() for _ in range(between + 1)]
    gate, passed, seen = threading.Event(), threading.Event(), []
    threads: list[threading.Thread] = []

    def needs_turn():
        threads.append(threading.current_thread())
        gate.wait()
        passed.set()
        DEFAULT.submit(lambda: seen.append(1))

    def waits_for(other):
        threads.append(threading.current_thread())
        other.synchronize()

    def work():
        streams[-1].submit(needs_turn)
        for stream, other in reversed(list(itertools.pairwise(streams))):
            stream.submit(lambda other=other: waits_for(other))
        until(lambda: len(threads) == len(streams))
        until_blocked(*threads)
        if is_first:
            gate.set()
            assert passed.wait(60)
            until_blocked(*threads)
        else:
            when_blocked(gate.set)
        streams[0].synchronize()

    errors = _ends(lambda: _errors_of(work, *streams) or [""])
    assert len(errors) == 1 and "NOT_PERMITTED" in errors[0], errors
    DEFAULT.submit(lambda: seen.append(2))
    assert seen[-1] == 2 and len(seen) == 1 + is_first and not BUSY


@pytest.mark.parametrize("is_blocked", [False, True])
def test_a_callback_with_the_turn_waits_for_one_that_needs_it(is_blocked):
    first, second, seen = Stream(), Stream(), []
    threads: list[threading.Thread] = []

    def needs_turn():
        threads.append(threading.current_thread())
        DEFAULT.submit(lambda: seen.append(1))

    def has_turn():
        second.submit(needs_turn)
        if is_blocked:
            until(lambda: threads)
            until_blocked(*threads)
        second.synchronize()

    first.submit(lambda: DEFAULT.submit(has_turn))
    errors = _ends(lambda: _errors_of(lambda: None, first, second) or [""])
    assert len(errors) == 1 and "NOT_PERMITTED" in errors[0], errors
    DEFAULT.synchronize()


def test_copies_that_need_the_turn_are_refused():
    stream, target = Stream(), DEVICE.allocate(1)
    threads: list[threading.Thread] = []

    def needs_turn():
        threads.append(threading.current_thread())
        DEFAULT.write(target.address, memoryview(b"1"))

    def work():
        stream.submit(needs_turn)
        until(lambda: threads)
        until_blocked(*threads)
        stream.synchronize()

    errors = _ends(lambda: _errors_of(work, stream) or [""])
    assert len(errors) == 1 and "NOT_PERMITTED" in errors[0], errors


def test_an_event_of_a_stream_that_waits_is_refused():
    first, second = Stream(), Stream()
    begun, gate = threading.Event(), threading.Event()
    event = Event()
    first.submit(lambda: (begun.set(), gate.wait(), second.synchronize()))
    event.record(first)
    assert begun.wait(60)
    event.wait(second)
    gate.set()
    errors = []
    for stream in first, second:
        _ends(lambda stream=stream: _error_of(stream, errors))
    assert len(errors) == 1 and "NOT_PERMITTED" in str(errors[0])


def test_streams_take_turns_by_events():
    """A stream that need not wait any more, but has not gone on yet, is not waited for in a
    circle."""
    streams, seen, last = (Stream(), Stream(), Stream()), [], None
    for n in range(300):
        stream = streams[n % 3 if n % 4 else 0]
        if last is not None:
            last.wait(stream)
        stream.submit(lambda n=n: seen.append(n))
        last = Event(timing=False)
        last.record(stream)
    for stream in streams:
        stream.synchronize()
    assert seen == list(range(300))


def test_a_callback_waits_for_a_stream_that_waited_for_its_own():
    first, second, seen = Stream(), Stream(), []
    for n in range(100):
        reached = Event(timing=False)
        reached.record(first)
        reached.wait(second)
        second.submit(lambda n=n: seen.append(n))
        first.submit(second.synchronize)
        first.synchronize()
    assert seen == list(range(100))


def test_threads_take_turns_of_the_default_stream():
    """Work that another thread appends meanwhile comes after it, copies as well."""
    began, go_on, seen = threading.Event(), threading.Event(), []

    def first():
        began.set()
        assert go_on.wait(60)
        seen.append("first")
        DEFAULT.submit(lambda: seen.append("within"))

    def second():
        DEFAULT.write(target.address, memoryview(b"\1"))
        seen.append("copied")

    target = DEVICE.allocate(1)
    works = [lambda: DEFAULT.submit(first), lambda: DEFAULT.submit(lambda: seen.append("other"))]
    threads = [threading.Thread(target=each) for each in (*works, second)]
    threads[0].start()
    assert began.wait(60)
    for each in threads[1:]:
        each.start()
    until_blocked(*threads[1:])
    assert not seen
    go_on.set()
    for each in threads:
        each.join(60)
    assert seen[:2] == ["first", "within"] and sorted(seen[2:]) == ["copied", "other"]


def test_the_default_stream_of_a_thread_is_in_order_with_the_default_one_alone():
    other, gate, seen, mine = Stream(), threading.Event(), [], DEVICE.stream_at(2)
    other.submit(gate.wait)
    mine.submit(lambda: seen.append(1))
    mine.synchronize()
    assert seen == [1] and mine.query() and not other.query()
    mine.submit(gate.wait)
    mine.submit(lambda: seen.append(2))
    assert not mine.query()
    when_blocked(gate.set)
    DEFAULT.submit(lambda: seen.append(3))
    assert seen == [1, 2, 3]
    other.synchronize()


def test_each_thread_has_a_default_stream_on_each_device():
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(DEVICE.stream_at(2))) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    found += [DEVICE.stream_at(2), CpuDevice().stream_at(2), DEFAULT]
    assert len(set(map(id, found))) == 5 and DEVICE.stream_at(2) is found[2]


def test_the_work_of_a_thread_that_ended_is_done():
    gate, seen = threading.Event(), []

    def work() -> None:
        DEVICE.stream_at(2).submit(lambda: (gate.wait(), seen.append(1)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    when_blocked(gate.set)
    DEVICE.synchronize()
    assert seen == [1] and not BUSY


def test_a_query_starts_the_thread_that_could_not_start(monkeypatch):
    def fails(work):
        raise RuntimeError("can't start new thread")

    for asked in (
        lambda: stream.query(),
        lambda: DEFAULT.query(),
        lambda: event.query(),
        lambda: event.synchronize() or event.query(),
        lambda: event.wait(other) or other.synchronize() or event.query(),
    ):
        stream, other, seen, event = Stream(), Stream(), [], Event()
        with monkeypatch.context() as patch:
            patch.setattr("gridlane.runtime.queues.workers.run", fails)
            with pytest.raises(RuntimeError):
                stream.submit(lambda: seen.append(1))
            with pytest.raises(RuntimeError):
                event.record(stream)
            with suppress(RuntimeError):
                assert not asked()
        until(asked)
        assert seen == [1]


def test_a_query_starts_the_thread_that_an_exception_kept_from_its_start(monkeypatch):
    """As one of a signal's handler between two lines of ``append``."""

    def leaves(queue):
        raise KeyboardInterrupt

    stream, seen = Stream(), []
    with monkeypatch.context() as patch:
        patch.setattr(SoftwareQueue, "start", leaves)
        with pytest.raises(KeyboardInterrupt):
            stream.submit(lambda: seen.append(1))
    until(stream.query)
    assert seen == [1]
