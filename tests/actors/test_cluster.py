"""Actors that are launched as a cluster: the same answers on every device. On a GPU with clusters
they send to each other through shared memory; the tests below that are about that name cuda."""

from __future__ import annotations

import numpy as np
import pytest
from tests.actors.conftest import NAMES
from tests.actors.waiting import until_ways_are_open
from tests.waiting import until

import gridlane
from gridlane import actors, cuda
from gridlane.actors.errors import Reason
from gridlane.core.errors import LaunchError
from gridlane.cuda import float32, int64

WAIT = 60
MEMBERS = ("a", "b", "c")


@actors.message
class Token:
    left: int64
    value: int64


@actors.message
class Total:
    value: int64


@actors.state
class Counts:
    seen: int64
    sum: int64


@actors.kernel(state=Counts)
def passer(ctx, state, token: Token):
    """Sends a token on, to the actor that its number says; fails for negative values."""
    state.seen += 1
    if token.value < 0:
        raise ValueError("negative")
    state.sum += token.value
    if token.left > 0:
        which = (token.left + token.value) % 3
        if which == 0:
            ctx.send("a", Token(token.left - 1, token.value))
        elif which == 1:
            ctx.send("b", Token(token.left - 1, token.value))
        else:
            ctx.send("c", Token(token.left - 1, token.value))


@actors.kernel(state=Counts, replies=Total)
def asked(ctx, state, token: Token):
    state.seen += 1
    state.sum += token.value
    ctx.reply(Total(state.sum))


def launched(runtime, capacity=8, **options):
    refs = runtime.launch_cluster(passer, names=MEMBERS, capacity=capacity, **options)
    for ref in refs:
        ref.activate()
    until_ways_are_open(runtime)
    return refs


def seen(refs) -> int:
    return sum(ref.metrics()["received"] for ref in refs)


def in_cluster(runtime) -> bool:
    return runtime.device.name == "cuda" and bool(runtime.device.attributes()["CLUSTER_LAUNCH"])


def expected(tokens):
    """(seen, sum) of each actor, for tokens (first actor, left, value)."""
    found = {name: [0, 0] for name in MEMBERS}
    for at, left, value in tokens:
        while True:
            found[at][0] += 1
            found[at][1] += value
            if not left:
                break
            at = MEMBERS[(left + value) % 3]
            left -= 1
    return [Counts(*each) for each in found.values()]


def test_members_send_to_each_other(runtime):
    refs = launched(runtime)
    assert [ref.name for ref in refs] == list(MEMBERS)
    tokens = [(MEMBERS[n % 3], 40 + n, n) for n in range(5)]
    for name, left, value in tokens:
        runtime[name].send(Token(left, value), replies=False)
    wanted = sum(left + 1 for _, left, _ in tokens)
    until(lambda: seen(refs) == wanted)
    assert [ref.read_state() for ref in refs] == expected(tokens)
    if in_cluster(runtime):
        assert all(ref.mode == "persistent" for ref in refs)
        assert all(ref._instance.residence.cluster is not None for ref in refs)
        # Their messages did not go by the host, but the one that the last sends to itself.
        assert [ref._there.position[2] for ref in refs] == [0, 0, 1]
        assert [ref._there.position[1] for ref in refs] == [2, 2, 2]


def test_each_has_its_callers_and_its_state(runtime):
    refs = runtime.launch_cluster(asked, names=["x", "y"], state=Counts(0, 100))
    for ref in refs:
        ref.activate()
    one, two = refs
    assert [one.call(Token(0, n), timeout=WAIT).value for n in (1, 2)] == [101, 103]
    assert two.call(Token(0, 5), timeout=WAIT).value == 105
    one.write_state(Counts(7, 7))
    assert one.call(Token(0, 1), timeout=WAIT).value == 8
    assert two.read_state() == Counts(1, 105)


def test_a_failure_is_one_members(runtime):
    refs = launched(runtime, restart="fresh")
    tokens = [("a", 200, n) for n in range(4)]
    for _, left, value in tokens:
        refs[0].send(Token(left, value), replies=False)
    refs[1].send(Token(0, -1), replies=False)
    until(lambda: refs[1].metrics()["restarts"] == 1)
    until(lambda: seen(refs) >= 4 * 201)
    letters: list[actors.DeadLetter] = []
    until(lambda: letters.extend(runtime.dead_letters()) or letters)
    assert [each.reason for each in letters] == [Reason.FAILED]
    assert "negative" in str(refs[1].failure)
    until(lambda: not any(ref.metrics()["waiting"] for ref in refs))
    assert sum(ref.read_state().seen for ref in refs if ref.name != "b") == sum(
        each.seen for each, name in zip(expected(tokens), MEMBERS) if name != "b"
    )
    for ref in refs:  # all of them go on
        before = ref.read_state().seen
        ref.send(Token(0, 1), replies=False)
        until(lambda ref=ref, before=before: ref.read_state().seen == before + 1)


def test_a_message_of_a_member_at_which_another_fails(runtime):
    refs = launched(runtime, restart="fresh")
    refs[0].send(Token(3, 0), replies=False)
    until(lambda: seen(refs) == 4)
    poison = runtime.launch(poisoner, name="poison")
    poison.activate()
    poison.send(Token(5, -1), replies=False)
    until(lambda: sum(ref.metrics()["restarts"] for ref in refs) == 1)
    letters: list[actors.DeadLetter] = []
    until(lambda: letters.extend(runtime.dead_letters()) or letters)
    assert letters[0].reason is Reason.FAILED


@actors.kernel
def poisoner(ctx, state, token: Token):
    ctx.send("b", token)


def test_a_member_ends_and_the_others_go_on(runtime):
    refs = launched(runtime)
    refs[0].send(Token(30, 0), replies=False)
    until(lambda: seen(refs) == 31)
    refs[2].terminate()
    before = [ref.metrics()["received"] for ref in refs]
    # 7 % 3 is 1, 6 % 3 is 0, 5 % 3 is 2: from a to b to a to c, which has ended.
    refs[0].send(Token(7, 0), replies=False)
    letters: list[actors.DeadLetter] = []
    until(lambda: letters.extend(runtime.dead_letters()) or letters)
    assert letters[0].reason in (Reason.NO_ACTOR, Reason.STOPPED)
    until(lambda: refs[0].metrics()["received"] == before[0] + 2)
    assert refs[1].metrics()["received"] == before[1] + 1
    assert refs[2].state is actors.State.TERMINATED


def test_code_is_loaded_meanwhile(runtime):
    refs = launched(runtime)
    left = 3000 if runtime.device.name in ("cuda", "cpu") else 20
    for n in range(3):
        refs[n].send(Token(left, n), replies=False)
    for n in range(3):

        @actors.kernel(state=Counts, replies=Total)
        def other(ctx, state, token: Token):
            ctx.reply(Total(token.value + n))

        ref = runtime.launch(other, name=f"other{n}")
        ref.activate()
        assert ref.call(Token(0, 1), timeout=WAIT).value == 1 + n
    until(lambda: seen(refs) == 3 * (left + 1), 60)


@pytest.mark.parametrize("ends", [False, True])
def test_no_token_is_lost_in_a_checkpoint(runtime, tmp_path, ends):
    """Cut several times; the last cut goes on elsewhere."""
    name = runtime.device.name
    refs = launched(runtime)
    count, left = 7, 4000 if name in ("cuda", "cpu") else 60
    for n in range(count):
        refs[n % 3].send(Token(left, n), replies=False)
    for _ in range(3):
        runtime.checkpoint(tmp_path / "cut", timeout=60)
        before = min(seen(refs), count * (left + 1) - 1)
        until(lambda before=before: seen(refs) > before)
    tokens = [(MEMBERS[n % 3], left, n) for n in range(count)]
    if not ends:
        until(lambda: seen(refs) == count * (left + 1), 60)
        assert [ref.read_state() for ref in refs] == expected(tokens)
    with actors.Runtime.restore(tmp_path / "cut", "cpu", actors=[passer]) as there:
        again = [there[each] for each in MEMBERS]
        until(lambda: seen(again) == count * (left + 1), 60)
        assert [ref.read_state() for ref in again] == expected(tokens)
        assert not there.dead_letters()
    assert not runtime.dead_letters()


def test_a_restart_from_the_checkpoint(runtime, tmp_path):
    refs = launched(runtime, restart="checkpoint")
    refs[1].send(Token(20, 1), replies=False)
    until(lambda: seen(refs) == 21)
    states = [ref.read_state() for ref in refs]
    runtime.checkpoint(tmp_path / "cut")
    refs[1].send(Token(0, 5), replies=False)
    refs[1].send(Token(0, -5), replies=False)
    until(lambda: refs[1].metrics()["restarts"] == 1)
    until(lambda: refs[1].read_state() == states[1])
    assert [ref.read_state() for ref in refs] == states


def test_names_and_numbers(runtime):
    for wrong in (["a"], "ab", ["a", "a"], ["passer", None], [f"a{n}" for n in range(9)]):
        with pytest.raises(ValueError, match="are 2 to 8 names of actors"):
            runtime.launch_cluster(passer, names=wrong)
    runtime.launch(passer, name="b")
    with pytest.raises(actors.ActorError, match="there is an actor 'b' already"):
        runtime.launch_cluster(passer, names=MEMBERS)
    assert len(runtime.actors()) == 1


@actors.message
class Large:
    values: actors.array(float32, 1000)


@actors.kernel(threads=32)
def wide(ctx, state, token: Token):
    pass


@actors.kernel
def large(ctx, state, message: Large):
    pass


@pytest.mark.skipif("cuda" not in NAMES, reason="needs a GPU with clusters")
def test_refusals_on_cuda():
    with actors.Runtime("cuda") as runtime:
        with pytest.raises(LaunchError, match="handles messages by one thread"):
            runtime.launch_cluster(wide, names=MEMBERS)
        with pytest.raises(LaunchError, match="handles messages by one thread"):
            runtime.launch_cluster(large, names=MEMBERS)
        with pytest.raises(LaunchError, match=r"of 4096 messages take .* a smaller capacity="):
            runtime.launch_cluster(passer, names=MEMBERS, capacity=4096)
        refs = launched(runtime)  # nothing is left of those
        refs[0].send(Token(3, 0), replies=False)
        until(lambda: seen(refs) == 4)


@pytest.mark.skipif("cuda" not in NAMES, reason="needs a GPU with clusters")
@pytest.mark.parametrize("size", [2, 5, 8])
def test_a_full_cluster_on_cuda(size):
    """All members flood one, through rings of four messages, and the others through them."""
    with actors.Runtime("cuda") as runtime:
        names = [f"m{n}" for n in range(size)]
        refs = runtime.launch_cluster(flood, names=names, capacity=4, emits=16)
        for ref in refs:
            for other in refs:
                runtime.connect(ref, other)
            ref.activate()
        until_ways_are_open(runtime)
        for _ in range(20):
            for n, ref in enumerate(refs[1:], 1):
                ref.send(Burst(refs[0].id, 16, n), replies=False)
        wanted = 20 * (size - 1) * 17
        until(lambda: seen(refs) == wanted)
        assert refs[0].read_state().seen == 20 * (size - 1) * 16
        assert refs[0].read_state().sum == 20 * 16 * sum(range(size))
        assert refs[0]._there.position[1] == 0  # nothing came by the host


@actors.message
class Burst:
    to: int64
    count: int64
    value: int64


@actors.kernel(state=Counts)
def flood(ctx, state, burst: Burst):
    state.seen += 1
    state.sum += burst.value
    for _ in range(burst.count):
        ctx.send_to(burst.to, Burst(0, 0, burst.value))


@pytest.mark.skipif("cuda" not in NAMES, reason="needs a GPU with clusters")
def test_it_leaves_for_ordinary_launches_on_cuda():
    @cuda.jit
    def double(x):
        x[cuda.grid(1)] *= 2

    with gridlane.device("cuda"), actors.Runtime("cuda") as runtime:
        refs = launched(runtime)
        refs[0].send(Token(20000, 0), replies=False)
        values = cuda.to_device(np.arange(64, dtype=np.int32))
        launches = refs[0]._instance.residence.cluster.launches
        double[2, 32](values)
        cuda.synchronize()
        assert values.copy_to_host().tolist() == [2 * n for n in range(64)]
        assert refs[0]._instance.residence.cluster.launches > launches
        until(lambda: seen(refs) == 20001)
