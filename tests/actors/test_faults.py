"""Threads, forks, signals, processes that are killed, runtimes that are dropped."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest
from tests.actors.samples import Number, Total, looping, total
from tests.waiting import until, until_blocked

from gridlane import actors
from gridlane.actors import ActorError, MessageDead, Reason, State
from gridlane.actors.local.home import Home

ROOT = Path(__file__).parents[2]
fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


def in_threads(count, work):
    """Run ``work(n)`` in threads at once; the exceptions that they raise."""
    errors = []

    def run(n):
        try:
            work(n)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    return errors


def child(text, **options):
    """A process that runs a program of these actors."""
    head = "from tests.actors.samples import *\nfrom gridlane import actors\nimport time, os, sys\n"
    return subprocess.Popen(
        [sys.executable, "-c", head + text],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


# --- threads


def test_eight_threads_call_at_once(on_cpu):
    """Each caller has its own answers."""
    ref = on_cpu.launch(echo, capacity=4)
    ref.activate()

    def call(n):
        for k in range(200):
            assert ref.call(Number(n * 1000 + k), timeout=60).value == n * 1000 + k

    assert in_threads(8, call) == []
    until(lambda: ref.metrics()["received"] == 1600)
    assert on_cpu.dead_letters() == []


@actors.kernel(state=Total, replies=Number)
def echo(ctx, state, number: Number):
    state.seen += 1
    ctx.reply(number)


def test_an_actor_ends_while_eight_threads_send(on_cpu):
    """Each message is handled or a dead letter, or its sender has an error."""
    ref = on_cpu.launch(echo, capacity=8)
    ref.activate()
    sent = [0] * 8

    def send(n):
        with pytest.raises(MessageDead):
            while True:
                ref.send(Number(n), replies=False)
                sent[n] += 1

    def end():
        until(lambda: min(sent) > 10)
        ref.terminate(graceful=False)

    ender = threading.Thread(target=end)
    ender.start()
    assert in_threads(8, send) == []
    ender.join()
    letters = on_cpu.dead_letters()
    assert {each.reason for each in letters} <= {Reason.STOPPED}
    assert sum(sent) == ref.metrics()["received"] + len(letters)
    assert ref.read_state().seen == ref.metrics()["received"]


def test_two_threads_end_an_actor(on_cpu):
    ref = on_cpu.launch(echo)
    ref.activate()
    errors = in_threads(4, lambda n: ref.terminate(graceful=bool(n % 2)))
    assert len(errors) == 3 and all(isinstance(each, actors.StateError) for each in errors)
    assert ref.state is State.TERMINATED


def test_the_runtime_closes_while_threads_call_and_launch():
    runtime = actors.Runtime(device="cpu")
    ref = runtime.launch(echo, capacity=2)
    ref.activate()
    idle = runtime.launch(total, capacity=2)

    def use(n):
        with pytest.raises(ActorError):
            while True:
                if n < 3:
                    ref.call(Number(n))
                elif n < 5:
                    idle.send(Number(n))  # it waits for room
                elif n < 6:
                    idle.receive()
                else:
                    runtime.launch(echo).activate()

    def close():
        until(lambda: len(runtime.actors()) > 20 and ref.metrics()["received"] > 100)
        runtime.close()

    closer = threading.Thread(target=close)
    closer.start()
    assert in_threads(8, use) == []
    closer.join()
    assert runtime._home.directory.all() == []


def test_eight_threads_launch_and_end_actors(on_cpu):
    def work(n):
        for k in range(25):
            ref = on_cpu.launch(echo, name=f"echo-{n}-{k}")
            ref.activate()
            assert ref.call(Number(k), timeout=60).value == k
            ref.terminate()

    assert in_threads(8, work) == []
    assert on_cpu.actors() == []


def test_every_actor_has_its_turn():
    """One worker, an actor that is always busy, and others: no one starves."""
    with actors.Runtime(device="cpu", workers=1) as runtime:
        busy = runtime.launch(endless, capacity=16)
        for _ in range(8):
            busy.send(Number(1), replies=False)
        busy.activate()
        others = [runtime.launch(echo, name=f"echo-{n}") for n in range(10)]
        for ref in others:
            ref.activate()
        for k in range(5):
            assert [ref.call(Number(k), timeout=60).value for ref in others] == [k] * 10
        assert busy.metrics()["received"] > 8


@actors.kernel(state=Total)
def endless(ctx, state, number: Number):
    state.seen += 1
    ctx.send("endless", number)


# --- signals


def test_ctrl_c_ends_a_call_and_a_wait_for_room(on_cpu):
    ref = on_cpu.launch(echo, capacity=1)
    ref.activate()
    ref.suspend()

    def interrupt():
        until(lambda: ref.metrics()["waiting"] == 1)  # the call's message is there
        until_blocked()
        os.kill(os.getpid(), signal.SIGINT)

    for use in (lambda: ref.call(Number(1)), lambda: ref.send(Number(1)), ref.receive):
        thread = threading.Thread(target=interrupt)
        with pytest.raises(KeyboardInterrupt):
            thread.start()
            use()
        thread.join()
    ref.resume()
    assert ref.call(Number(2), timeout=60).value == 2
    assert [each.reason for each in on_cpu.dead_letters()] == [Reason.LATE]


# --- processes


@fork
def test_a_fork_while_actors_run(on_cpu):
    """The child's copies say what they are, and the child makes a runtime of its own."""
    ref = on_cpu.launch(echo)
    ref.activate()
    dropped = actors.Runtime(device="cpu").launch(echo)  # the reference alone is left
    dropped.activate()
    stop = threading.Event()

    def call():
        while not stop.is_set():
            ref.call(Number(1), timeout=60)

    thread = threading.Thread(target=call)
    thread.start()
    try:
        for _ in range(5):
            child = os.fork()
            if child == 0:
                os._exit(_in_child(on_cpu, ref, dropped))
            assert _status(child) == 0
            assert dropped.call(Number(4), timeout=60).value == 4
    finally:
        stop.set()
        thread.join()


def _in_child(runtime, ref, dropped):
    uses = [
        *(lambda: ref.call(Number(1), timeout=1), lambda: ref.send(Number(1)), ref.try_receive),
        *(ref.suspend, ref.deactivate, ref.terminate, ref.read_state, runtime.dead_letters),
        *(lambda: dropped.send(Number(1)), lambda: dropped.call(Number(1), timeout=1)),
        *(lambda: runtime.launch(echo), lambda: runtime.publish("a", Number(1))),
    ]
    for n, use in enumerate(uses):
        try:
            use()
            return n + 1
        except RuntimeError as error:
            if "fork" not in str(error):
                return n + 101
    runtime.close()
    with actors.Runtime(device="cpu") as own:
        mine = own.launch(echo)
        mine.activate()
        if mine.call(Number(3), timeout=60).value != 3:
            return 99
    uses.clear()
    gc.collect()
    return 0


def _status(child):
    ended = []

    def has_ended():
        found, status = os.waitpid(child, os.WNOHANG)
        ended.append(status)
        return found

    try:
        until(has_ended)
    except AssertionError:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    return os.waitstatus_to_exitcode(ended[-1])


RUNS = """
runtime = actors.Runtime(device="cpu")
ref = runtime.launch(total)
ref.activate()
print(ref.call(Number(1), timeout=60).value, flush=True)
while True:
    ref.call(Number(1))
"""


def test_two_processes_and_one_that_is_killed(on_cpu):
    """They do not know of each other, and kill -9 leaves nothing."""
    ref = on_cpu.launch(total)
    ref.activate()
    before = set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()
    processes = [child(RUNS) for _ in range(2)]
    for each in processes:
        assert each.stdout.readline() == "1\n"
        assert ref.call(Number(0), timeout=60).value == 0
    during = set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()
    for each in processes:
        each.kill()
        each.communicate()
    assert during - before == set()
    assert ref.call(Number(2), timeout=60).value == 2


@pytest.mark.parametrize(
    "how",
    [
        "ref.send(Number(1)); sys.exit(3)",
        "del runtime; ref.send(Number(1)); sys.exit(3)",
        "ref.send(Number(-1)); sys.exit(3)",
        "import contextlib, threading\n"
        "def wait():\n    with contextlib.suppress(actors.ActorError):\n        ref.receive()\n"
        "threading.Thread(target=wait, daemon=True).start(); sys.exit(3)",
    ],
)
def test_a_process_ends_with_an_open_runtime(how):
    process = child(
        "runtime = actors.Runtime(device='cpu')\nref = runtime.launch(total)\nref.activate()\n"
        + how
    )
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (3, "")


def test_two_runtimes_in_one_process():
    with actors.Runtime(device="cpu") as one, actors.Runtime(device="interp") as two:
        refs = [runtime.launch(total) for runtime in (one, two)]
        for ref in refs:
            ref.activate()
            assert ref.id == 1 and ref.name == "total"
        for _ in range(20):
            assert [ref.call(Number(0), timeout=60).value for ref in refs] == [0, 0]
        with pytest.raises(ActorError, match="of another runtime"):
            one.subscribe(refs[1], "#")
        refs[0].send(Number(1), expires=0)
        assert two.dead_letters() == []
    with actors.Runtime(device="cpu") as three:
        assert three.launch(total).state is State.LAUNCHED


# --- runtimes that are dropped


@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_a_runtime_without_close(device):
    """It ends, with its threads, while its actors run."""
    for _ in range(3):
        runtime = actors.Runtime(device=device)
        ref = runtime.launch(total, capacity=1024)
        ref.activate()
        numbers = np.zeros(500, Number.__gridlane_type__.numpy)
        ref.post_many(numbers)
        gone = weakref.ref(runtime._home)
        assert isinstance(gone(), Home)
        del ref, runtime

        def is_gone(gone=gone):
            gc.collect()
            return gone() is None

        until(is_gone)


def test_a_runtime_without_close_whose_handler_loops():
    runtime = actors.Runtime(device="cpu", watchdog=None)
    ref = runtime.launch(looping)
    ref.activate()
    ref.send(Number(1_000_000))
    there = ref._instance.there
    until(lambda there=there: there.since)
    gone = weakref.ref(runtime._home)
    del ref, runtime, there

    def is_gone():
        gc.collect()
        return gone() is None

    until(is_gone)
