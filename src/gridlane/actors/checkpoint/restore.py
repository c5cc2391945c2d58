"""Make a runtime from a snapshot: compare its classes, and restore its actors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from gridlane.actors.checkpoint import dtypes, residents
from gridlane.actors.checkpoint.classes import difference
from gridlane.actors.checkpoint.lattices import (
    GivenLattices,
    SavedLattice,
    number_of,
    put_lattice,
)
from gridlane.actors.checkpoint.snapshot import COUNTERS, SavedActor, SavedArray, Snapshot
from gridlane.actors.errors import ActorError, CheckpointError, Reason
from gridlane.actors.lattices.lattice import Lattice
from gridlane.actors.lattices.ref import LatticeRef
from gridlane.actors.local.home import Home
from gridlane.actors.local.instance import Instance
from gridlane.actors.values.actor import Actor
from gridlane.actors.values.messages import Shape, shape_of
from gridlane.actors.values.states import State
from gridlane.core.forks import fork_waits
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.launch import geometry
from gridlane.memory.resource import Buffer

Place = Callable[[Actor, SavedActor, tuple[DeviceNDArray, ...]], Instance]
"""Makes an actor of the engine that no route leads to yet."""
PlaceLattice = Callable[[Lattice, SavedLattice, tuple[Any, ...]], LatticeRef]
"""Launches a lattice."""


class Given:
    """The actors and classes of a caller, compared with those of a snapshot.

    Raises:
        CheckpointError: one is missing, or differs from the checkpoint's; with the field.
        TypeError: one is no actor, or no class of messages.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        actors: Iterable[Actor],
        messages: Iterable[type],
        lattices: Iterable[Lattice],
    ) -> None:
        self._snapshot = snapshot
        self.lattices = GivenLattices(snapshot.lattices, lattices)
        self._actors = {each.name: each for each in _actors(actors)}
        self._shapes: dict[int, Shape] = {}
        for each in self._actors.values():
            for shape in (each.message, each.replies, each.state):
                if shape is not None:
                    self._shapes[shape.number] = shape
        for cls in messages:
            shape = shape_of(cls, "message")
            self._shapes[shape.number] = shape
        for saved in snapshot.actors:
            self._verify(saved)
        for topic, number in snapshot.topics:
            self.topic(topic, number)

    def actor(self, saved: SavedActor) -> Actor:
        """The actor of which a saved one was launched."""
        return self._actors[saved.handler]

    def topic(self, name: str, number: int) -> Shape:
        """The class of a topic's messages."""
        if number in self._shapes:
            return self._shapes[number]
        layout = self._snapshot.classes[number]
        others = [each for each in self._shapes.values() if each.layout.name == layout.name]
        if others:
            raise CheckpointError(
                f"the class {layout.name} of the topic {name} has changed: "
                f"{difference(layout, others[0].layout)}"
            )
        raise CheckpointError(
            f"the topic {name} has messages of {layout.name}, which no actor that is given "
            f"handles: restore with messages=[{layout.name}]"
        )

    def _verify(self, saved: SavedActor) -> None:
        actor = self._actors.get(saved.handler)
        if actor is None:
            raise CheckpointError(
                f"the checkpoint has {saved.name}, whose handler is {saved.handler}: give it in "
                "actors="
            )
        for what in ("message", "state", "replies"):
            shape: Shape | None = getattr(actor, what)
            self._verify_class(saved, what, getattr(saved, what), shape)
        for what, there, here in (
            ("threads", saved.threads, actor.threads),
            ("arrays", len(saved.arrays), actor.arrays),
        ):
            if there != here:
                raise CheckpointError(
                    f"{saved.name} has {there} {what} in the checkpoint, and {here} in the handler "
                    "that is given"
                )

    def _verify_class(self, saved: SavedActor, what: str, number: int, shape: Shape | None) -> None:
        here = 0 if shape is None else shape.number
        if here == number:
            return
        if shape is None or not number:
            there = self._snapshot.classes[number].name if number else "none"
            given = "none" if shape is None else shape.cls.__qualname__
            raise CheckpointError(
                f"{saved.name}: the class of its {what} is {there} in the checkpoint, and {given} "
                "in the handler that is given"
            )
        raise CheckpointError(
            f"{saved.name}: the class of its {what}, {shape.cls.__qualname__}, has changed: "
            f"{difference(self._snapshot.classes[number], shape.layout)}"
        )


def _actors(given: Iterable[Any]) -> list[Actor]:
    actors = list(given)
    for each in actors:
        if not isinstance(each, Actor):
            raise TypeError(f"{each!r:.60} is no actor: decorate its handler by @actors.kernel")
    names = [each.name for each in actors]
    for name in names:
        if names.count(name) > 1:
            raise CheckpointError(
                f"two handlers of the name {name} are given, which the checkpoint cannot tell apart"
            )
    return actors


def put_back(
    snapshot: Snapshot, given: Given, home: Home, place: Place, place_lattice: PlaceLattice
) -> None:
    """Restore a snapshot to a new runtime. Nothing runs before everything is there.

    Raises:
        CheckpointError: a message does not fit its actor.
    """
    arrays = _Arrays(snapshot, home.device)
    for saved in snapshot.lattices:
        ref = place_lattice(given.lattices.of(saved), saved, arrays.arguments_of(saved))
        put_lattice(ref, saved)
    with fork_waits(), home.directory.lock:
        home.engine.adopt(*snapshot.facts)
        instances: list[Instance] = []
        for saved in snapshot.actors:
            instance = place(given.actor(saved), saved, arrays.of(saved))
            _load(instance, saved)
            instance.run(home.drift)
            home.directory.add(instance)
            instances.append(instance)
        for name, number in snapshot.topics:
            home.directory.topics.declare(name, given.topic(name, number))
        for pattern, number in snapshot.subscriptions:
            home.directory.topics.subscribe(home.directory.by_number[number], pattern)
        for actor, letter in snapshot.dead:
            home.engine.bury(actor, letter, _reason_of(letter))
        _, _, lost, total = snapshot.facts
        evicted = home.engine.facts()["dead_lost"] - lost  # this runtime may keep fewer of them
        home.engine.adopt(0, 0, lost + evicted, total)
        for instance, saved in zip(instances, snapshot.actors, strict=True):
            if instance.residence is not None and saved.queues.code:
                _fail(home, instance, saved)
            instance.enter(State[saved.lifecycle])
        for instance in instances:
            _go_on(home, instance)
    home.start()


def _fail(home: Home, instance: Instance, saved: SavedActor) -> None:
    """Bury the message at which the handler has failed; a resident kernel waits for the outcome."""
    message = residents.settled(saved.queues).inbox[0]
    home.engine.bury(instance.number, message, int(Reason.FAILED))
    instance.control.dead += 1
    instance.there.fail(saved.queues.code)


def _go_on(home: Home, instance: Instance) -> None:
    """Deliver what an actor has emitted, and let it run."""
    if instance.residence is None:
        instance.there.schedule()
        return
    instance.there.dam(-1)
    if instance.state in (State.ACTIVE, State.SUSPENDED):
        home.directory.open_channels(instance)


def _reason_of(letter: bytes) -> int:
    from gridlane.actors.values.dead import read_dead

    return int(read_dead(0, letter).reason)


def _load(instance: Instance, saved: SavedActor) -> None:
    queues = saved.queues
    if {len(saved.now), len(saved.first)} != {instance.program.state.itemsize}:
        raise CheckpointError(f"the state of {saved.name} has another size in the checkpoint")
    try:
        if instance.residence is not None:
            residents.load(instance, saved)
        else:
            instance.there.load(
                queues.inbox,
                queues.outbox,
                queues.outputs,
                queues.handled,
                queues.headers,
                queues.subscriber,
                queues.code,
                *queues.highs,
            )
    except ValueError as error:
        raise CheckpointError(f"{saved.name}: {error}") from None
    instance.there.set_clock(*saved.clock)
    instance.last = saved.now
    instance.write_now(saved.now)
    for name, value in zip(COUNTERS, saved.counters, strict=True):
        setattr(instance.control, name, value)
    if instance.residence is not None:  # receivers count it once it is delivered
        instance.control.answered += len(queues.outputs)
        instance.control.received += 0 if queues.headers else queues.handled
    if queues.code:
        instance.raised = ActorError(f"{queues.error} (before the checkpoint)")


class _Arrays:
    """The arrays of launches, in memory of a device, which they share as before."""

    def __init__(self, snapshot: Snapshot, device: Any) -> None:
        self._device, self._pieces = device, list[Buffer]()
        for data in snapshot.memory:
            piece = device.allocate(len(data)) if data else Buffer(0, 0, device=device)
            if data:
                device.default_stream.write(piece.address, memoryview(data))
            self._pieces.append(piece)

    def of(self, saved: SavedActor) -> tuple[DeviceNDArray, ...]:
        try:
            return tuple([self._array(each) for each in saved.arrays])
        except (TypeError, ValueError, KeyError) as error:
            raise CheckpointError(f"{saved.name}: a wrong array: {error}") from None

    def arguments_of(self, saved: SavedLattice) -> tuple[Any, ...]:
        try:
            return tuple(
                [self._array(a) if isinstance(a, SavedArray) else number_of(a) for a in saved.args]
            )
        except (TypeError, ValueError, KeyError) as error:
            raise CheckpointError(f"{saved.name}: a wrong argument: {error}") from None

    def _array(self, saved: SavedArray) -> DeviceNDArray:
        piece, dtype = self._pieces[saved.memory], dtypes.from_table(saved.dtype)
        low, high = geometry.extent_of(saved.shape, saved.strides, dtype.itemsize)
        if high > low and not 0 <= saved.offset + low <= saved.offset + high <= piece.size:
            raise ValueError("it does not lie in its memory")
        steps = [stride for n, stride in zip(saved.shape, saved.strides, strict=True) if n > 1]
        if any(each % dtype.alignment for each in (saved.offset, *steps)):
            raise ValueError(f"its elements are not where {dtype} lies")
        return DeviceNDArray(
            saved.shape,
            saved.strides,
            dtype,
            0,
            piece,
            piece.address + saved.offset,
            saved.readonly,
        )
