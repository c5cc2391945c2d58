"""A snapshot of a runtime whose actors are held."""

from __future__ import annotations

from typing import Any

from gridlane.actors.checkpoint import dtypes
from gridlane.actors.checkpoint.lattices import take_lattice
from gridlane.actors.checkpoint.residents import queues_of
from gridlane.actors.checkpoint.snapshot import (
    COUNTERS,
    SavedActor,
    SavedArray,
    SavedQueues,
    Snapshot,
)
from gridlane.actors.errors import ActorError
from gridlane.actors.layouts.blocks import MessageHeader
from gridlane.actors.layouts.schema import Layout
from gridlane.actors.local.home import Home
from gridlane.actors.local.instance import Instance
from gridlane.actors.values.messages import Shape
from gridlane.actors.values.states import State
from gridlane.memory.resource import Buffer

_LENGTH = MessageHeader["payload_bytes"]


def take(home: Home, instances: list[Instance], next_number: int) -> Snapshot:
    """Read a whole runtime while its actors and senders are held."""
    with home.directory.channels.at_rest():
        return _taken(home, instances, next_number)


def _taken(home: Home, instances: list[Instance], next_number: int) -> Snapshot:
    memory, classes = _Memory(), _Classes()
    facts = home.engine.facts()
    return Snapshot(
        device=home.device.name,
        topics=[(name, classes.add(shape)) for name, shape in home.directory.topics.all().items()],
        subscriptions=[(how, each.number) for how, each in home.directory.topics.subscriptions()],
        actors=[_actor(home, each, memory, classes) for each in instances],
        lattices=[
            take_lattice(each, lambda array: _array(array, memory), classes.add(each.lattice.state))
            for each in home.lattices.all()
            if each.state is not State.TERMINATING
        ],
        classes=classes.found,
        memory=memory.read(),
        dead=_dead(home.engine.dead_letters()),
        facts=(facts["physical"], facts["logical"], facts["dead_lost"], facts["dead_total"]),
        next_number=next_number,
    )


class _Classes:
    """The layouts of classes, each once."""

    def __init__(self) -> None:
        self.found: dict[int, Layout] = {}

    def add(self, shape: Shape | None) -> int:
        if shape is None:
            return 0
        self.found[shape.number] = shape.layout
        return shape.number


class _Memory:
    """The memory blocks that arrays lie in, each once, so that restored arrays share them."""

    def __init__(self) -> None:
        self._found: list[Buffer] = []

    def number(self, piece: Buffer) -> int:
        for number, each in enumerate(self._found):
            if each is piece or (each.address, each.size) == (piece.address, piece.size):
                return number
            if (
                each.address < piece.address + piece.size
                and piece.address < each.address + each.size
            ):
                raise ActorError(
                    "two arrays of launches lie in memory of other libraries that overlaps; "
                    "a checkpoint would part them: make both of one array of gridlane's"
                )
        self._found.append(piece)
        return len(self._found) - 1

    def read(self) -> list[bytes]:
        results: list[bytes] = []
        for piece in self._found:
            data = bytearray(piece.size)
            if piece.size:
                stream: Any = piece.device.default_stream
                stream.read(memoryview(data), piece.address)
            results.append(bytes(data))
        return results


def _actor(home: Home, instance: Instance, memory: _Memory, classes: _Classes) -> SavedActor:
    actor, queues = instance.actor, _queues(home, instance)
    physical, logical, node = instance.there.clock
    return SavedActor(
        name=instance.name,
        number=instance.number,
        handler=actor.name,
        message=classes.add(actor.message),
        state=classes.add(actor.state),
        replies=classes.add(actor.replies),
        threads=actor.threads,
        options=instance.options,
        lifecycle=instance.state.name,
        first=instance.first,
        now=instance.read_now(),
        arrays=tuple([_array(each, memory) for each in instance.arrays]),
        queues=queues,
        clock=(physical, logical, node),
        counters=_counters(instance, queues),
    )


def _counters(instance: Instance, queues: SavedQueues) -> tuple[int, ...]:
    counters = {name: getattr(instance.control, name) for name in COUNTERS}
    if instance.residence is not None:  # its outputs are counted before they are delivered
        counters["answered"] = max(counters["answered"] - len(queues.outputs), 0)
    return tuple(counters.values())


def _array(array: Any, memory: _Memory) -> SavedArray:
    piece = array.buffer
    return SavedArray(
        memory=memory.number(piece),
        offset=array.address - piece.address if array.size else 0,
        shape=tuple(array.shape),
        strides=tuple(array.strides),
        dtype=dtypes.to_table(array.dtype),
        readonly=array.readonly,
    )


def _queues(home: Home, instance: Instance) -> SavedQueues:
    if instance.residence is not None:
        return queues_of(instance, home.directory.channels)
    there = instance.there
    inbox, outbox, _, _ = there.queued()
    outputs, handled, headers, subscriber, code = there.held_back()
    error = ""
    if code:
        failure = home.supervisor.error_of(instance, code)
        error = f"{type(failure).__name__}: {failure}"
    _, _, high, out_high = there.lengths
    left = outputs, handled, headers, subscriber, code
    return SavedQueues(inbox, outbox, *left, error, (high, out_high))


def _dead(data: bytes) -> list[tuple[int, bytes]]:
    """The dead letters of the engine's bytes."""
    letters: list[tuple[int, bytes]] = []
    position = 0
    while position < len(data):
        actor, begin = int.from_bytes(data[position : position + 8], "little"), position + 8
        length = begin + _LENGTH.offset
        size = int.from_bytes(data[length : length + _LENGTH.size], "little")
        position = begin + MessageHeader.size + size
        letters.append((actor, data[begin:position]))
    return letters
