"""No actor starves, by the order of their steps on one worker; and workers park."""

from __future__ import annotations

import numpy as np
import pytest
from tests.actors.samples import Ball, Number, total
from tests.waiting import until

from gridlane import actors, cuda

STREAK = 16
"""Of engine/workers.c."""
LONG = 2_000_000_000
"""More messages than there is time for."""


@pytest.fixture
def runtime():
    with actors.Runtime(device="cpu", workers=1) as made:
        yield made


@actors.kernel
def counting_player(ctx, state, ball: Ball, steps, seen):
    steps[0] += 1
    if ball.left > 0:
        ctx.send_to(ball.to, Ball(ball.left - 1, ball.back, ball.to))


@actors.kernel
def witness(ctx, state, number: Number, steps, seen):
    seen[number.value] = steps[0]


def test_two_actors_that_give_each_other_work_do_not_starve_a_third(runtime):
    """Between two of its messages they take no more turns than their streak."""
    on_device = cuda.to_device(np.zeros(1, np.int64)), cuda.to_device(np.zeros(50, np.int64))
    one, two = (
        runtime.launch(counting_player, name=name, args=on_device) for name in ("one", "two")
    )
    third = runtime.launch(witness, args=on_device, batch=1)
    for n in range(50):
        third.send(Number(n), replies=False)
    one.activate()
    two.activate()
    one.send(Ball(LONG, two.id, one.id), replies=False)
    until(lambda: one.metrics()["received"] > 10)
    third.activate()
    until(lambda: third.metrics()["received"] == 50)
    assert one.metrics()["received"] + two.metrics()["received"] < LONG  # they go on
    one.terminate(graceful=False)
    seen = third.arrays[1].copy_to_host()
    assert 0 < seen[0] and (np.diff(seen) <= 2 * STREAK).all()


@actors.kernel
def listed(ctx, state, number: Number, order):
    order[order[0]] = number.value
    order[0] += 1


def test_full_inboxes_take_turns(runtime):
    """From when all are active, each has a batch in every round."""
    count, batch, messages = 5, 4, 64
    order = cuda.to_device(np.ones(1 + count * messages, np.int64))
    refs = [
        runtime.launch(listed, name=f"a{n}", args=(order,), batch=batch, capacity=messages)
        for n in range(count)
    ]
    for n, ref in enumerate(refs):
        for _ in range(messages):
            ref.send(Number(n), replies=False)
    for ref in refs:
        ref.activate()
    for ref in refs:
        ref.terminate()
    found = order.copy_to_host()[1:].tolist()
    assert sorted(found) == sorted(list(range(count)) * messages)
    begin = max(found.index(n) for n in range(count)) + batch
    lasts = [len(found) - 1 - found[::-1].index(n) for n in range(count)]
    for at in range(begin, min(lasts) - count * batch, batch):
        window = found[at : at + count * batch]
        assert sorted(set(window)) == list(range(count)), window


def test_a_thread_that_reads_the_state_comes_next(runtime):
    """An actor with much to do does not keep a reader waiting."""
    ref = runtime.launch(total, capacity=4096, batch=1)
    for n in range(4096):
        ref.send(Number(0), replies=False)
    ref.activate()
    seen = [ref.read_state().seen for _ in range(20)]
    assert seen == sorted(seen)
    assert ref.read_state().seen <= 4096


@pytest.mark.parametrize("workers", [1, 3])
def test_workers_without_work_park_and_wake(workers):
    with actors.Runtime(device="cpu", workers=workers, idle=1e-5) as runtime:
        ref = runtime.launch(total)
        ref.activate()
        for n in range(1, 20):
            until(lambda: runtime.metrics()["parked"] == workers)
            assert ref.call(Number(1), timeout=60, spin=0).value == n
