"""Eight threads that do everything at once, for a while: nobody hangs, and only known errors
come."""

from __future__ import annotations

import random
import threading
import time

import pytest
from tests.actors.samples import Number, Total
from tests.effort import examples

from gridlane import actors
from gridlane.actors import ActorError
from gridlane.core.errors import NameLookupError

KNOWN = (ActorError, TimeoutError, ValueError, NameLookupError)


@actors.kernel(state=Total)
def sends(ctx, state, number: Number):
    state.seen += 1
    if number.value > 0:
        ctx.send("publishes", Number(number.value - 1))


@actors.kernel(state=Total)
def publishes(ctx, state, number: Number):
    state.seen += 1
    if number.value > 0:
        ctx.publish("numbers", Number(number.value - 1))


@actors.kernel(state=Total, replies=Number)
def replies(ctx, state, number: Number):
    state.seen += 1
    if number.value % 17 == 13:
        raise ValueError("thirteen")
    if number.value > 0:
        ctx.send("sends", Number(number.value - 1))
    ctx.reply(number)


KINDS = {"sends": sends, "publishes": publishes, "replies": replies}


def launch(runtime, choice):
    name = choice.choice(list(KINDS))
    ref = runtime.launch(
        KINDS[name],
        name=name,
        capacity=choice.choice([1, 2, 8]),
        restart=choice.choice(["fresh", "never"]),
        batch=choice.choice([1, 4]),
    )
    ref.activate()
    if name == "replies":
        runtime.subscribe(ref, "#")


def transition(runtime, ref, choice):
    getattr(ref, choice.choice(["suspend", "resume", "activate", "deactivate"]))()


def call(runtime, ref, choice):
    ref.call(Number(choice.randrange(40)), timeout=0.05)


def end(runtime, ref, choice):
    ref.terminate(graceful=choice.random() < 0.5, timeout=0.05)


USES = [
    *[lambda runtime, ref, choice: ref.send(Number(choice.randrange(40)), timeout=0.01)] * 8,
    *[lambda runtime, ref, choice: ref.post_many([Number(5)] * 4, timeout=0.01)] * 3,
    *[call] * 4,
    *[transition] * 2,
    end,
    lambda runtime, ref, choice: ref.read_state(),
    lambda runtime, ref, choice: runtime.publish("numbers", Number(3), timeout=0.01),
    lambda runtime, ref, choice: runtime.dead_letters(),
    lambda runtime, ref, choice: runtime.unsubscribe(ref, "#"),
    lambda runtime, ref, choice: runtime.metrics(),
    lambda runtime, ref, choice: launch(runtime, choice),
]


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_everything_at_once(device):
    runtime = actors.Runtime(device=device, watchdog=1)
    runtime.topic("numbers", Number)
    for kind in KINDS.values():  # they are compiled before the time counts
        runtime.launch(kind).terminate()
    until = time.monotonic() + examples(2, 30)
    unknown, done = [], []

    def work(number):
        choice = random.Random(number)
        while time.monotonic() < until and not unknown:
            try:
                refs = runtime.actors()
                if len(refs) < 3:
                    launch(runtime, choice)
                else:
                    choice.choice(USES)(runtime, choice.choice(refs), choice)
                    done.append(number)
            except KNOWN:
                continue
            except BaseException as error:
                unknown.append(error)

    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(90)
    assert not any(thread.is_alive() for thread in threads)
    assert unknown == [] and done
    closer = threading.Thread(target=runtime.close, daemon=True)
    closer.start()
    closer.join(60)
    assert not closer.is_alive() and runtime.actors() == []
