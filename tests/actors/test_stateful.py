"""Random uses of a runtime, compared with a sequential model: every message is handled, queued,
answered, or a dead letter with the right reason, and the counters agree."""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from tests.actors.samples import Number, Total, total
from tests.actors.sequential import Letter, Message, Model, World
from tests.actors.waiting import until_later
from tests.effort import examples
from tests.waiting import until

from gridlane import actors
from gridlane.actors import ActorError, MessageDead, QueueFull, Reason, State, StateError
from gridlane.actors.values.keys import key_of

OUTBOX = 2
VALUES = st.one_of(st.just(-1), st.integers(0, 20), st.integers(0, 20))
WHICH = st.integers(0, 5)


@actors.kernel(state=Total)
def sink(ctx, state, number: Number):
    state.seen += 1
    state.value += number.value


@actors.kernel(state=Total)
def forward(ctx, state, number: Number):
    state.seen += 1
    ctx.send("sink", number)


KINDS = {"total": total, "sink": sink, "forward": forward}


@cache
def runtime_on(device):
    """One for all cases: their kernels are compiled once."""
    made = actors.Runtime(device=device)
    made.topic("numbers", Number)
    made.launch(sink).terminate()
    return made


class Uses(RuleBasedStateMachine):
    """Rules do the same to the runtime and the model."""

    device = "cpu"

    def __init__(self) -> None:
        super().__init__()
        self.runtime = runtime_on(self.device)
        self.world, self.refs = World(), {}
        self.before = self.runtime.metrics()["dead_total"]

    def teardown(self) -> None:
        for ref in self.runtime.actors():
            ref.terminate(graceful=False)
        self.runtime.dead_letters()

    def pick(self, which):
        """One of the last actors, which may have ended."""
        numbers = list(self.refs)[-6:]
        number = numbers[which % len(numbers)]
        return self.refs[number], self.world.actors[number]

    def rest(self) -> None:
        """Wait until the runtime does what the model has done at once."""
        for number, actor in self.world.actors.items():
            ref = self.refs[number]
            until(
                lambda ref=ref, actor=actor: self.rests(ref, actor),
                facts=lambda ref=ref, actor=actor: (ref, ref.metrics(), actor),
            )

    def rests(self, ref, actor) -> bool:
        there = ref._instance.there
        done = ref.metrics()["received"] >= actor.counts["received"]
        settled = not there.working and not ref._instance.control.error
        return (
            done
            and settled
            and ref.metrics()["waiting"] == len(actor.inbox)
            and (ref.state is actor.state)
        )

    has_actors = precondition(lambda self: bool(self.refs))

    # --- life

    @initialize(capacity=st.sampled_from([1, 2, 4]), active=st.booleans())
    def begin(self, capacity, active):
        """One of each kind, and most of them run."""
        for kind, runs in (("sink", active), ("total", True), ("forward", True)):
            self.launch(kind, capacity, "fresh", 64)
            if runs:
                ref, actor = self.pick(len(self.refs) - 1)
                assert self.world.move(actor, "activate")
                ref.activate()

    @precondition(lambda self: len(self.refs) < 6)
    @rule(
        kind=st.sampled_from(["total", "total", "forward", "sink"]),
        capacity=st.sampled_from([1, 2, 4]),
        restart=st.sampled_from(["never", "fresh"]),
        batch=st.sampled_from([1, 64]),
    )
    def launch(self, kind, capacity, restart, batch):
        if kind == "sink":
            capacity = 4  # what forward may emit in one step
            if self.world.named("sink") is not None:
                with pytest.raises(ActorError, match="'sink' already"):
                    self.runtime.launch(sink, name="sink")
                return
        ref = self.runtime.launch(
            KINDS[kind],
            name="sink" if kind == "sink" else f"{kind}-{len(self.refs)}",
            **{"capacity": capacity, "outbox": OUTBOX, "batch": batch},
            **{"on_full": "dead", "restart": restart},
        )
        self.refs[ref.id] = ref
        self.world.actors[ref.id] = Model(ref.id, kind, capacity, OUTBOX, restart)

    @has_actors
    @rule(which=WHICH, method=st.sampled_from(["activate", "deactivate", "suspend", "resume"]))
    def move(self, which, method):
        ref, actor = self.pick(which)
        no_sink = actor.kind == "forward" and self.world.named("sink") is None
        if method == "activate" and no_sink:
            with pytest.raises(actors_error_of_names()):
                ref.activate()
        elif self.world.move(actor, method):
            getattr(ref, method)()
        else:
            with pytest.raises(StateError):
                getattr(ref, method)()

    @has_actors
    @rule(which=WHICH, graceful=st.booleans())
    def terminate(self, which, graceful):
        ref, actor = self.pick(which)
        if actor.state is State.TERMINATED:
            with pytest.raises(StateError):
                ref.terminate(graceful)
            return
        actor.state = State.TERMINATING
        if graceful:
            self.world.run()
        if actor.state is not State.TERMINATED:
            self.world.end(actor)
        ref.terminate(graceful)

    # --- messages

    @has_actors
    @rule(
        which=WHICH,
        value=VALUES,
        on_full=st.sampled_from(["dead", "raise", "block"]),
        replies=st.sampled_from([True, True, False]),
        expired=st.sampled_from([False, False, True]),
    )
    def send(self, which, value, on_full, replies, expired):
        ref, actor = self.pick(which)
        message = Message(value, "outbox" if replies else None, expired)
        reason = self.world.post(actor, message)
        options = {"on_full": on_full, "replies": replies, "timeout": 0}
        options["expires"] = -1 if expired else None
        if reason is None:
            assert ref.send(Number(value), **options) is True
        elif reason is Reason.FULL and on_full == "dead":
            actor.counts["dead"] += 1
            self.world.bury(actor.number, Reason.FULL, message)
            assert ref.send(Number(value), **options) is False
        else:
            expected = QueueFull if reason is Reason.FULL else MessageDead
            with pytest.raises(expected):
                ref.send(Number(value), **options)

    @has_actors
    @rule(
        which=WHICH,
        values=st.lists(st.integers(0, 9), min_size=1, max_size=6),
        replies=st.booleans(),
    )
    def post_many(self, which, values, replies):
        ref, actor = self.pick(which)
        numbers = np.zeros(len(values), Number.__gridlane_type__.numpy)
        numbers["value"] = values
        to = "outbox" if replies else None
        reasons = [self.world.post(actor, Message(value, to)) for value in values]
        if Reason.INACTIVE in reasons:
            with pytest.raises(MessageDead):
                ref.post_many(numbers, replies=replies)
        else:
            waits = None if actor.state is State.ACTIVE else 0
            assert ref.post_many(numbers, waits, replies) == reasons.count(None)

    @has_actors
    @rule(which=WHICH, value=VALUES)
    def call(self, which, value):
        ref, actor = self.pick(which)
        answers = []
        if actor.kind != "total" or actor.state is State.LAUNCHED:
            with pytest.raises(ActorError):
                ref.call(Number(value))
            return
        runs = actor.state is State.ACTIVE
        reason = self.world.post(actor, Message(value, answers if runs else "late"))
        if reason is Reason.INACTIVE:
            with pytest.raises(MessageDead):
                ref.call(Number(value))
        elif not answers:
            with pytest.raises(TimeoutError):
                ref.call(Number(value), timeout=0)
        elif answers[0] is Reason.FAILED:
            with pytest.raises(ValueError, match="negative"):
                ref.call(Number(value), timeout=60)
        else:
            assert ref.call(Number(value), timeout=60).value == answers[0]

    @has_actors
    @rule(which=WHICH, value=VALUES)
    def leave_a_call(self, which, value):
        """The reply to a caller who has left is a dead letter."""
        ref, actor = self.pick(which)
        if actor.kind != "total" or not self.world.move(actor, "suspend"):
            return
        ref.suspend()
        self.call(which, value)
        assert self.world.move(actor, "resume")
        ref.resume()

    @has_actors
    @rule(which=WHICH)
    def receive(self, which):
        ref, actor = self.pick(which)
        if actor.kind != "total":
            with pytest.raises(ActorError, match="has no replies"):
                ref.try_receive()
            return
        found = ref.try_receive()
        assert (None if found is None else found.value) == (
            actor.outbox.pop(0) if actor.outbox else None
        )

    # --- topics

    @has_actors
    @rule(which=WHICH, pattern=st.sampled_from(["numbers", "*", "#", "numbers.#"]))
    def subscribe(self, which, pattern):
        ref, actor = self.pick(which)
        if actor.state is State.TERMINATED:
            with pytest.raises(ActorError, match="has ended"):
                self.runtime.subscribe(ref, pattern)
            return
        self.runtime.subscribe(ref, pattern)
        if actor.number not in self.world.subscribers:
            self.world.subscribers.append(actor.number)

    @has_actors
    @rule(value=st.integers(0, 9))
    def publish(self, value):
        if self.races():
            return
        full = False
        for number in list(self.world.subscribers):
            actor = self.world.actors[number]
            reason = self.world.post(actor, Message(value))
            full = reason is Reason.FULL
            if full:
                break
            if reason is not None:
                actor.counts["dead"] += 1
                self.world.bury(number, reason, Message(value))
        if full:
            with pytest.raises(QueueFull):
                self.runtime.publish("numbers", Number(value), timeout=0)
        else:
            count = self.runtime.publish("numbers", Number(value), timeout=0)
            assert count == len(self.world.subscribers)

    def races(self) -> bool:
        """Whether the last room of a sink is for what comes first: a topic's message, or the same
        from a forward that has it as well."""
        there = [self.world.actors[number] for number in self.world.subscribers]
        forwards = sum(each.kind == "forward" and each.state is State.ACTIVE for each in there)
        sinks = [each for each in there if each.kind == "sink" and each.state is not State.ACTIVE]
        return any(each.capacity - len(each.inbox) <= forwards for each in sinks)

    # --- dead letters

    def take(self):
        """All dead letters, which are those of the model."""
        self.rest()
        letters = self.runtime.dead_letters()
        names = {key_of("sink"): "sink"}
        found = Counter(
            (names.get(each.actor, each.actor), each.reason, each.message(Number).value)
            for each in letters
        )
        kept, self.world.letters = self.world.letters, []
        assert found == Counter((each.receiver, each.reason, each.value) for each in kept)
        return letters, kept

    @rule()
    def dead_letters(self):
        self.take()

    @rule(which=st.integers(0, 3))
    def replay(self, which):
        letters, kept = self.take()
        if not letters:
            return
        letter = letters[which % len(letters)]
        receiver = "sink" if letter.actor == key_of("sink") else letter.actor
        value = letter.message(Number).value
        to = "outbox" if int(letter.header["reply_to"]) >> 62 == 1 else None
        assert Letter(receiver, letter.reason, value, to) in kept
        if letter.reason in (Reason.LATE, Reason.UNREAD):
            with pytest.raises(ActorError, match="has no receiver"):
                self.runtime.replay(letter)
            return
        actor = self.world.named("sink") if receiver == "sink" else self.world.actors[receiver]
        if actor is None or actor.state is State.TERMINATED:
            reason = Reason.NO_ACTOR
        else:
            reason = self.world.post(actor, Message(value, to))
        if reason is None:
            self.runtime.replay(letter, timeout=0)
            return
        self.world.bury(receiver, reason, Message(value, to))
        with pytest.raises(ActorError, match="is dead again"):
            self.runtime.replay(letter, timeout=0)

    @rule(all_of_them=st.booleans())
    def expire(self, all_of_them):
        self.rest()
        expected = len(self.world.letters) if all_of_them else 0
        until_later()
        assert self.runtime.expire_dead_letters(0 if all_of_them else 1e9) == expected
        if all_of_them:
            self.world.letters = []

    # --- what holds

    @invariant()
    def counters_agree(self):
        self.rest()
        facts = self.runtime.metrics()
        assert facts["dead"] == len(self.world.letters)
        assert facts["dead_total"] - self.before == self.world.total_letters
        assert facts["dead_lost"] == 0
        for number, actor in self.world.actors.items():
            ref = self.refs[number]
            found, counts = ref.metrics(), actor.counts
            expected = {
                **{name: counts[name] for name in ("received", "emitted", "failed", "dead")},
                **{"waiting": len(actor.inbox), "unread": len(actor.outbox)},
                "restarts": counts["restarts"],
            }
            assert {name: found[name] for name in expected} == expected, actor
            assert ref.state is actor.state
            if actor.state is not State.TERMINATED:
                assert ref.read_state() == Total(actor.value, actor.seen)


def actors_error_of_names():
    """A forward is not activated without a sink; nor is one that may not be anyway."""
    from gridlane.core.errors import NameLookupError

    return (NameLookupError, StateError)


class UsesOnInterp(Uses):
    """The same, in batches that Python launches."""

    device = "interp"


def _settings(count):
    return settings(
        max_examples=count,
        stateful_step_count=40,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


TestOnCpu = Uses.TestCase
TestOnCpu.settings = _settings(examples(40, 300))
TestOnInterp = UsesOnInterp.TestCase
TestOnInterp.settings = _settings(examples(6, 60))
