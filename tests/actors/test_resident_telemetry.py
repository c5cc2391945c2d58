"""What the host tells of actors whose kernels do not end, on the CPU's stand-in for a GPU."""

from __future__ import annotations

import asyncio
import json
import threading
import time

import numpy as np
import pytest
from tests.actors.samples import Number, total
from tests.actors.waiting import until_ways_are_open
from tests.devices import DEVICES
from tests.waiting import until

from gridlane import actors, cuda
from gridlane.actors.device.resident_times import bucket_of
from gridlane.actors.layouts.blocks import BUCKETS
from gridlane.actors.resident import residence
from gridlane.actors.values.latencies import ENDS
from gridlane.cuda import int64
from gridlane.frontends.python.stubs import nanoseconds

WAIT = 60


@pytest.fixture
def runtime(monkeypatch):
    """A runtime whose kernels stay."""
    monkeypatch.setattr(residence, "ON_CPU", True)
    with actors.Runtime("cpu", persistent=True, watchdog=None) as made:
        yield made


def test_latencies_of_callers(runtime):
    """Their calls, and how long their messages waited; what others post is not measured."""
    ref = runtime.launch(total)
    ref.activate()
    for n in range(5):
        ref.call(Number(n), timeout=WAIT)
    ref.send(Number(1), replies=False)

    async def ask():
        await ref.acall(Number(1), timeout=WAIT)

    asyncio.run(ask())
    found = ref.latencies()
    counts = {name: each.count for name, each in found.items()}
    assert counts == {"wait": 5, "handling": 0, "calls": 6}
    assert 0 < found["calls"].p50 <= found["calls"].largest
    assert found["wait"].largest <= found["calls"].largest


def test_the_wait_is_the_time_before_the_kernel_takes_a_message(runtime):
    ref = runtime.launch(total)
    before = time.monotonic()
    ref.activate()
    ref.call(Number(1), timeout=WAIT)
    late = time.monotonic() - before  # at most: the kernel's clock begins when it runs
    ref.suspend()
    thread = threading.Thread(target=lambda: ref.call(Number(1), timeout=WAIT))
    thread.start()
    until(lambda: ref.metrics()["waiting"])
    time.sleep(late + 0.05)
    ref.resume()
    thread.join()
    found = ref.latencies()
    assert found["wait"].largest >= 0.05
    assert found["calls"].largest >= found["wait"].largest


def test_a_call_that_fails_is_not_counted(runtime):
    ref = runtime.launch(total, restart="fresh")
    ref.activate()
    with pytest.raises(ValueError, match="negative"):
        ref.call(Number(-1), timeout=WAIT)
    assert {each.count for each in ref.latencies().values()} == {0}


def test_a_trace_has_the_messages_of_the_host(runtime, tmp_path):
    path = tmp_path / "trace.json"
    ref = runtime.launch(total, capacity=64)
    ref.activate()
    ref.call(Number(1), timeout=WAIT)
    with runtime.tracing(path):
        for n in range(3):
            ref.call(Number(n), timeout=WAIT)
        ref.send(Number(1), replies=False)
        ref.post_many([Number(n) for n in range(4)])
        end = time.monotonic() + WAIT
        while ref.metrics()["received"] < 9:
            assert time.monotonic() < end
    events = json.loads(path.read_text())["traceEvents"]
    boxes = [each for each in events if each["ph"] == "X"]
    posts = [each for each in boxes if each["name"] == "to total"]
    handled = [each for each in boxes if each["name"] == "of host" and each["tid"] == ref.id]
    answers = [each for each in boxes if each["name"] == "to host"]
    assert (len(posts), len(handled), len(answers)) == (8, 8, 3)
    spans = {each["args"]["span"]: each for each in posts}
    assert len(spans) == 8
    for each in handled:
        post = spans[each["args"]["span"]]
        assert each["args"]["trace"] == post["args"]["trace"]
        assert each["ts"] + each["dur"] >= post["ts"]
    assert {each["args"]["trace"] for each in answers} <= {each["args"]["trace"] for each in posts}


def test_a_trace_has_what_is_handled_before_its_end(runtime, tmp_path):
    """Also where the engine's thread has not looked since then."""
    ref = runtime.launch(total)
    ref.activate()
    for n in range(1, 31):
        with runtime.tracing(tmp_path / "a"):
            ref.send(Number(1), replies=False)
            while ref.metrics()["received"] < n:
                pass
        events = json.loads((tmp_path / "a").read_text())["traceEvents"]
        assert [each["name"] for each in events if each["ph"] == "f"] == ["message"], n


@pytest.fixture(params=["cpu", *({"cuda"} & {*DEVICES})])
def timed(request, monkeypatch):
    """A runtime whose kernels count times."""
    monkeypatch.setattr(residence, "ON_CPU", True)
    with actors.Runtime(request.param, persistent=True, watchdog=None, telemetry=True) as made:
        yield made


def counts_of(ref):
    return {name: each.count for name, each in ref.latencies().items()}


def test_a_kernel_counts_all_messages(timed):
    """Those of calls once, those that a handler fails at not as handled."""
    ref = timed.launch(total, restart="fresh")
    ref.activate()
    for n in range(5):
        ref.call(Number(n), timeout=WAIT)
    ref.post_many([Number(n) for n in range(40)])
    until(lambda: counts_of(ref) == {"wait": 45, "handling": 45, "calls": 5})
    with pytest.raises(ValueError, match="negative"):
        ref.call(Number(-1), timeout=WAIT)
    until(lambda: ref.metrics()["restarts"] == 1)
    ref.call(Number(1), timeout=WAIT)  # the kernel goes on with its counts
    until(lambda: counts_of(ref) == {"wait": 47, "handling": 46, "calls": 6})
    found = ref.latencies()
    assert 0 < found["handling"].mean <= found["handling"].largest < found["calls"].largest


@actors.message
class Nap:
    nanoseconds: int64


@actors.kernel(replies=Nap)
def sleeper(ctx, state, nap: Nap):
    """Is busy for so long, and says how long that was."""
    begin = nanoseconds()
    while nanoseconds() - begin < nap.nanoseconds:
        cuda.threadfence_block()
    ctx.reply(Nap(nanoseconds() - begin))


@actors.kernel(replies=Nap, threads=64)
def sleepers(ctx, state, nap: Nap):
    """The last thread is busy for so long."""
    if ctx.thread == 63:
        begin = nanoseconds()
        while nanoseconds() - begin < nap.nanoseconds:
            cuda.threadfence_block()
        ctx.reply(Nap(nanoseconds() - begin))


@pytest.mark.parametrize("handler", [sleeper, sleepers])
def test_the_time_of_handling_is_that_of_the_handler(timed, handler):
    ref = timed.launch(handler)
    ref.activate()
    times = [ref.call(Nap(n), timeout=WAIT).nanoseconds for n in (20_000, 50_000_000, 2_000_000)]
    until(lambda: counts_of(ref)["handling"] == 3)
    found = ref.latencies()["handling"]
    assert found.largest * 1e9 >= max(times)
    assert found.mean * 3e9 >= sum(times)
    assert found.largest <= ref.latencies()["calls"].largest
    places = np.repeat(np.arange(BUCKETS), found.buckets.astype(int))
    assert all(ENDS[place] > time for place, time in zip(places, sorted(times), strict=True))


@actors.kernel
def to_sleeper(ctx, state, nap: Nap):
    ctx.send("naps", nap)


@actors.kernel
def napping(ctx, state, nap: Nap):
    begin = nanoseconds()
    while nanoseconds() - begin < nap.nanoseconds:
        cuda.threadfence_block()


def test_messages_from_kernel_to_kernel_have_a_wait(timed):
    """The second one waits for the first one's end, on the way without the host."""
    ref = timed.launch(napping, name="naps")
    source = timed.launch(to_sleeper)
    for each in (ref, source):
        each.activate()
    until_ways_are_open(timed)
    began = time.monotonic()
    ref.suspend()
    for n in (40_000_000, 1000, 1000):
        source.send(Nap(n), replies=False)
    until(lambda: source.metrics()["received"] == 3)
    ref.resume()
    until(lambda: counts_of(ref) == {"wait": 3, "handling": 3, "calls": 0})
    found = ref.latencies()
    assert 0.04 <= found["wait"].largest < time.monotonic() - began + 1
    assert found["handling"].largest >= 0.04
    assert not timed.dead_letters()


def test_the_buckets_of_the_device_are_the_engines():
    def places(out, times):
        i = cuda.grid(1)
        out[i] = bucket_of(times[i])

    steps = np.array([1, 1.24, 1.26, 1.49, 1.51, 1.74, 1.76, 1.999])
    times = (2.0 ** np.arange(-1, 44)[:, None] * steps).astype(np.int64).ravel()
    out = np.zeros(times.size, np.int32)
    cuda.jit(places)[times.size // 8, 8](out, times)
    assert out.tolist() == np.minimum(np.searchsorted(ENDS, times, "right"), BUCKETS - 1).tolist()
