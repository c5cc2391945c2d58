"""Many calls, many actors, many launches: what they cost stays flat."""

from __future__ import annotations

import gc
import os
import resource

import pytest
from tests.actors.samples import Number, Total, total
from tests.effort import examples
from tests.waiting import until

from gridlane import actors


def resident() -> int:
    """The resident bytes of this process."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


linux = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux's /proc")


@actors.kernel(state=Total, replies=Number)
def echo(ctx, state, number: Number):
    state.seen += 1
    ctx.reply(number)


@linux
def test_many_short_calls(on_cpu):
    ref = on_cpu.launch(echo)
    ref.activate()
    count = examples(2000, 100_000)
    for n in range(1000):
        ref.call(Number(n))
    before = resident()
    for n in range(count):
        assert ref.call(Number(n)).value == n
    assert resident() - before < 4 << 20
    assert ref.read_state().seen == count + 1000
    assert on_cpu.dead_letters() == []


@linux
def test_many_launches_and_ends(on_cpu):
    """The memory of ended actors is used again."""

    def launch(count):
        for n in range(count):
            ref = on_cpu.launch(echo)
            ref.activate()
            ref.send(Number(n), replies=False)
            ref.terminate()
        gc.collect()

    launch(200)
    before = resident()
    launch(examples(200, 10_000))
    assert resident() - before < 8 << 20
    assert on_cpu.actors() == []
    assert len(on_cpu._home.directory._retired) < 200


@linux
def test_subscriptions_that_come_and_go(on_cpu):
    """Older tables are freed."""
    on_cpu.topic("a.b", Number)
    ref = on_cpu.launch(total)

    def change(count):
        for _ in range(count):
            on_cpu.subscribe(ref, "a.*")
            on_cpu.unsubscribe(ref, "a.*")

    change(500)
    before = resident()
    change(1000)
    assert resident() - before < 1 << 20


def test_many_actors_and_idle_threads():
    """Idle workers are parked: no step and no wake is made while nothing comes."""
    count = examples(300, 10_000)
    with actors.Runtime(device="cpu") as runtime:
        refs = [runtime.launch(echo, capacity=16, outbox=16) for _ in range(count)]
        for ref in refs:
            ref.activate()
        for n, ref in enumerate(refs[:: count // 100]):
            assert ref.call(Number(n), timeout=60).value == n
        until(lambda: runtime.metrics()["parked"] == runtime.metrics()["workers"])
        assert len({ref.name for ref in refs}) == count
        assert sum(ref.read_state().seen for ref in refs) == 100


@pytest.mark.nightly
def test_no_more_actors_than_the_run_queue_holds():
    """Where each is in it once, it is never full."""
    from gridlane.actors import _engine

    engine = _engine.Engine(0, 100, 1, 10**9, 16, 0)
    options = (2, 64, 1, 1, 64, 1, 1, 96, 0, 1)
    for n in range(1 << 16):
        engine.actor(n + 1, *options)
    with pytest.raises(RuntimeError, match="65536 actors at most"):
        engine.actor(1 << 17, *options)
    engine.close()
