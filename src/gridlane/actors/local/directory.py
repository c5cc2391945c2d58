"""The actors of a runtime by number and name, and the channels between them."""

from __future__ import annotations

import itertools
import threading

from gridlane.actors._engine import Engine
from gridlane.actors.errors import ActorError
from gridlane.actors.local.instance import Instance
from gridlane.actors.local.topics import Topics
from gridlane.actors.resident.channels import Channels
from gridlane.actors.resident.cycles import Cycles
from gridlane.actors.values.actor import Actor
from gridlane.actors.values.keys import key_of, verify_alone
from gridlane.core.errors import NameLookupError
from gridlane.core.forks import fork_waits

RETIRED = 64
"""How many ended actors are kept before their memory is freed; see ``Directory.remove``."""


class Directory:
    """The actors of a runtime, and the targets of the engine's routes.

    Attributes:
        by_number, by_name: actors that have not ended.
        topics: the topics and their subscribers.
        version: the number of changes so far.
        closing: whether the engine is about to end, and frees everything itself.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.lock = threading.RLock()
        self.by_number: dict[int, Instance] = {}
        self.by_name: dict[str, Instance] = {}
        self.version = 0
        self.closing = False
        self._connections: list[tuple[Instance, Instance]] = []
        self._retired: list[Instance] = []
        self.channels = Channels()
        self._cycles = Cycles()
        self._reclaimed = 0
        self._keys: dict[int, str] = {}
        self._numbers: dict[str, itertools.count[int]] = {}
        self.topics = Topics(engine, self.lock, self._note_change)

    def require_open(self) -> None:
        """Raise ActorError where the runtime is about to end; the caller holds the lock."""
        if self.closing:
            raise ActorError("the runtime is closed")

    def all(self) -> list[Instance]:
        """The actors that have not ended."""
        with fork_waits(), self.lock:
            return list(self.by_number.values())

    def free_name(self, actor: Actor, wanted: str | None) -> str:
        """The requested name, or one made of the handler's.

        Raises:
            ActorError: an actor has the name.
        """
        if wanted is not None:
            if not isinstance(wanted, str) or not wanted:  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ValueError(f"name={wanted!r} is no name")
            if wanted in self.by_name:
                raise ActorError(f"there is an actor {wanted!r} already")
            return verify_alone(wanted, self._keys)
        if actor.name not in self.by_name:
            return verify_alone(actor.name, self._keys)
        numbers = self._numbers.setdefault(actor.name, itertools.count(2))
        names = (f"{actor.name}{n}" for n in numbers)
        return verify_alone(next(name for name in names if name not in self.by_name), self._keys)

    def add(self, instance: Instance) -> None:
        """Route a name and a number to an actor."""
        with fork_waits(), self.lock:
            self.by_number[instance.number] = self.by_name[instance.name] = instance
            self._keys[key_of(instance.name)] = instance.name
            self._route(key_of(instance.name), instance)
            self._route(instance.number, instance)

    def remove(self, instance: Instance) -> None:
        """Remove an actor that has ended. Its memory is freed when no step can refer to it; that is
        tested once for many actors."""
        with fork_waits(), self.lock:
            self.channels.end(instance)
            self._connections = [pair for pair in self._connections if instance not in pair]
            self.by_number.pop(instance.number, None)
            self._route(instance.number, None)
            if self.by_name.get(instance.name) is instance:
                del self.by_name[instance.name]
                self._keys.pop(key_of(instance.name), None)
                self._route(key_of(instance.name), None)
            self.topics.remove(instance)
            self._retired.append(instance)
            if len(self._retired) >= RETIRED:
                self._reclaim()

    def _note_change(self) -> None:
        """Count a change of the topics' targets, and free old ones after many."""
        self.version += 1
        if self.version - self._reclaimed >= RETIRED:
            self._reclaim()

    def _reclaim(self) -> None:
        """Free the actors to which no step can refer any more."""
        self._reclaimed = self.version
        # Order: the list first, then quiet(). A worker that takes an actor off the run queue reads
        # it once more after that.
        free = [each for each in self._retired if not each.there.listed]
        if self.closing or not self._engine.quiet(0.002):
            return
        gone = {each.number for each in free if self._engine.forget(each.there)}
        self._retired = [each for each in self._retired if each.number not in gone]
        self._engine.free_routes()

    def find(self, number: int) -> Instance | None:
        """The actor of a number, also one that has ended recently."""
        instance = self.by_number.get(number)
        if instance is None:
            instance = next((each for each in list(self._retired) if each.number == number), None)
        return instance

    def of_letter(self, actor: int) -> Instance | None:
        """The actor of a number or of the key of its name."""
        with fork_waits(), self.lock:
            instance = self.by_number.get(actor)
            if instance is None and actor in self._keys:
                instance = self.by_name[self._keys[actor]]
            return instance

    def _route(self, key: int, instance: Instance | None) -> None:
        self.version += 1
        self._engine.set_route(key, None if instance is None else instance.there)

    # --- what handlers name ---

    def open_channels(self, instance: Instance) -> None:
        """Open the channels on the device to the actors that a handler names, and back."""
        if instance.residence is None:
            return
        with fork_waits(), self.lock:
            self.channels.reopen(instance)
            for use in instance.actor.uses:
                other = self.by_name.get(use.name) if use.method == "send" else None
                if other is not None:
                    if other.accepts:
                        self.channels.open(instance, other)
                    self.channels.open(other, instance)
            for pair in self._connections:
                if instance in pair and pair[1].accepts:
                    self.channels.open(*pair)

    def connect(self, sender: Instance, receiver: Instance) -> None:
        """Open a channel on the device from one actor to another, now or once that accepts
        messages. It does nothing elsewhere, and where one of them has ended meanwhile."""
        if sender.residence is None or receiver.residence is None:
            return
        with fork_waits(), self.lock:
            if not {sender.number, receiver.number} <= self.by_number.keys():
                return
            if (sender, receiver) not in self._connections:
                self._connections.append((sender, receiver))
            if receiver.accepts:
                self.channels.open(sender, receiver)

    def end_cycles(self) -> None:
        """Unblock actors that wait for room in each other's inboxes on the device."""
        if not self.channels.is_used:
            return
        with fork_waits(), self.lock:
            if not self.closing:
                self._cycles.look(list(self.by_number.values()), self.channels)

    def settle_channels(self) -> None:
        """Do postponed changes of channels."""
        if self.channels.is_settled:
            return
        with fork_waits(), self.lock:
            if not self.closing:
                self.channels.settle()

    def shut_channels(self, instance: Instance) -> None:
        """Make others send to an actor by the host, as it accepts no messages."""
        with fork_waits(), self.lock:
            self.channels.shut(instance)

    def check_names(self, instance: Instance) -> None:
        """Raise NameLookupError, with the line, for an actor that is not launched."""
        for use in instance.actor.uses:
            if use.method == "send" and use.name not in self.by_name:
                raise NameLookupError(
                    f"{instance.name} sends to {use.name!r}, and no actor has this name: launch it "
                    "before this one is activated",
                    use.place,
                )
