"""Channels: inboxes on the device, from one actor's kernel to another's, without the host.

Each pair of a sender and a receiver has a ring of its own in the device's memory, so neither waits
for a ticket. The kernels find the rings in tables in the host's memory, which change while they
run. A table's version is odd while it is written, and the new version is published to its actor.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any

import numpy as np

from gridlane.actors.errors import ActorError, Reason
from gridlane.actors.layouts import wire
from gridlane.actors.layouts.blocks import ROUTES, InboxHeader, RoutingTable
from gridlane.actors.layouts.python import dtype
from gridlane.actors.values.keys import key_of
from gridlane.core.errors import DeviceError
from gridlane.memory.resource import Buffer

TABLE_BYTES = wire.TABLE_KINDS + wire.CHUNK * ROUTES
GRACE = 1.0
"""Seconds for a kernel to read a change of its tables."""
SELDOM = 5.0
"""Seconds between two polls of the ring of a cluster that does not leave the device."""
BRIEF = 0.05
"""Seconds for a kernel to follow an order, or to read such a change, where it can be tried again
later."""


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
            key,
            address,
            capacity,
            slot,
            int(table["version"][0]) & 0xFFFFFFFF,
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
        inbox, which comes first. The sender gets its entry after the receiver has read its own.
        Returns whether both have read them, or do not run."""
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
        # Order: before its next message, whose outputs would go by the host, behind later ones.
        if not _wait_for(sender.has_learned, BRIEF):
            self.withdraw()
        return self.is_open

    def withdraw(self) -> None:
        """Remove the sender's entry, so that it sends by the host. Messages in the ring stay."""
        self.is_open = False
        if not self.sender.has_ended():
            self.sender.residence.routes.write(self.route, 0, 0, 0, 0)
            self.sender.residence.announce()

    def shut(self) -> bool:
        """Remove the sender's entry; return whether its kernel has read that."""
        self.withdraw()
        sender = self.sender.residence
        if self.sender.has_ended():
            return True
        return _wait_for(sender.has_learned, GRACE)

    def at_rest(self) -> AbstractContextManager[None]:
        """Move the ring to the device's memory, if it is in the shared memory of a running cluster.

        Raises:
            DeviceError: NOT_PERMITTED, a handler of the cluster runs on.
        """
        return nullcontext() if self.cluster is None else self.cluster.away()

    def _ends(self) -> tuple[int, int]:
        """The number of taken messages, and of all; the ring is at rest."""
        facts = np.frombuffer(self._read(0, InboxHeader.size), dtype(InboxHeader))[0]
        return int(facts["head"]), int(facts["tail"])

    @property
    def length(self) -> int:
        """The number of messages in it; both kernels may be changing that."""
        with self.at_rest():
            head, tail = self._ends()
        return tail - head

    def is_free(self) -> bool:
        """Whether messages by the host would follow all that was sent here: they are handled, or
        their receiver soon handles them, or has ended."""
        try:
            return _wait_for(lambda: self.receiver.has_ended() or not self.length, BRIEF)
        except DeviceError:
            return False

    @property
    def may_be_full(self) -> bool:
        """Whether its sender may wait for room in it. A cluster with such a kernel does not leave
        the device, so its ring cannot be read."""
        return self.cluster is not None or self.length >= self.capacity

    def is_drained(self) -> bool:
        """Whether all messages that it had are handled, as far as the host can see now."""
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
        """The messages in it, headers and payloads; both kernels are held."""
        with self.at_rest():
            head, tail = self._ends()
            if head == tail:
                return []
            slots = self._read(wire.INBOX_HEAD, self.capacity * self.slot)
        return self.receiver.there.ring(slots, head)

    def skip(self, reason: Reason) -> bool:
        """Bury the next message, at which the receiver's kernel has ended; return whether there is
        one."""
        with self.at_rest():
            head, _ = self._ends()
            offset = wire.INBOX_HEAD + head % self.capacity * self.slot
            if not self.receiver.there.refuse(self._read(offset, self.slot), head, int(reason)):
                return False
            self._write(wire.HEAD_AT, (head + 1).to_bytes(8, "little"))
        return True

    def close(self) -> bool:
        """End the channel after the receiver's kernel has ended; its messages are dead letters.
        Returns whether the sender's kernel has read that, so that the memory is free.

        Raises:
            DeviceError: see ``at_rest``; the messages are lost.
        """
        noted = self.shut()
        with self.at_rest():
            while self.skip(Reason.STOPPED):
                continue
        return noted


def shut_keys(channels: list[Channel]) -> bytes:
    """The numbers of the receivers that get nothing more of a sender that ends, and the keys of
    their names: messages of this sender to them are still on the device."""
    shut = [each.receiver for each in channels if not each.is_free()]
    keys = [key for each in shut for key in (each.number, key_of(each.name))]
    return np.array(keys, np.uint64).tobytes()


def _free(used: set[int]) -> int | None:
    """An entry of a table without a channel, open or shut."""
    return next((number for number in range(ROUTES) if number not in used), None)


class Channels:
    """The channels of a runtime's actors; under the directory's lock.

    Attributes:
        later: pairs of a sender and a receiver whose channel is to be opened when they are idle.
    """

    def __init__(self) -> None:
        self._all: dict[tuple[int, int], Channel] = {}
        self._kept: list[Channel] = []
        self._diverted: list[Channel] = []
        self.later: list[tuple[Any, Any]] = []

    def open(self, sender: Any, receiver: Any) -> bool:
        """Open a channel from one actor to another, where both have resident kernels. Messages go
        by the host where there is no room in their tables, as do an actor's to itself: its kernel
        would wait for room that it makes itself. They go by the host for a while where the sender
        is busy. Returns whether the channel is settled."""
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
        """Move all rings to the device's memory for the with block."""
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
        """Make a kernel that waits for room in another's inbox reach its orders: it then sends by
        the host, which keeps the messages until earlier ones are handled."""
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
        """Whether there is a channel between two actors."""
        return bool(self._all)

    @property
    def is_settled(self) -> bool:
        """Whether ``settle`` has no work."""
        return not self._diverted and not self.later

    def settle(self) -> None:
        """Deliver kept messages whose time has come, and open channels again."""
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
                return  # other threads wait for the lock; the next poll is soon
            self.later.pop(0)

    def shut(self, receiver: Any) -> None:
        """Close an actor's channels while it accepts no messages: those of others go by the host,
        which refuses them."""
        for channel in self._all.values():
            if channel.receiver is receiver:
                channel.shut()

    def reopen(self, receiver: Any) -> None:
        """Open them again."""
        for channel in list(self._all.values()):
            if channel.receiver is receiver and not channel.sender.has_ended():
                self.open(channel.sender, receiver)

    def skip(self, receiver: Any, source: int, reason: Reason) -> None:
        """Bury the message of a source at which the receiver's kernel has ended."""
        for channel in self._all.values():
            if channel.receiver is receiver and channel.source == source:
                channel.skip(reason)

    def end(self, instance: Any) -> None:
        """End an actor's channels. Its own messages are still handled; those of others are dead
        letters."""
        for key, channel in list(self._all.items()):
            if channel.receiver is instance:
                del self._all[key]
                for each in (channel.sender.residence, instance.residence):
                    if each.leaked:  # its kernel may still write to the ring, or read it
                        each.kept.append(channel)
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
