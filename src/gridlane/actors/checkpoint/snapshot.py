"""The contents of a checkpoint, as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gridlane.actors.layouts.schema import Layout
from gridlane.actors.values.options import Options

COUNTERS = ("received", "answered", "failed", "dead", "heartbeat", "epoch")
"""The fields of a control block that continue after a restore."""


@dataclass(frozen=True, slots=True)
class SavedArray:
    """An array of a launch: a view of one of the checkpoint's pieces of memory.

    Attributes:
        memory: the number of the piece.
        offset: bytes from its begin to the first element.
        dtype: as ``dtypes.to_table`` has it.
    """

    memory: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: Any
    readonly: bool


@dataclass(frozen=True, slots=True)
class SavedQueues:
    """An actor's messages, each as its header and payload.

    Attributes:
        handled: the number of handled messages whose outputs are blocked. They are the first of the
            inbox, except where ``headers`` has theirs.
        headers: those of such messages whose slots are released already.
        outputs: emitted messages that wait for room in another's inbox.
        subscriber: the next subscriber that receives the first of them.
        code: the error of the step, 0 for none; ``error`` is its text.
        highs: the most messages that inbox and outbox held at once.
    """

    inbox: list[bytes]
    outbox: list[bytes]
    outputs: list[bytes]
    handled: int
    headers: bytes
    subscriber: int
    code: int
    error: str
    highs: tuple[int, int]

    @property
    def waiting(self) -> list[bytes]:
        """The messages that the handler has not handled."""
        return self.inbox if self.headers else self.inbox[self.handled :]


@dataclass(frozen=True, slots=True)
class SavedActor:
    """An actor.

    Attributes:
        handler: the name of its handler.
        message, state, replies: the type_id of its classes, 0 for none.
        lifecycle: the name of its state of the lifecycle.
        first, now: the bytes of its first state, and of its state.
        clock: physical, logical, node.
        counters: those of ``COUNTERS``.
    """

    name: str
    number: int
    handler: str
    message: int
    state: int
    replies: int
    threads: int
    options: Options
    lifecycle: str
    first: bytes
    now: bytes
    arrays: tuple[SavedArray, ...]
    queues: SavedQueues
    clock: tuple[int, int, int]
    counters: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All actors of a runtime at one moment.

    Attributes:
        device: the name of the device that it was taken on.
        classes: the layouts of messages and states, by their type_id.
        topics: their names, and the type_id of their messages.
        subscriptions: patterns, and the numbers of actors.
        memory: the bytes of the pieces that arrays lie in.
        dead: of each dead letter the number of its actor, its header and payload.
        facts: physical and logical time, dead letters that were lost, and all that there were.
        next_number: of the next actor that is launched.
        lattices: of ``lattices.SavedLattice``.
    """

    device: str
    classes: dict[int, Layout]
    topics: list[tuple[str, int]]
    subscriptions: list[tuple[str, int]]
    actors: list[SavedActor]
    memory: list[bytes]
    dead: list[tuple[int, bytes]]
    facts: tuple[int, int, int, int]
    next_number: int
    lattices: list[Any] = field(default_factory=list[Any])
