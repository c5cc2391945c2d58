"""Checkpoints: consistent cuts, and restores with the same states and answers on other devices."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from tests.actors.conftest import NAMES, quick
from tests.actors.samples import Book, Number, Order, Total, book, looping, relay, total
from tests.waiting import until

from gridlane import actors
from gridlane.actors import Reason, State
from gridlane.actors.checkpoint.file import read_file
from gridlane.actors.checkpoint.snapshot import SavedActor, Snapshot
from gridlane.actors.checkpoint.table import read_table
from gridlane.actors.device.layout import OUTPUT_BYTES
from gridlane.actors.values.dead import DeadLetter
from gridlane.cuda import int64


def snapshot_of(path) -> Snapshot:
    return read_table(path, *read_file(path))


@pytest.mark.parametrize("device", NAMES)
def test_a_restore_on_another_device_gives_the_same_answers(on_cpu, tmp_path, device):
    ref, other = on_cpu.launch(total, capacity=16, name="sum"), on_cpu.launch(book)
    ref.activate()
    other.activate()
    assert ref.call(Number(7), timeout=60).value == 7
    other.call(Order(2.5, 3), timeout=60)
    ref.suspend()
    for n in range(5):
        ref.send(Number(n))
    on_cpu.checkpoint(tmp_path / "a")
    ref.resume()
    expected = [ref.receive(60).value for _ in range(5)]
    with actors.Runtime.restore(tmp_path / "a", device, actors=[total, book]) as there:
        assert there["sum"].state is State.SUSPENDED
        assert there["book"].read_state() == Book(2.5, 1)
        assert (there["sum"].id, there["book"].id) == (ref.id, other.id)
        assert there["sum"].metrics()["received"] == 1
        there["sum"].resume()
        assert [there["sum"].receive(60).value for _ in range(5)] == expected
        assert there["book"].call(Order(1.0, 5), timeout=60).price == 2.5
        assert there.launch(total).id > max(ref.id, other.id)


@pytest.mark.parametrize("device", NAMES)
def test_a_restore_on_the_cpu_of_another_devices_checkpoint(tmp_path, device):
    with actors.Runtime(device) as here:
        ref = here.launch(total)
        ref.activate()
        ref.call(Number(7), timeout=60)
        here.checkpoint(tmp_path / "a")
    with actors.Runtime.restore(tmp_path / "a", "cpu", actors=[total]) as there:
        assert there["total"].read_state() == Total(7, 1)
        assert there["total"].call(Number(3), timeout=60).value == 10


# ---- consistent cuts


@actors.message
class Tokens:
    count: int64


@actors.state
class Purse:
    held: int64
    seen: int64


@actors.kernel(state=Purse)
def one(ctx, state, tokens: Tokens):
    state.held += tokens.count
    state.seen += 1
    given = state.held // 2
    state.held -= given
    ctx.send("two", Tokens(given))


@actors.kernel(state=Purse)
def two(ctx, state, tokens: Tokens):
    state.held += tokens.count
    state.seen += 1
    given = state.held // 2
    state.held -= given
    ctx.send("three", Tokens(given))


@actors.kernel(state=Purse)
def three(ctx, state, tokens: Tokens):
    state.held += tokens.count
    state.seen += 1
    given = state.held // 2
    state.held -= given
    ctx.send("one", Tokens(given))


RING = [one, two, three]


def count_of(message: bytes, header: int) -> int:
    return int.from_bytes(message[header : header + 8], "little")


def tokens_of(actor: SavedActor) -> int:
    """In the state, in messages that the handler has not seen, and in outputs that wait."""
    held = int(np.frombuffer(actor.now, np.int64)[0])
    waiting = actor.queues.waiting
    return (
        held
        + sum(count_of(each, DeadLetter.HEADER.itemsize) for each in waiting)
        + sum(count_of(each, OUTPUT_BYTES) for each in actor.queues.outputs)
    )


def dead_tokens(snapshot: Snapshot) -> list[int]:
    return [count_of(each, DeadLetter.HEADER.itemsize) for _, each in snapshot.dead]


@pytest.mark.parametrize(("capacity", "count"), [(4, 8), (2, 6)])
def test_no_token_is_lost_or_twice_in_any_checkpoint(tmp_path, capacity, count):
    """Actors pass tokens on through full inboxes, while checkpoints are taken. With six slots for
    six messages they wait for each other in a cycle, and give slots back before their outputs."""
    path, waiting, settled, kept = tmp_path / "a", 0, 0, b""
    whole = sum(range(1000, 1000 + count))
    with actors.Runtime("cpu", workers=3) as runtime:
        ring = [runtime.launch(each, capacity=capacity, batch=2) for each in RING]
        for each in ring:
            each.activate()
        for n in range(count):
            ring[n % 3].send(Tokens(1000 + n), replies=False)
        for n in range(4000):
            if n >= 40 and waiting:
                break
            runtime.checkpoint(path)
            saved = snapshot_of(path)
            dead = dead_tokens(saved)
            assert sum(map(tokens_of, saved.actors)) + sum(dead) == whole
            messages = [len(each.queues.waiting) for each in saved.actors]
            outputs = [len(each.queues.outputs) for each in saved.actors]
            assert sum(messages) + sum(outputs) + len(dead) == count
            waiting += sum(outputs)
            if any(each.queues.headers for each in saved.actors):
                settled += 1
                kept = path.read_bytes()
        seen = ring[0].read_state().seen
        until(lambda: ring[0].read_state().seen > seen)
    assert waiting, "no output has ever waited for room"
    print(f"{waiting} outputs waited, {settled} checkpoints with slots given back")
    path.write_bytes(kept or path.read_bytes())
    with actors.Runtime.restore(path, "interp", actors=RING) as there:
        seen = there["one"].read_state().seen
        until(lambda: there["one"].read_state().seen > seen + 3)
        there.checkpoint(path)
        saved = snapshot_of(path)
        assert sum(map(tokens_of, saved.actors)) + sum(dead_tokens(saved)) == whole


def test_the_host_senders_are_part_of_the_cut(on_cpu, tmp_path):
    """One message to the first, then one to the second: never is the second ahead."""
    first, second = (on_cpu.launch(total, name=n, capacity=64) for n in ("first", "second"))
    for each in (second, first):
        each.activate()
    stop = threading.Event()

    def send():
        while not stop.is_set():
            first.send(Number(1), replies=False)
            second.send(Number(1), replies=False)

    threads = [threading.Thread(target=send) for _ in range(2)]
    for each in threads:
        each.start()
    try:
        for _ in range(40):
            on_cpu.checkpoint(tmp_path / "a")
            saved = {each.name: each for each in snapshot_of(tmp_path / "a").actors}
            a, b = (
                int(np.frombuffer(each.now, np.int64)[1]) + len(each.queues.waiting)
                for each in (saved["first"], saved["second"])
            )
            assert 0 <= a - b <= 2
    finally:
        stop.set()
        for each in threads:
            each.join()
    assert on_cpu.dead_letters() == []


def test_senders_do_not_see_a_checkpoint(on_cpu, tmp_path):
    """A post that does not wait for room is neither refused nor lost."""
    ref = on_cpu.launch(total, capacity=1024)
    ref.activate()
    done = threading.Event()

    def save():
        while not done.is_set():
            on_cpu.checkpoint(tmp_path / "a")

    thread = threading.Thread(target=save)
    thread.start()
    try:
        for _ in range(500):
            assert ref.send(Number(1), on_full="raise", replies=False)
            ref.call(Number(0), timeout=60)
    finally:
        done.set()
        thread.join()
    assert ref.read_state().value == 500


# ---- what is saved


def test_topics_subscriptions_and_published_messages(on_cpu, tmp_path):
    on_cpu.topic("numbers.odd", Number)
    ref = on_cpu.launch(total)
    on_cpu.subscribe(ref, "numbers.#")
    on_cpu.publish("numbers.odd", Number(3))
    on_cpu.checkpoint(tmp_path / "a")
    with actors.Runtime.restore(tmp_path / "a", actors=[total]) as there:
        assert there.publish("numbers.odd", Number(4)) == 1
        there["total"].activate()
        until(lambda: there["total"].read_state().seen == 2)
        assert there["total"].read_state().value == 7


def test_dead_letters_and_counters(on_cpu, tmp_path):
    ref = on_cpu.launch(total, capacity=1)
    ref.send(Number(1))
    ref.send(Number(2), on_full="dead")
    on_cpu.checkpoint(tmp_path / "a")
    assert on_cpu.metrics()["dead"] == 1  # it is here still
    with actors.Runtime.restore(tmp_path / "a", actors=[total]) as there:
        facts = there.metrics()
        assert (facts["dead"], facts["dead_total"], facts["dead_lost"]) == (1, 1, 0)
        (letter,) = there.dead_letters()
        assert (letter.message(Number).value, letter.reason) == (2, Reason.FULL)
        there["total"].activate()
        assert there["total"].receive(60).value == 1
        there.replay(letter)
        until(lambda: there["total"].read_state().value == 3)


def test_clocks_go_on(on_cpu, tmp_path):
    ref = on_cpu.launch(total)
    ref.activate()
    ref.call(Number(1), timeout=60)
    before = on_cpu.metrics()["physical"]
    on_cpu.checkpoint(tmp_path / "a")
    (saved,) = snapshot_of(tmp_path / "a").actors
    with actors.Runtime.restore(tmp_path / "a", actors=[total]) as there:
        assert there.metrics()["physical"] >= before
        assert there["total"]._there.clock == saved.clock


def test_replies_to_callers_of_the_process_before_are_late(on_cpu, tmp_path):
    ref = on_cpu.launch(total)
    ref.activate()
    ref.suspend()
    with pytest.raises(TimeoutError):
        ref.call(Number(4), timeout=0.05)
    thread = threading.Thread(target=lambda: ref.call(Number(5), timeout=60))
    thread.start()
    until(lambda: ref.metrics()["waiting"] == 2)
    on_cpu.checkpoint(tmp_path / "a")
    ref.resume()
    thread.join()
    with actors.Runtime.restore(tmp_path / "a", actors=[total]) as there:
        again = there["total"]
        again.resume()
        assert again.call(Number(1), timeout=60).value == 10  # not what the others asked for
        found = [(each.message(Number).value, each.reason) for each in there.dead_letters()]
        assert found == [(4, Reason.LATE), (9, Reason.LATE)]


@actors.kernel(state=Total)
def counting(ctx, state, number: Number, counts, row):
    counts[1, number.value] += 1
    row[0] += 10
    state.seen += 1


def test_arrays_are_saved_and_shared_again(on_cpu, tmp_path):
    from gridlane import cuda

    counts = cuda.to_device(np.zeros((2, 3), np.int32))
    refs = [on_cpu.launch(counting, args=(counts, counts[1]), name=n) for n in ("a", "b")]
    for ref in refs:
        ref.activate()
        ref.send(Number(2), replies=False)
    until(lambda: sum(each.read_state().seen for each in refs) == 2)
    on_cpu.checkpoint(tmp_path / "a")
    for device in ("cpu", "interp"):
        with actors.Runtime.restore(tmp_path / "a", device, actors=[counting]) as there:
            there["b"].send(Number(1), replies=False)
            until(lambda: there["b"].read_state().seen == 2)
            for name in "ab":
                whole, row = there[name].arrays
                assert whole.copy_to_host().tolist() == [[0, 0, 0], [30, 1, 2]]
                assert row.copy_to_host().tolist() == [30, 1, 2]


@actors.kernel(state=Total)
def failing(ctx, state, number: Number):
    state.seen += 1
    if number.value < 0:
        raise ValueError("negative")
    ctx.send("relay", number)


def test_a_failure_whose_outputs_wait_still(on_cpu, tmp_path):
    """It follows once they are delivered, in the restored runtime as well."""
    there = on_cpu.launch(relay, capacity=1)
    here = on_cpu.launch(failing, restart="fresh")
    on_cpu.launch(total)
    for n in (1, 2, -1, 3):
        here.send(Number(n), replies=False)
    here.activate()
    until(lambda: here._there.blocked)
    on_cpu.checkpoint(tmp_path / "a")
    saved = {each.name: each for each in snapshot_of(tmp_path / "a").actors}["failing"].queues
    assert (saved.handled, len(saved.outputs)) == (2, 1)
    assert "negative" in saved.error
    assert there.state is State.LAUNCHED
    given = [relay, failing, total]
    with actors.Runtime.restore(tmp_path / "a", "interp", actors=given) as again:
        again["total"].activate()
        again["relay"].activate()
        until(lambda: again["relay"].read_state().seen == 6)
        assert "negative" in str(again["failing"].failure)
        assert again["failing"].read_state().seen == 1  # restarted, for the 3
        dead = again.dead_letters()
        assert [(each.message(Number).value, each.reason) for each in dead] == [(-1, Reason.FAILED)]


def test_a_restart_from_the_checkpoint(on_cpu, tmp_path):
    ref = on_cpu.launch(total, restart="checkpoint")
    ref.activate()
    with pytest.raises(ValueError, match="negative"):
        ref.call(Number(-1), timeout=60)
    assert ref.read_state() == Total(0, 0)  # there is none yet
    ref.call(Number(5), timeout=60)
    on_cpu.checkpoint(tmp_path / "a")
    ref.call(Number(6), timeout=60)
    with pytest.raises(ValueError, match="negative"):
        ref.call(Number(-1), timeout=60)
    assert ref.call(Number(1), timeout=60).value == 6
    with actors.Runtime.restore(tmp_path / "a", actors=[total]) as there:
        with pytest.raises(ValueError, match="negative"):
            there["total"].call(Number(-1), timeout=60)
        assert there["total"].read_state() == Total(5, 1)
        assert there["total"].metrics()["restarts"] == 2


# ---- what a checkpoint waits for


def test_a_step_that_hangs_is_named(tmp_path):
    with actors.Runtime("cpu", workers=2, watchdog=None) as runtime:
        ref = runtime.launch(looping)
        ref.activate()
        ref.send(Number(1_000_000))
        until(lambda: ref._instance.there.since)
        with pytest.raises(actors.ActorError, match="looping is in a step that has not ended"):
            runtime.checkpoint(tmp_path / "a", timeout=0.2)
        assert not (tmp_path / "a").exists()
        other = runtime.launch(total)
        other.activate()
        assert other.call(Number(1), timeout=60).value == 1


def test_the_watchdog_stops_a_hung_step_meanwhile(on_cpu, tmp_path):
    ref = on_cpu.launch(looping)
    other = on_cpu.launch(total)
    ref.activate()
    ref.send(Number(1_000_000))
    until(lambda: ref._instance.there.since)
    with quick(on_cpu):
        on_cpu.checkpoint(tmp_path / "a")
    assert ref.state is State.TERMINATED
    assert [each.name for each in snapshot_of(tmp_path / "a").actors] == [other.name]


def test_actors_come_and_go_meanwhile(on_cpu, tmp_path):
    stop = threading.Event()

    def live():
        while not stop.is_set():
            ref = on_cpu.launch(total)
            ref.activate()
            ref.call(Number(1), timeout=60)
            ref.terminate()

    thread = threading.Thread(target=live)
    thread.start()
    try:
        for _ in range(20):
            on_cpu.checkpoint(tmp_path / "a")
            for each in snapshot_of(tmp_path / "a").actors:
                assert each.lifecycle in ("LAUNCHED", "ACTIVE")
    finally:
        stop.set()
        thread.join()


def test_a_closed_runtime_has_no_checkpoint(tmp_path):
    with actors.Runtime("cpu") as runtime:
        pass
    with pytest.raises(actors.ActorError, match="closed"):
        runtime.checkpoint(tmp_path / "a")
