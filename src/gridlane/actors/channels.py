"""Inboxes on the device: the ways from one actor's kernel to another's, without the host.

Each pair of a sender and a receiver has a ring of its own in the device's memory, so that neither
waits for a ticket. The kernels find the rings in tables in the host's memory, which change while
they run: a table's version is odd while it is written, and its actor is told of the new version.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any

import numpy as np

from gridlane.actors.device import wire
from gridlane.actors.errors import ActorError, Reason
from gridlane.actors.keys import key_of
from gridlane.actors.layouts.blocks import ROUTES, InboxHeader, RoutingTable
from gridlane.actors.layouts.python import dtype
from gridlane.core.errors import DeviceError
from gridlane.memory.resource import Buffer

TABLE_BYTES = wire.TABLE_KINDS + wire.CHUNK * ROUTES
GRACE = 1.0
"""Seconds for a kernel to see a change of its tables."""
SELDOM = 5.0
"""Seconds between two looks at the ring of a cluster that does not leave the device."""
BRIEF = 0.05
"""Seconds for a kernel to follow an order, or to see such a change, that has time until later."""


def _wait_for(holds: Callable[[], bool], seconds: float) -> bool:
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(50e-6)
    return True


class Table:
    """A routing table in memory that a kernel reads."""

    def __init__(self, address: int) -> None:
        bytes_: Any = (ctypes.c_uint8 * RoutingTable.size).from_address(address)
        self._table: Any = np.frombuffer(bytes_, dtype(RoutingTable))[0:1]
        self._table["capacity"] = ROUTES
        kinds: Any = (ctypes.c_uint64 * (2 * ROUTES)).from_address(address + wire.TABLE_KINDS)
        self._kinds: Any = np.frombuffer(kinds, np.uint64)

    def write(
        self, number: int, key: int, address: int, capacity: int, slot: int, kind: int = 0
    ) -> None:
        """Write an entry, for messages of a type; a capacity of 0 frees it."""
        shift = capacity.bit_length() - 1
        table, entry = self._table, self._table["entries"][0]
        table["version"] += 1
        self._kinds[2 * number] = kind
        entry[number] = (
            *(key, address, capacity, slot, int(table["version"][0]) & 0xFFFFFFFF),
            wire.IN_USE | shift << wire.SHIFT if capacity else 0,
        )
        table["count"] = int(np.count_nonzero(entry["flags"] & wire.IN_USE))
        table["version"] += 1


class Channel:
    """The ring from one actor to another, and its entries in their tables."""

    def __init__(self, sender: Any, receiver: Any, entries: tuple[int, int]) -> None:
        self.sender, self.receiver = sender, receiver
        self.is_open = False
        self._look_again = 0.0
        self.route, self.source = entries
        self.capacity, self.slot = receiver.residence.capacity, receiver.residence.slot
        self.device = receiver.device
        self.cluster: Any = receiver.residence.cluster
        if self.cluster is not None and self.cluster is sender.residence.cluster:
            self.memory: Buffer = self.cluster.ring(sender.residence.rank, receiver.residence.rank)
            return
        self.cluster = None
        size = wire.INBOX_HEAD + self.capacity * self.slot
        self.memory = self.device.allocate(size)
        head = np.zeros((), dtype(InboxHeader))
        head["capacity"], head["slot_bytes"] = self.capacity, self.slot
        head["token"] = receiver.number
        self.device.fill(self.memory.address, 0, size)
        self._write(0, head.tobytes())

    def _write(self, offset: int, data: bytes) -> None:
        self.device.default_stream.write(self.memory.address + offset, memoryview(data))

    def _read(self, offset: int, size: int) -> bytes:
        data = bytearray(size)
        self.device.default_stream.read(memoryview(data), self.memory.address + offset)
        return bytes(data)

    def open(self) -> bool:
        """Write the entries. The sender is held, and all that it has sent is in the receiver's
        inbox, which comes first: the sender has the way once the receiver knows that. Whether both
        have come to know it, or do not run."""
        sender, receiver = self.sender.residence, self.receiver.residence
        after = self.receiver.there.posted
        receiver.sources.write(self.source, after, self.memory.address, self.capacity, self.slot)
        receiver.announce()
        if not _wait_for(receiver.has_learned, BRIEF):
            return False
        key = key_of(self.receiver.name)
        kind = self.receiver.actor.message.number
        sender.routes.write(self.route, key, self.memory.address, self.capacity, self.slot, kind)
        sender.announce()
        self.is_open = True
        # Before it takes its next message: what that sends would go by the host, behind later ones.
        if not _wait_for(sender.has_learned, BRIEF):
            self.withdraw()
        return self.is_open

    def withdraw(self) -> None:
        """Take the way from the sender, which sends by the host then. What it has sent so far
        stays."""
        self.is_open = False
        if not self.sender.has_ended():
            self.sender.residence.routes.write(self.route, 0, 0, 0, 0)
            self.sender.residence.announce()

    def shut(self) -> bool:
        """Take the way from the sender; whether its kernel has noted that."""
        self.withdraw()
        sender = self.sender.residence
        if self.sender.has_ended():
            return True
        return _wait_for(sender.has_learned, GRACE)

    def at_rest(self) -> AbstractContextManager[None]:
        """Have the ring be in the device's memory, where it is not: it is in the shared memory of a
        cluster while that runs.

        Raises:
            DeviceError: NOT_PERMITTED, a handler of the cluster runs on.
        """
        return nullcontext() if self.cluster is None else self.cluster.away()

    def _ends(self) -> tuple[int, int]:
        """How many messages are taken, and how many there have been; it is at rest."""
        facts = np.frombuffer(self._read(0, InboxHeader.size), dtype(InboxHeader))[0]
        return int(facts["head"]), int(facts["tail"])

    @property
    def length(self) -> int:
        """How many messages it holds; both kernels may be changing that."""
        with self.at_rest():
            head, tail = self._ends()
        return tail - head

    def is_free(self) -> bool:
        """Whether what comes by the host is behind all that has been sent here: it is handled, or
        its receiver soon handles it, or has ended."""
        try:
            return _wait_for(lambda: self.receiver.has_ended() or not self.length, BRIEF)
        except DeviceError:
            return False

    @property
    def may_be_full(self) -> bool:
        """Whether its sender may wait for room in it. A cluster with such a kernel does not leave
        the device, so that nobody can look."""
        return self.cluster is not None or self.length >= self.capacity

    def is_drained(self) -> bool:
        """Whether all that it held is handled, as far as the host can see now."""
        if self.cluster is None:
            return not self.length
        if time.monotonic() < self._look_again:
            return False
        try:
            return not self.length
        except DeviceError:
            self._look_again = time.monotonic() + SELDOM
            return False

    def waiting(self) -> list[bytes]:
        """The messages that it holds, headers and payloads; both kernels are held."""
        with self.at_rest():
            head, tail = self._ends()
            if head == tail:
                return []
            slots = self._read(wire.INBOX_HEAD, self.capacity * self.slot)
        return self.receiver.there.ring(slots, head)

    def skip(self, reason: Reason) -> bool:
        """Make the next message a dead letter, as the receiver's kernel has ended at it; whether
        there is one."""
        with self.at_rest():
            head, _ = self._ends()
            at = wire.INBOX_HEAD + head % self.capacity * self.slot
            sequence = (head // self.capacity + 1) & 0xFFFFFFFF
            if not self.receiver.there.refuse(self._read(at, self.slot), sequence, int(reason)):
                return False
            self._write(16, (head + 1).to_bytes(8, "little"))
        return True

    def close(self) -> bool:
        """End the way after the receiver's kernel has ended: what is left are dead letters. Whether
        the sender's kernel has noted it, so that the memory is free.

        Raises:
            DeviceError: see ``at_rest``; what is left is lost.
        """
        noted = self.shut()
        with self.at_rest():
            while self.skip(Reason.STOPPED):
                continue
        return noted


def shut_keys(channels: list[Channel]) -> bytes:
    """The numbers of the receivers that get nothing more of a sender that ends, and the keys of
    their names: what they have of it is still on the device."""
    shut = [each.receiver for each in channels if not each.is_free()]
    keys = [key for each in shut for key in (each.number, key_of(each.name))]
    return np.array(keys, np.uint64).tobytes()


def _free(used: set[int]) -> int | None:
    """An entry of a table that no channel has, be it open or shut."""
    return next((number for number in range(ROUTES) if number not in used), None)


class Channels:
    """The channels of a runtime's actors; under the directory's lock.

    Attributes:
        later: pairs of a sender and a receiver whose way is to be opened when they have time.
    """

    def __init__(self) -> None:
        self._all: dict[tuple[int, int], Channel] = {}
        self._kept: list[Channel] = []
        self._diverted: list[Channel] = []
        self.later: list[tuple[Any, Any]] = []

    def open(self, sender: Any, receiver: Any) -> bool:
        """Make a way from one actor to another, where both have kernels that do not end. Where
        there is no room in their tables, messages go by the host, as do an actor's to itself: its
        kernel would wait for room that it makes itself. Where the sender is busy, they do for a
        while. Whether that is so no more."""
        if sender.residence is None or receiver.residence is None or sender is receiver:
            return True
        key = sender.number, receiver.number
        channel = self._all.get(key)
        if channel is None:
            route = _free({each.route for each in self._all.values() if each.sender is sender})
            source = _free(
                {each.source for each in self._all.values() if each.receiver is receiver}
            )
            if route is None or source is None:
                return True
            channel = Channel(sender, receiver, (route, source))
            self._all[key] = channel
        if channel.is_open or self._opened(channel):
            return True
        if (sender, receiver) not in self.later:
            self.later.append((sender, receiver))
        return False

    def _opened(self, channel: Channel) -> bool:
        sender = channel.sender
        if channel in self._diverted or not sender.there.hold(BRIEF):
            return False
        try:
            return sender.residence.is_quiet(BRIEF) and channel.open()
        finally:
            sender.there.release()

    # --- for checkpoints ---

    @contextmanager
    def at_rest(self) -> Generator[None]:
        """Have all rings be in the device's memory for the with block."""
        with ExitStack() as stack:
            for cluster in {
                each.cluster for each in self._all.values() if each.cluster is not None
            }:
                stack.enter_context(cluster.away())
            yield

    def waiting(self, receiver: Any) -> list[list[bytes]]:
        """The messages on the device for an actor, by their senders; all kernels are held."""
        return [each.waiting() for each in self._all.values() if each.receiver is receiver]

    def relieve(self, sender: Any) -> None:
        """Let a kernel that waits for room in another's inbox come to its orders: it sends by the
        host then, which keeps what it sends until the messages before it are handled."""
        for channel in self._all.values():
            if channel.sender is not sender or not channel.is_open:
                continue
            if channel.may_be_full:
                sender.there.dam(1)
                self._diverted.append(channel)
                sender.residence.diverted.append(channel)
                channel.withdraw()
        sender.there.keep()

    def full_of(self, sender: Any) -> set[int]:
        """The numbers of the actors whose inboxes for a sender are full, outside of clusters."""
        return {
            each.receiver.number
            for each in self._all.values()
            if each.sender is sender and each.is_open and each.cluster is None
            if each.length >= each.capacity
        }

    @property
    def is_used(self) -> bool:
        """Whether there is a way between two actors on the device."""
        return bool(self._all)

    @property
    def is_settled(self) -> bool:
        """Whether there is nothing for ``settle`` to do."""
        return not self._diverted and not self.later

    def settle(self) -> None:
        """Deliver what was kept where its time has come, and open ways again."""
        for channel in list(self._diverted):
            gone = channel.receiver.has_ended() or channel.sender.has_ended()
            if gone or channel.is_drained():
                self._diverted.remove(channel)
                channel.sender.residence.diverted.remove(channel)
                channel.sender.there.dam(-1)
                self.later.append((channel.sender, channel.receiver))
        while self.later:
            sender, receiver = self.later[0]
            if not sender.has_ended() and receiver.accepts and not self.open(sender, receiver):
                self.later.append(self.later.pop(0))
                return  # others wait for the lock meanwhile, and the next look is soon
            self.later.pop(0)

    def shut(self, receiver: Any) -> None:
        """An actor takes no messages for a while: those of others go by the host, which says so."""
        for channel in self._all.values():
            if channel.receiver is receiver:
                channel.shut()

    def reopen(self, receiver: Any) -> None:
        """It takes messages again."""
        for channel in list(self._all.values()):
            if channel.receiver is receiver and not channel.sender.has_ended():
                self.open(channel.sender, receiver)

    def skip(self, receiver: Any, source: int, reason: Reason) -> None:
        """The message of a source is dead, at which the receiver's kernel has ended."""
        for channel in self._all.values():
            if channel.receiver is receiver and channel.source == source:
                channel.skip(reason)

    def end(self, instance: Any) -> None:
        """An actor has ended. What it has sent is handled still; what others have sent is dead."""
        for key, channel in list(self._all.items()):
            if channel.receiver is instance:
                del self._all[key]
                try:
                    noted = channel.close()
                except DeviceError as error:
                    instance.failure = instance.failure or ActorError(
                        f"{instance.name} is ended, and what {channel.sender.name} has sent to it "
                        f"is lost: {error}"
                    )
                    noted = False
                if not noted:
                    self._kept.append(channel)
