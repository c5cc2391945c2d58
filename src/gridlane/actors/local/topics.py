"""The topics of a runtime and their subscribers: the targets of the engine's routes for them."""

from __future__ import annotations

import threading
from collections.abc import Callable

from gridlane.actors._engine import Engine
from gridlane.actors.errors import ActorError
from gridlane.actors.local.instance import Instance
from gridlane.actors.values.actor import Actor
from gridlane.actors.values.keys import key_of, verify_alone
from gridlane.actors.values.messages import Shape
from gridlane.actors.values.topics import matches, verify_topic
from gridlane.core.errors import NameLookupError, TypingError
from gridlane.core.forks import fork_waits


class Topics:
    """The topics of a runtime; ``Directory`` has one.

    Args:
        lock: of the directory, which callers hold for several changes.
        note_change: is called after each change of the engine's targets.
    """

    def __init__(
        self, engine: Engine, lock: threading.RLock, note_change: Callable[[], None]
    ) -> None:
        self._engine, self._lock, self._note_change = engine, lock, note_change
        self._topics: dict[str, Shape] = {}
        self._subscriptions: list[tuple[str, Instance]] = []

    def declare(self, name: str, shape: Shape) -> None:
        """Add a topic; TypingError where it has messages of another class."""
        with fork_waits(), self._lock:
            known = self._topics.get(verify_topic(name), shape)
            verify_alone(name, {key_of(each): each for each in self._topics})
            if known is not shape:
                raise TypingError(
                    f"the topic {name} has messages of {known.cls.__qualname__} already"
                )
            for pattern, instance in self._subscriptions:
                _check(pattern, instance, name, shape)
            self._topics[name] = shape
            self._publish()

    def subscribe(self, instance: Instance, pattern: str) -> None:
        """Add a subscription; TypingError where a topic has messages of another class."""
        matches(pattern, "any")
        with fork_waits(), self._lock:
            for name, shape in self._topics.items():
                _check(pattern, instance, name, shape)
            self._subscriptions.append((pattern, instance))
            self._publish()

    def unsubscribe(self, instance: Instance, pattern: str) -> None:
        """End a subscription; ValueError where there is none."""
        with fork_waits(), self._lock:
            if (pattern, instance) not in self._subscriptions:
                raise ValueError(f"{instance.name} does not subscribe to {pattern!r}")
            self._subscriptions.remove((pattern, instance))
            self._publish()

    def of(self, name: str) -> tuple[Shape, list[Instance]]:
        """The class of a topic's messages, and its subscribers.

        Raises:
            ActorError: it is not declared.
        """
        with fork_waits(), self._lock:
            shape = self._topics.get(name)
            if shape is None:
                raise ActorError(f"the topic {name!r} is not declared; see Runtime.topic")
            return shape, self._subscribers(name)

    def all(self) -> dict[str, Shape]:
        """The topics, and the classes of their messages."""
        with fork_waits(), self._lock:
            return dict(self._topics)

    def subscriptions(self) -> list[tuple[str, Instance]]:
        """The patterns and their subscribers, in the order of the subscriptions."""
        with fork_waits(), self._lock:
            return list(self._subscriptions)

    def _subscribers(self, topic: str) -> list[Instance]:
        instances = [
            instance for pattern, instance in self._subscriptions if matches(pattern, topic)
        ]
        return list(dict.fromkeys(instances))

    def _publish(self) -> None:
        self._engine.set_topics(
            [
                (key_of(name), [each.there for each in self._subscribers(name)])
                for name in self._topics
            ]
        )
        self._note_change()

    def remove(self, instance: Instance) -> None:
        """End the subscriptions of an actor that has ended; the caller holds the lock."""
        left = [pair for pair in self._subscriptions if pair[1] is not instance]
        if len(left) < len(self._subscriptions):
            self._subscriptions = left
            self._publish()

    def check(self, actor: Actor) -> None:
        """Raise NameLookupError, with the line, for a topic that is not declared."""
        for use in actor.uses:
            if use.method == "publish" and use.name not in self._topics:
                raise NameLookupError(
                    f"{actor.name} publishes to {use.name!r}, which nobody has declared: call "
                    "Runtime.topic(name, class) before it is launched",
                    use.place,
                )


def _check(pattern: str, instance: Instance, topic: str, shape: Shape) -> None:
    if matches(pattern, topic) and shape is not instance.actor.message:
        raise TypingError(
            f"{instance.name} subscribes to {pattern}, and the topic {topic} has messages of "
            f"{shape.cls.__qualname__}; it handles {instance.actor.message.cls.__qualname__}"
        )
