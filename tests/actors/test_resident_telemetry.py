"""What the host tells of actors whose kernels do not end, on the CPU's stand-in for a GPU."""

from __future__ import annotations

import asyncio
import json
import threading
import time

import pytest
from tests.actors.samples import Number, total

from gridlane import actors
from gridlane.actors import residence

WAIT = 20


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
    ref.activate()
    ref.call(Number(1), timeout=WAIT)
    ref.suspend()
    thread = threading.Thread(target=lambda: ref.call(Number(1), timeout=WAIT))
    thread.start()
    while not ref.metrics()["waiting"]:
        time.sleep(0.001)
    time.sleep(0.1)
    ref.resume()
    thread.join()
    found = ref.latencies()
    assert found["wait"].largest >= 0.03  # the kernel's clock may be late
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
        time.sleep(0.02)  # the engine's thread looks
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
