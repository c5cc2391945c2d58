"""The methods of a runtime for topics, connections and dead letters."""

from __future__ import annotations

from typing import Any

from gridlane.actors._engine import now
from gridlane.actors.errors import ActorError, QueueFull, Reason
from gridlane.actors.layouts.blocks import IS_PUBLISHED
from gridlane.actors.local.home import BURY_OTHERS, Home, seconds_of
from gridlane.actors.local.instance import Instance
from gridlane.actors.local.ref import ActorRef
from gridlane.actors.values.dead import DeadLetter
from gridlane.actors.values.keys import key_of
from gridlane.actors.values.messages import shape_of


class Messages:
    """The part of ``Runtime`` that has topics, connections and dead letters."""

    _home: Home

    def topic(self, name: str, cls: type) -> None:
        """Declare a topic and the class of its messages. Actors that publish to it are launched
        after that.

        Raises:
            ValueError: it is no name of a topic.
            TypingError: it has messages of another class, or a subscriber handles another.
        """
        self._home.require_open()
        self._home.directory.topics.declare(name, shape_of(cls, "message"))

    def subscribe(self, ref: ActorRef, pattern: str) -> None:
        """Subscribe an actor to the topics that match a pattern, declared before or after.

        Raises:
            ValueError: it is no pattern.
            TypingError: a topic has messages of a class that the actor does not handle.
        """
        self._home.require_open()
        self._home.directory.topics.subscribe(self._of(ref), pattern)

    def unsubscribe(self, ref: ActorRef, pattern: str) -> None:
        """End a subscription; ValueError where there is none."""
        self._home.require_open()
        self._home.directory.topics.unsubscribe(self._of(ref), pattern)

    def connect(self, sender: ActorRef, receiver: ActorRef) -> None:
        """Open a channel on the device from one actor to another that it sends to by its number,
        with ``ctx.send_to``. Actors that its handler names have one already. On a GPU with resident
        kernels messages take it; without one they go by the host. They arrive on all devices.

        Raises:
            ActorError: one of them has ended, or is of another runtime.
        """
        self._home.require_open()
        self._home.directory.connect(self._of(sender), self._of(receiver))

    def _of(self, ref: ActorRef) -> Instance:
        instance = self._home.directory.by_number.get(ref.id)
        if instance is None or ref != ActorRef(self._home, instance):
            raise ActorError(f"{ref.name} has ended, or is of another runtime")
        return instance

    def publish(self, topic: str, message: Any, timeout: float | None = None) -> int:
        """Post a message to all subscribers of a topic; return their number.

        Raises:
            ActorError: the topic is not declared.
            QueueFull: a subscriber has no room in time, and those before it have the message. Where
                a subscriber refuses it for another reason, it is a dead letter.
        """
        self._home.require_open()
        wait = seconds_of("timeout", timeout)
        shape, there = self._home.directory.topics.of(topic)
        if type(message) is not shape.cls:
            raise TypeError(f"the topic {topic} has messages of {shape.cls.__qualname__}")
        data, key, post = bytes(message), key_of(topic), self._home.engine.post
        for instance in there:
            arguments = instance.there, data, wait, 0, 0, key, 0, 0, IS_PUBLISHED
            reason = post(*arguments, BURY_OTHERS)
            if reason == Reason.FULL:
                raise QueueFull(f"the inbox of {instance.name} is full")
        return len(there)

    def dead_letters(self) -> list[DeadLetter]:
        """Take the present dead letters, the oldest first: at most as many as the runtime keeps.
        Later ones are for the next call."""
        return self._home.take_dead()

    def replay(self, letter: DeadLetter, timeout: float | None = None) -> None:
        """Post a dead letter again, to the actor that it was for, or that has the name now.

        Raises:
            ActorError: the actor has ended, or accepts no messages; the letter is dead again. Or it
                has no receiver: a reply without a waiting caller, a topic that was not declared.
        """
        self._home.replay(letter, timeout)

    def expire_dead_letters(self, age: float) -> int:
        """Drop the dead letters that were posted more than ``age`` seconds ago; return their
        number."""
        self._home.require_open()
        age = min(seconds_of("age", age), 1e9)
        return self._home.engine.expire(max(now() - int(age * 1e9), 0))
