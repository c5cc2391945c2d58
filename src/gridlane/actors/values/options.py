"""Options of a launch: an actor's queues, and its failures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

from gridlane.actors.values.actor import Actor
from gridlane.actors.values.messages import TIERS, next_tier
from gridlane.actors.values.numbers import verify
from gridlane.core.errors import TypingError

Restart = Literal["never", "fresh", "checkpoint"]
RESTARTS: tuple[Restart, ...] = get_args(Restart)
POLICIES = {"block": 0, "dead": 1}
"""The policy of an actor's own messages for a full inbox of another, as the engine has it."""

MOST_OUTPUTS = 1 << 20
"""The limit of a batch: messages times ``emits``."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a launch: an actor's queues, and its failures; see ``Runtime.launch``.

    Attributes:
        tiers: bytes of payloads in the inbox, and of those that the actor emits.

    Raises:
        TypeError, ValueError: a wrong number or word.
    """

    tiers: tuple[int, int]
    capacity: int
    outbox: int
    emits: int
    batch: int
    on_full: str
    restart: Restart

    def __post_init__(self) -> None:
        verify(capacity=self.capacity, outbox=self.outbox, emits=self.emits, batch=self.batch)
        if self.on_full not in POLICIES:
            raise ValueError(f"on_full={self.on_full!r} is 'block' or 'dead'")
        if self.restart not in RESTARTS:
            raise ValueError(f"restart={self.restart!r} is 'never', 'fresh' or 'checkpoint'")
        if self.outputs > MOST_OUTPUTS:
            raise ValueError(
                f"{self.messages} messages of a batch with emits={self.emits} make more than "
                f"{MOST_OUTPUTS} outputs: choose a smaller batch"
            )

    @property
    def messages(self) -> int:
        """The most messages of a step, a power of two."""
        return 1 << min(self.batch, self.capacity).bit_length() - 1

    def holding(self, messages: int) -> Options:
        """The same, with an inbox that holds so many messages. On a device with resident kernels,
        an actor has one for each sender besides that of its capacity."""
        if messages <= self.capacity:
            return self
        capacity = 1 << (messages - 1).bit_length()
        return replace(self, capacity=capacity, batch=self.messages)

    @property
    def outputs(self) -> int:
        """The most messages that a step emits."""
        return self.messages * self.emits


def tiers_of(actor: Actor, tier: int | None) -> tuple[int, int]:
    """Bytes of payloads in the inbox, and of those that the actor emits."""
    if tier is None:
        replies = 0 if actor.replies is None else actor.replies.layout.size
        return next_tier(actor.message.layout.size), next_tier(replies)
    if tier not in TIERS:
        raise ValueError(f"tier={tier} is not one of {', '.join(map(str, TIERS))}")
    for shape in (actor.message, actor.replies):
        if shape is not None and shape.layout.size > tier:
            raise TypingError(
                f"{shape.cls.__qualname__} has {shape.layout.size} bytes, more than the tier of "
                f"{tier}; the next is {next_tier(shape.layout.size)}",
                actor.place,
            )
    return tier, tier
