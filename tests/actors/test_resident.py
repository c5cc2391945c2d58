"""Actors whose kernels do not end. The CPU stands in for a GPU: it runs the same kernel, on a
thread, with the same rings and the same engine."""

from __future__ import annotations

import shutil
import subprocess
import threading

import numpy as np
import pytest
from tests.actors.samples import Ball, player
from tests.actors.waiting import until_ways_are_open
from tests.waiting import until

from gridlane import actors
from gridlane.actors.device.context import Rules, context_class
from gridlane.actors.device.resident import resident_of
from gridlane.actors.device.resident_form import Form
from gridlane.actors.errors import Reason
from gridlane.actors.layouts import wire
from gridlane.actors.layouts.blocks import MessageHeader
from gridlane.actors.layouts.python import dtype
from gridlane.actors.local.instance import Instance
from gridlane.actors.resident import residence
from gridlane.compiler import compile_kernel
from gridlane.core import numpy_types
from gridlane.core.argtypes import ArrayType, TupleType
from gridlane.core.errors import LaunchError
from gridlane.core.options import Target
from gridlane.cuda import int32, int64
from gridlane.frontends.python.kernel_source import PythonSource
from gridlane.launch.kernel import Kernel

WAIT = 60
"""Seconds for an answer, on a machine that does other things."""


@actors.message
class Number:
    value: int64


@actors.state
class Total:
    value: int64
    seen: int64


@actors.kernel(state=Total, replies=Number)
def total(ctx, state, number: Number):
    """Adds; fails for negative numbers, and sends on those above a million."""
    state.seen += 1
    if number.value < 0:
        raise ValueError("negative")
    state.value += number.value
    if number.value > 1_000_000:
        ctx.send("other", Number(number.value - 1_000_000))
    else:
        ctx.reply(Number(state.value))


FORMS = {"short": residence.ON_CPU_HAS, "deep": {"far": 2, "near": 2}}
"""Forms of the kernels: the CPU's, and one that reads as those of GPUs do."""


@pytest.fixture(scope="module", params=FORMS)
def runtime(request):
    """A runtime whose kernels stay, on the CPU."""
    residence.ON_CPU, residence.ON_CPU_HAS = True, FORMS[request.param]
    try:
        with actors.Runtime(device="cpu", persistent=True, watchdog=None) as made:
            yield made
    finally:
        residence.ON_CPU, residence.ON_CPU_HAS = False, FORMS["short"]


@pytest.fixture
def ref(runtime):
    """An active actor, which ends with the test; there are no letters."""
    runtime.dead_letters()
    made = runtime.launch(total, name="other", capacity=16, outbox=16, restart="fresh")
    made.activate()
    yield made
    if made.state is not actors.State.TERMINATED:
        made.terminate(graceful=False)
    runtime.dead_letters()


def test_calls_are_answered_in_their_order(ref):
    assert ref.mode == "persistent"
    assert [ref.call(Number(n), timeout=WAIT).value for n in range(1, 41)] == [
        n * (n + 1) // 2 for n in range(1, 41)
    ]
    assert ref.read_state() == Total(820, 40)
    until(lambda: ref.metrics()["received"] == 40)  # told after the answers


def test_several_callers_have_their_own_answers(ref):
    found: list[int] = []

    def call() -> None:
        for _ in range(20):
            found.append(ref.call(Number(1), timeout=WAIT).value)

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list(range(1, 61))


def test_replies_to_sends_come_to_the_outbox(ref):
    for n in range(8):
        ref.send(Number(n))
    assert [ref.receive(timeout=WAIT).value for _ in range(8)] == [0, 1, 3, 6, 10, 15, 21, 28]


def test_a_full_inbox_refuses_and_blocks(ref):
    ref.suspend()
    for _ in range(16):
        ref.send(Number(1), replies=False)
    with pytest.raises(actors.QueueFull):
        ref.send(Number(1), on_full="raise")
    with pytest.raises(TimeoutError):
        ref.call(Number(1), timeout=0.01)
    ref.resume()
    until(lambda: ref.metrics()["received"] == 16)
    assert ref.call(Number(1), timeout=WAIT).value == 17


def test_a_message_of_another_size_is_refused(runtime, ref):
    """Its kernel would wait for the rest of it, and later messages behind it."""
    engine, posts = runtime._home.engine, (0.0, 0, 0, 0, 0, 0, 0, 0)
    assert engine.post(ref._there, b"", *posts) == Reason.WRONG_TYPE
    assert engine.post(ref._there, bytes(24), *posts) == Reason.WRONG_TYPE
    assert ref.call(Number(1), timeout=WAIT).value == 1


def test_post_many_loses_nothing(ref):
    posted = ref.post_many([Number(n) for n in range(200)])
    until(lambda: ref.metrics()["received"] == 200)
    assert posted == 200
    assert ref.read_state() == Total(199 * 100, 200)


def test_an_expired_message_is_dead(runtime, ref):
    ref.suspend()
    ref.send(Number(5), expires=0.0)
    ref.resume()
    until(lambda: ref.metrics()["dead"] == 1)
    (letter,) = runtime.dead_letters()
    assert (letter.reason, letter.message(Number)) == (Reason.EXPIRED, Number(5))


def test_a_failure_is_its_callers_and_the_next_message_is_handled(runtime, ref):
    assert ref.call(Number(4), timeout=WAIT).value == 4
    with pytest.raises(ValueError, match="negative"):
        ref.call(Number(-1), timeout=WAIT)
    assert ref.call(Number(6), timeout=WAIT).value == 6
    (letter,) = runtime.dead_letters()
    assert letter.reason is Reason.FAILED
    assert ref.metrics()["restarts"] == 1


def test_a_call_that_its_handler_does_not_answer(ref):
    with pytest.raises(actors.MessageDead) as found:
        ref.call(Number(1_000_001), timeout=WAIT)
    assert found.value.reason is Reason.UNANSWERED
    # From now on it sends to itself without an end, and the host has its turns.
    before = ref.metrics()["received"]
    assert ref.call(Number(0), timeout=WAIT).value > 1_000_000
    until(lambda: ref.metrics()["received"] > before + 100)
    ref.suspend()
    ref.read_state()  # by then all is told
    stopped = ref.metrics()["received"]
    ref.read_state()
    assert ref.metrics()["received"] == stopped


def test_a_late_answer_is_a_dead_letter(runtime, ref):
    ref.suspend()
    with pytest.raises(TimeoutError):
        ref.call(Number(3), timeout=0.01)
    ref.resume()
    found: list[actors.DeadLetter] = []
    until(lambda: found.extend(runtime.dead_letters()) or found)
    assert (found[0].reason, found[0].message(Number)) == (Reason.LATE, Number(3))


@actors.kernel(replies=Number)
def twice(ctx, state, number: Number):
    ctx.reply(number)
    ctx.reply(Number(-number.value))


def test_a_second_reply_is_a_dead_letter(runtime):
    """It is not written over the first one, which the caller may be reading."""
    ref = runtime.launch(twice)
    ref.activate()
    assert [ref.call(Number(n), timeout=WAIT).value for n in range(1, 31)] == list(range(1, 31))
    ref.terminate()
    letters = runtime.dead_letters()
    assert [each.message(Number).value for each in letters] == list(range(-1, -31, -1))
    assert {(each.reason, each.actor) for each in letters} == {(Reason.LATE, ref.id)}


def test_the_state_is_written_between_two_messages(ref):
    ref.call(Number(1), timeout=WAIT)
    ref.write_state(Total(100, 0))
    assert ref.call(Number(1), timeout=WAIT).value == 101


def test_what_is_left_at_the_end_is_dead(runtime, ref):
    ref.suspend()
    for n in range(3):
        ref.send(Number(n), replies=False)
    ref.deactivate()
    ref.terminate(graceful=False)
    letters = runtime.dead_letters()
    assert len(letters) + ref._instance.control.received == 3
    assert {letter.reason for letter in letters} <= {Reason.STOPPED}


def test_a_kernel_leaves_and_comes_back(ref):
    stays = ref._instance.residence
    assert ref.call(Number(1), timeout=WAIT).value == 1
    stays.ask_to_leave()
    assert stays.leave()
    assert not stays.started
    ref.send(Number(1), replies=False)
    stays.come_back()
    assert ref.call(Number(1), timeout=WAIT).value == 3


def test_actors_send_to_each_other_without_the_host(runtime, ref):
    first = runtime.launch(total, name="first", capacity=16, outbox=16)
    first.activate()
    until_ways_are_open(runtime)
    for n in range(1, 51):
        first.send(Number(1_000_000 + n), replies=False)
    until(lambda: ref.metrics()["received"] == 50)
    until(lambda: first.metrics()["received"] == 100)  # with the replies
    assert ref.read_state() == Total(1275, 50)
    assert first._there.position[2] == 0  # it has sent nothing to the host
    assert ref._there.position[1] == 0  # nor has the host posted anything
    # One that is deactivated takes none, by whatever way.
    ref.deactivate()
    first.send(Number(1_000_001), replies=False)
    found: list[actors.DeadLetter] = []
    until(lambda: found.extend(runtime.dead_letters()) or found)
    assert found.pop().reason is Reason.INACTIVE
    until(lambda: first.metrics()["received"] == 101)
    ref.activate()
    first.send(Number(1_000_001), replies=False)
    until(lambda: ref.metrics()["received"] == 51)
    until(lambda: first.metrics()["received"] == 103)
    # What the other one has not handled at its end is dead, and then there is no way to it.
    ref.suspend()
    for n in range(1, 4):
        first.send(Number(1_000_000 + n), replies=False)
    until(lambda: first.metrics()["received"] == 106)
    ref.deactivate()
    ref.terminate(graceful=False)
    letters = runtime.dead_letters()
    assert len(letters) + ref._instance.control.received == 54
    first.send(Number(1_000_009), replies=False)
    until(lambda: found.extend(runtime.dead_letters()) or found)
    assert (found[0].reason, found[0].message(Number)) == (Reason.NO_ACTOR, Number(9))
    first.terminate()


@pytest.mark.parametrize("later", [False, True])
def test_connected_actors_send_by_number_without_the_host(runtime, later):
    first, second = (runtime.launch(player, name=name) for name in ("first", "second"))
    if not later:
        runtime.connect(first, second)
        runtime.connect(second, first)
    first.activate()
    second.activate()
    if later:
        second.deactivate()
        runtime.connect(first, second)
        runtime.connect(second, first)
        second.activate()
    runtime.connect(first, second)  # again
    until_ways_are_open(runtime)
    first.send(Ball(50, second.id, first.id), replies=False)
    until(lambda: first.metrics()["received"] + second.metrics()["received"] == 51)
    assert first._there.position[2] == second._there.position[2] == 0  # nothing by the host
    assert second._there.position[1] == 0
    second.terminate()
    with pytest.raises(actors.ActorError, match="has ended"):
        runtime.connect(first, second)
    # A number that nobody has is found by the host.
    first.send(Ball(1, second.id, first.id), replies=False)
    found: list[actors.DeadLetter] = []
    until(lambda: found.extend(runtime.dead_letters()) or found)
    assert found[0].reason is Reason.NO_ACTOR
    first.terminate()


@actors.kernel(state=Total)
def repeats(ctx, state, ball: Ball):
    """Sends three messages for each."""
    state.seen += 1
    if ball.left > 0:
        for _ in range(3):
            ctx.send_to(ball.to, Ball(ball.left - 1, ball.back, ball.to))


def test_an_actor_that_is_connected_to_itself_does_not_wait_for_itself(runtime):
    alone = runtime.launch(repeats, capacity=2)
    runtime.connect(alone, alone)
    alone.activate()
    alone.send(Ball(2, alone.id, alone.id), replies=False)
    until(lambda: alone.metrics()["received"] == 13)
    alone.terminate()


def test_a_cluster_that_cannot_be_launched_whole_is_not_there(runtime, monkeypatch):
    begun, run = [], Instance.run

    def run_once(instance, drift):
        begun.append(instance)
        if len(begun) == 2:
            raise actors.ActorError("no room for another kernel")
        run(instance, drift)

    monkeypatch.setattr(Instance, "run", run_once)
    with pytest.raises(actors.ActorError, match="no room for another"):
        runtime.launch_cluster(collects, names=["one", "two", "three"])
    assert not begun[0].residence.started
    assert not runtime.actors()


@actors.message
class Long:
    """More chunks than a warp has lanes."""

    cells: int32[90]


@actors.kernel(state=Total)
def weighs(ctx, state, message: Long):
    state.seen += 1
    for n in range(90):
        state.value += message.cells[n] * (n + 1)


@actors.kernel
def passes_on(ctx, state, message: Long):
    ctx.send("scale", message)


def test_several_long_messages_come_whole(runtime):
    """From the host, and from another actor."""
    scale = runtime.launch(weighs, name="scale", capacity=16)
    scale.activate()
    first = runtime.launch(passes_on, capacity=16, tier=1024)
    first.activate()
    sent = [Long(np.arange(n, n + 90, dtype=np.int32)) for n in range(16)]
    scale.suspend()
    for each in sent:
        first.send(each, replies=False)
    until(lambda: first.metrics()["received"] == 16)
    scale.resume()
    until(lambda: scale.metrics()["received"] == 16)
    scale.suspend()
    for each in sent:
        scale.send(each, replies=False)
    scale.resume()
    until(lambda: scale.metrics()["received"] == 32)
    weights = np.arange(1, 91)
    assert scale.read_state() == Total(2 * sum(int(each.cells @ weights) for each in sent), 32)
    first.terminate()
    scale.terminate()


def sends_on_to(name):
    """An actor that sends to another one, whose name is a variable, several messages for one."""

    @actors.kernel(state=Total)
    def made(ctx, state, number: Number):
        state.seen += 1
        for n in range(3):
            ctx.send(name, Number(number.value + n))

    return made


@actors.kernel(state=Total)
def collects(ctx, state, number: Number):
    state.seen += 1
    state.value += number.value


def test_a_name_in_a_variable_makes_a_way_on_the_device(runtime):
    last = runtime.launch(collects, name="last", capacity=16)
    last.activate()
    first = runtime.launch(sends_on_to("last"), name="first", capacity=16, outbox=16)
    first.activate()
    until_ways_are_open(runtime)
    for n in range(20):
        first.send(Number(10 * n), replies=False)
    until(lambda: last.metrics()["received"] == 60)
    assert last.read_state() == Total(sum(30 * n + 3 for n in range(20)), 60)
    assert last._there.position[1] == 0  # the host has posted nothing to it
    first.terminate()
    last.terminate()


@actors.kernel(state=Total)
def first_below_zero(ctx, state, number: Number):
    """Counts the messages below zero that come after others."""
    if number.value >= 0:
        state.seen += 1
    elif state.seen > 0:
        state.value += 1


def test_the_hosts_messages_come_before_those_of_a_later_way(runtime):
    last = runtime.launch(first_below_zero, name="last", capacity=16)
    last.activate()
    last.suspend()
    for _ in range(16):
        last.send(Number(-1), replies=False)
    first = runtime.launch(sends_on_to("last"), name="first", capacity=16, outbox=16)
    first.activate()
    until_ways_are_open(runtime)
    first.send(Number(1), replies=False)
    until(lambda: first.metrics()["received"] == 1)
    last.resume()
    until(lambda: last.metrics()["received"] == 19)
    assert last.read_state() == Total(0, 3)
    first.terminate()
    last.terminate()


def test_each_message_of_a_run_has_an_event_of_its_own(runtime):
    last = runtime.launch(collects, name="last", capacity=16)
    last.activate()
    first = runtime.launch(sends_on_to("last"), name="first", capacity=16, outbox=16)
    first.activate()
    until_ways_are_open(runtime)
    last.suspend()
    for n in range(2):
        first.send(Number(n), replies=False)
    directory = runtime._home.directory
    until(lambda: sum(map(len, directory.channels.waiting(last._instance))) == 6)
    (letters,) = directory.channels.waiting(last._instance)
    clocks = [np.frombuffer(each, dtype(MessageHeader), 1)[0]["clock"] for each in letters]
    events = [(int(clock["physical"]), int(clock["logical"])) for clock in clocks]
    assert events == sorted(set(events))
    assert {int(clock["node"]) for clock in clocks} == {first.id}
    first.terminate()
    last.resume()
    last.terminate()


# ---- what is refused


def test_the_cpu_keeps_no_kernels_by_itself(monkeypatch):
    monkeypatch.setattr(residence, "ON_CPU", False)
    with pytest.raises(actors.ActorError, match="native threads"):
        actors.Runtime(device="cpu", persistent=True)
    with actors.Runtime(device="cpu") as runtime:
        made = runtime.launch(total, name="other")
        assert made.mode == "threads"


def test_a_device_without_such_kernels_says_so():
    with pytest.raises(actors.ActorError, match="in batches"):
        actors.Runtime(device="interp", persistent=True)


def test_forms_that_a_kernel_cannot_have():
    with pytest.raises(LaunchError, match="shared memory"):
        residence.form_of(total, 16384, 4, True)

    @actors.kernel(state=Total, threads=48)
    def uneven(ctx, state, number: Number):
        state.seen += 1

    with pytest.raises(LaunchError, match="multiple of 32"):
        residence.form_of(uneven, 256, 4, True)


# ---- code for GPUs


def _ptx(actor: actors.Actor, threads: int, processor: str) -> str:
    assert actor.state is not None
    form = Form(actor.message.record, 256, 4, threads, True, actor.state.record)
    replies = actor.replies.record if actor.replies is not None else None
    context = context_class(Rules(replies, 256, 4, threads))
    assert actor.state is not None
    types = (
        ArrayType(numpy_types.from_numpy(wire.ROW), 1, "C"),
        ArrayType(actor.state.record, 1, "C"),
        TupleType(()),
    )
    source = PythonSource(resident_of(actor.handler, context, form))
    kernel = Kernel(source, types, actor.handler.options)
    target = Target("cuda", processor=processor)
    made = compile_kernel(kernel.source, kernel.types, kernel.options, target)
    return made.code.decode()


@pytest.mark.parametrize("processor", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("threads", [1, 64])
def test_a_chunk_is_one_access_of_16_bytes(processor, threads, tmp_path):
    text = _ptx(total, threads, processor)
    loads = [line for line in text.splitlines() if "ld.volatile.global" in line]
    stores = [line for line in text.splitlines() if "st.volatile.global" in line]
    assert loads and all(".v4.b32" in line or ".v4.u32" in line for line in loads)
    assert any(".v4.b32" in line or ".v4.u32" in line for line in stores)
    # Warps that read the rings sleep where nothing comes. Several threads read them themselves.
    assert ("nanosleep.u32" in text) == (threads == 1)
    assembler = shutil.which("ptxas")
    if assembler is None:
        pytest.skip("ptxas is not installed")
    (tmp_path / "kernel.ptx").write_text(text)
    output = str(tmp_path / "kernel.cubin")
    arguments = [assembler, f"-arch={processor}", str(tmp_path / "kernel.ptx"), "-o", output]
    subprocess.run(arguments, check=True)


def test_the_engine_and_the_kernel_agree_on_the_wire():
    assert wire.HEADER.itemsize == 96
    assert wire.HEADER_CHUNKS * wire.PIECE == wire.HEADER.itemsize
    assert wire.ANSWER_WORDS * 4 == wire.ANSWER_CHUNKS * wire.PIECE
    offsets = {name: wire.HEADER.fields[name][1] for name in wire.HEADER.names}
    assert offsets["reply_to"] == 8 * wire.REPLY_TO and offsets["span"] == 8 * wire.SPAN
    assert offsets["bytes"] == 4 * wire.SIZES and offsets["hops"] == 4 * wire.COUNTS


@actors.kernel(state=Total)
def spreads(ctx, state, ball: Ball):
    """Three messages for one, back to the sender."""
    state.seen += 1
    if ball.left > 0:
        for _ in range(3):
            ctx.send_to(ball.to, Ball(ball.left - 1, ball.back, ball.to))


def test_connected_actors_that_wait_for_each_others_room_go_on(runtime):
    """Each of two waits for room in the other's full inbox, and comes to its own no more."""
    first, second = (
        runtime.launch(spreads, name=name, capacity=2) for name in ("spread1", "spread2")
    )
    runtime.connect(first, second)
    runtime.connect(second, first)
    first.activate()
    second.activate()
    first.send(Ball(5, second.id, first.id), replies=False)

    def received() -> int:
        return first.metrics()["received"] + second.metrics()["received"]

    until(lambda: received() + len(runtime.dead_letters()) >= 364, seconds=30)
    assert {letter.reason for letter in runtime.dead_letters()} <= {Reason.CYCLE}
    first.terminate()
    second.terminate()
