"""What a runtime does, by a sequential model: one message at a time, in Python.

It is exact where actors rest between two uses, no inbox is full while its actor runs, and
``forward`` lets messages for a full inbox be dead letters.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from gridlane.actors import Reason, State
from gridlane.actors.values.states import ACCEPTS, PHASES, RUNS, TRANSITIONS


@dataclass
class Message:
    """A message in an inbox. ``to``: who gets a reply: "outbox", "late" (a caller who has left), a
    caller's list, or None."""

    value: int
    to: object = None
    expired: bool = False


@dataclass(frozen=True)
class Letter:
    """A dead letter; ``receiver`` is the number of an actor, or a name that none has."""

    receiver: object
    reason: Reason
    value: int
    to: object = None


@dataclass
class Model:
    """An actor of the model: ``total``, ``sink`` or ``forward`` of test_stateful."""

    number: int
    kind: str
    capacity: int
    outbox_size: int
    restart: str
    state: State = State.LAUNCHED
    inbox: list[Message] = field(default_factory=list)
    outbox: list[int] = field(default_factory=list)
    value: int = 0
    seen: int = 0
    counts: Counter = field(default_factory=Counter)

    def phase(self) -> int:
        return PHASES[self.state]


class World:
    """All actors, dead letters and subscriptions."""

    def __init__(self) -> None:
        self.actors: dict[int, Model] = {}
        self.letters: list[Letter] = []
        self.subscribers: list[int] = []
        self.total_letters = 0

    def named(self, name: str) -> Model | None:
        alive = (each for each in self.actors.values() if each.state is not State.TERMINATED)
        return next((each for each in alive if each.kind == name), None)

    def bury(self, receiver: object, reason: Reason, message: Message) -> None:
        to = "outbox" if message.to == "outbox" else None
        self.letters.append(Letter(receiver, reason, message.value, to))
        self.total_letters += 1

    # --- posts

    def post(self, actor: Model, message: Message) -> Reason | None:
        """Put a message into an inbox, and let everything come to rest; why it is not there."""
        if not actor.phase() & ACCEPTS:
            return Reason.INACTIVE
        if len(actor.inbox) == actor.capacity:
            return Reason.FULL
        actor.inbox.append(message)
        self.run()
        return None

    def post_for_it(self, actor: Model, message: Message) -> None:
        """The same by another actor: what is refused is a dead letter."""
        reason = self.post(actor, message)
        if reason is not None:
            actor.counts["dead"] += 1
            self.bury(actor.number, reason, message)

    # --- steps

    def run(self) -> None:
        for actor in list(self.actors.values()):
            while actor.phase() & RUNS and actor.inbox:
                self.handle(actor, actor.inbox.pop(0))

    def handle(self, actor: Model, message: Message) -> None:
        if message.expired:
            self.refuse(actor, message, Reason.EXPIRED)
        elif actor.kind == "total" and message.value < 0:
            actor.counts["failed"] += 1
            self.refuse(actor, message, Reason.FAILED)
            if actor.restart == "never":
                self.end(actor)
            else:
                actor.value = actor.seen = 0
                actor.counts["restarts"] += 1
        else:
            actor.counts["received"] += 1
            actor.seen += 1
            if actor.kind != "sink":
                actor.counts["emitted"] += 1
            if actor.kind == "forward":
                there = self.named("sink")
                if there is None:
                    self.bury("sink", Reason.NO_ACTOR, Message(message.value))
                else:
                    self.post_for_it(there, Message(message.value))
                return
            actor.value += message.value
            if actor.kind == "total":
                self.reply(actor, message.to)

    def reply(self, actor: Model, to: object) -> None:
        if to == "late":
            self.bury(actor.number, Reason.LATE, Message(actor.value))
        elif to == "outbox" and len(actor.outbox) < actor.outbox_size:
            actor.outbox.append(actor.value)
        elif to == "outbox":
            actor.counts["dead"] += 1
            self.bury(actor.number, Reason.UNREAD, Message(actor.value))
        elif isinstance(to, list):
            to.append(actor.value)

    def refuse(self, actor: Model, message: Message, reason: Reason) -> None:
        actor.counts["dead"] += 1
        self.bury(actor.number, reason, message)
        if isinstance(message.to, list):
            message.to.append(reason)

    def end(self, actor: Model) -> None:
        actor.state = State.TERMINATED
        for message in actor.inbox:
            self.refuse(actor, message, Reason.STOPPED)
        actor.inbox.clear()
        self.subscribers = [each for each in self.subscribers if each != actor.number]

    # --- transitions

    def move(self, actor: Model, transition: str) -> bool:
        """Whether the transition is allowed; it is made."""
        allowed, after = TRANSITIONS[transition]
        if actor.state not in allowed:
            return False
        actor.state = after
        self.run()
        return True
