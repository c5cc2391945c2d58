"""The hybrid logical clock: its laws, and timestamps that prove an order."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.actors.samples import Number, Total
from tests.waiting import until

from gridlane import actors
from gridlane.actors import _engine

ROOT = Path(__file__).parents[2]
TIMES = st.integers(0, 50)
CLOCKS = st.tuples(TIMES, st.integers(0, 5))


@given(CLOCKS, TIMES)
def test_an_event_is_later_than_the_one_before(clock, now):
    after = _engine.tick(*clock, now)
    assert after > clock
    assert after[0] == max(clock[0], now)


@given(CLOCKS, CLOCKS, TIMES, st.integers(0, 20))
def test_a_receipt_is_later_than_the_message_and_the_event_before(clock, seen, now, drift):
    after = _engine.merge(*clock, *seen, now, drift)
    if seen[0] - now > drift:
        assert after is None
        return
    assert after is not None and after > clock and after > seen
    assert after[0] == max(clock[0], seen[0], now)


@given(CLOCKS, CLOCKS, TIMES)
def test_a_message_more_than_the_drift_ahead_is_refused(clock, seen, now):
    """A clock that accepts messages is never more than the drift ahead of its node's times."""
    for drift in range(5):
        after = _engine.merge(*clock, *seen, now, drift)
        if after is not None:
            assert after[0] <= max(clock[0], now + drift)


NODES = 3


@given(
    st.lists(
        st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1), st.integers(-3, 8)),
        max_size=40,
    )
)
def test_what_happens_before_has_the_smaller_timestamp(history):
    """Against vector clocks: nodes send to each other, and their own times go back at will."""
    clocks = [(0, 0)] * NODES
    times = [100, 100, 100]
    vectors = [[0] * NODES for _ in range(NODES)]
    events = []

    def event(node, clock):
        vectors[node][node] += 1
        clocks[node] = clock
        events.append((clock, tuple(vectors[node])))

    for source, target, passes in history:
        times[source] += passes
        event(source, _engine.tick(*clocks[source], times[source]))
        sent, vector = clocks[source], list(vectors[source])
        if target != source:
            clock = _engine.merge(*clocks[target], *sent, times[target], 1000)
            assert clock is not None
            vectors[target] = [max(pair) for pair in zip(vectors[target], vector, strict=True)]
            event(target, clock)
    for clock, vector in events:
        for other, later in events:
            if vector != later and all(a <= b for a, b in zip(vector, later, strict=True)):
                assert clock < other


# --- timestamps of a runtime


@actors.kernel(state=Total)
def first(ctx, state, number: Number):
    ctx.send("probe", Number(number.value * 10 + 1))
    ctx.send("second", number)
    ctx.send("probe", Number(number.value * 10 + 2))


@actors.kernel(state=Total)
def second(ctx, state, number: Number):
    ctx.send("probe", Number(number.value * 10 + 3))
    ctx.send("third", number)


@actors.kernel(state=Total)
def third(ctx, state, number: Number):
    ctx.send("probe", Number(number.value * 10 + 4))


@actors.kernel
def probe(ctx, state, number: Number):
    pass


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_timestamps_prove_the_order_across_three_actors(device):
    """``probe`` takes nothing, so that its letters show when each message to it was sent."""
    with actors.Runtime(device=device) as runtime:
        _prove_the_order(runtime)


def _prove_the_order(runtime):
    for each in (probe, third, second, first):
        runtime.launch(each).activate()
    runtime["probe"].deactivate()
    for n in range(10):
        runtime["first"].send(Number(n), replies=False)
    for name in ("first", "second", "third"):
        runtime[name].terminate()
    letters = runtime.dead_letters()
    sent = {each.message(Number).value: each.header["clock"] for each in letters}
    assert len(sent) == 40
    stamps = {key: (int(at["physical"]), int(at["logical"])) for key, at in sent.items()}
    for n in range(10):
        one, after, two, three = (stamps[n * 10 + k] for k in (1, 2, 3, 4))
        assert one < two < three and one < after
        if n:
            assert stamps[n * 10 - 9] < one  # an actor's own events are in order
    nodes = {key: int(at["node"]) for key, at in sent.items()}
    assert len({nodes[1], nodes[3], nodes[4]}) == 3


def test_the_host_is_later_than_an_answer_that_it_has(on_cpu):
    """And earlier than the message that it sends next."""
    ref = on_cpu.launch(first)
    before = [on_cpu.metrics()[each] for each in ("physical", "logical")]
    on_cpu.launch(probe)
    on_cpu.launch(second)
    ref.activate()
    ref.send(Number(1), replies=False)
    after = [on_cpu.metrics()[each] for each in ("physical", "logical")]
    assert before < after


@pytest.mark.parametrize("count", [1, 7])
def test_messages_of_one_post_have_timestamps_of_their_own(on_cpu, count):
    ref = on_cpu.launch(probe)
    for _ in range(2):
        ref.post_many([Number(n) for n in range(count)])
    ref.terminate(graceful=False)
    stamps = [
        (int(each.header["clock"]["physical"]), int(each.header["clock"]["logical"]))
        for each in on_cpu.dead_letters()
    ]
    assert len(set(stamps)) == 2 * count and stamps == sorted(stamps)


# --- the time of day changes

CHANGES = """
import json, time
from tests.actors.samples import Number, total
from tests.actors.waiting import until_later
from tests.waiting import until
from gridlane import actors
from gridlane.actors import _engine

HOUR = 3600 * 10**9
with actors.Runtime(device="cpu", drift=1.0) as runtime:
    ref = runtime.launch(total)
    ref.activate()
    stamps = []

    def use():
        assert ref.call(Number(1), timeout=60).value
        facts = runtime.metrics()
        stamps.append((facts["physical"], facts["logical"]))

    use()
    _engine.shift_time(-HOUR)  # back
    runtime._home.engine.failed(0.0)  # which follows the time of day
    use()
    other = runtime.launch(total)
    other.activate()
    assert other.call(Number(5), timeout=60).value == 5
    ref.suspend()
    ref.send(Number(1), expires=0.01)
    ref.send(Number(1), expires=60)
    until_later(0.01)
    ref.resume()
    assert ref.receive(60).value == 3
    reasons = [each.reason.name for each in runtime.dead_letters()]
    _engine.shift_time(HOUR)  # ahead, which is followed
    until(lambda: _engine.now() >= time.time_ns() + HOUR - 10**9)
    use()
    _engine.shift_time(0)
    runtime._home.engine.failed(0.0)
    use()
print(json.dumps([stamps, reasons, time.time_ns()]))
"""


def test_the_time_of_day_goes_back():
    """Messages are handled, and expire when they should; timestamps go on."""
    done = subprocess.run(
        [sys.executable, "-c", CHANGES], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    stamps, reasons, now = json.loads(done.stdout)
    assert stamps == sorted(stamps)
    assert reasons == ["EXPIRED"]
    hour = 3600 * 10**9
    assert stamps[1][0] < now < stamps[2][0] < now + 2 * hour
    assert stamps[3][0] > now + hour // 2  # it never goes back


def test_the_engines_time_is_the_time_of_day():
    assert abs(_engine.now() - time.time_ns()) < 3600 * 10**9


def test_a_message_of_a_node_that_is_ahead_is_dead():
    """The drift is what a runtime says; the actor's own clock does not follow such a message."""
    with actors.Runtime(device="cpu", drift=0.5) as runtime:
        ref, ahead = runtime.launch(probe), runtime.launch(relays_to_probe)
        there = ahead._instance.there
        there.set_clock(_engine.now() + 3600 * 10**9, 0, 7)
        ref.activate()
        ahead.activate()
        ahead.send(Number(1), replies=False)
        letters = []
        until(lambda: letters.extend(runtime.dead_letters()) or letters)
        assert [each.reason for each in letters] == [actors.Reason.DRIFTED]
        assert ref._instance.there.clock[0] < _engine.now() + 10**9


@actors.kernel
def relays_to_probe(ctx, state, number: Number):
    ctx.send("probe", number)
