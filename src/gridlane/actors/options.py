"""What a launch says of an actor's queues, and of failures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from gridlane.actors.actor import Actor
from gridlane.actors.device.context import next_tier
from gridlane.actors.messages import TIERS
from gridlane.core.errors import TypingError

Restart = Literal["never", "fresh", "checkpoint"]
RESTARTS: tuple[Restart, ...] = get_args(Restart)
POLICIES = {"block": 0, "dead": 1}
"""What an actor's own messages do where another's inbox is full, as the engine has it."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a launch says of an actor's queues, and of failures; see ``Runtime.launch``.

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
        for name in ("capacity", "outbox", "emits", "batch"):
            _verify(name, getattr(self, name))
        if self.on_full not in POLICIES:
            raise ValueError(f"on_full={self.on_full!r} is 'block' or 'dead'")
        if self.restart not in RESTARTS:
            raise ValueError(f"restart={self.restart!r} is 'never', 'fresh' or 'checkpoint'")

    @property
    def messages(self) -> int:
        """The most messages of a step, a power of two."""
        return 1 << min(self.batch, self.capacity).bit_length() - 1

    @property
    def outputs(self) -> int:
        """The most messages that a step emits."""
        return self.messages * self.emits


def _verify(name: str, value: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"{name}={value!r} is no number")
    power = name in ("capacity", "outbox")
    if not 1 <= value <= 1 << 20 or (power and value & value - 1):
        what = "a power of two" if power else "a number"
        raise ValueError(f"{name}={value} is not {what} between 1 and 1048576")


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
