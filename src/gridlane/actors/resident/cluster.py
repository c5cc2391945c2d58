"""Actors of a cluster: one launch has a block for each of them, and these reach each other's shared
memory.

The rings between them are in shared memory while the launch runs. While it does not run they are in
the device's memory (``device/cluster_rings.py``), where the host reads and changes them. For that,
the launch leaves the device between two messages, and comes back. An actor that has ended still has
a block. The block waits for the others' end, because they may write to its memory, and publishes
its end to the host.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gridlane.actors._engine import Actor as EngineActor
from gridlane.actors.errors import ActorError
from gridlane.actors.layouts import wire
from gridlane.actors.layouts.blocks import InboxHeader
from gridlane.actors.layouts.python import dtype
from gridlane.actors.resident.channels import BRIEF
from gridlane.actors.resident.residence import PATIENCE, SHARED, Residence, ResidentProgram
from gridlane.core.device_errors import NOT_PERMITTED, KernelStop, fail
from gridlane.core.errors import LaunchError
from gridlane.core.forks import fork_waits
from gridlane.memory.resource import Buffer

MOST = 8
"""The most actors of a cluster, which every device with clusters supports."""


def has_clusters(device: Any) -> bool:
    """Whether a device launches blocks that reach each other's shared memory."""
    return hasattr(device, "resident") and bool(device.attributes().get("CLUSTER_LAUNCH"))


def check_room(program: ResidentProgram, count: int, capacity: int) -> None:
    """Raise LaunchError where an actor cannot be in such a cluster."""
    form, device, name = program.form, program.device, program.actor.name
    if not form.shape.apart:
        raise LaunchError(
            f"{name}: an actor of a cluster handles messages by one thread, of some 4 KB at most: "
            "give it threads=1 and smaller messages, or launch it alone"
        )
    ring = wire.INBOX_HEAD + capacity * wire.slot_of(form.chunks)
    most = device.limits.max_dynamic_shared - SHARED
    if count * ring > most:
        raise LaunchError(
            f"{name}: {count} rings of {capacity} messages take {count * ring} bytes of the shared "
            f"memory of each block, and there are {most}: launch the cluster with a smaller "
            "capacity="
        )


class Cluster:
    """Actors of one launch, and the rings between them.

    Args:
        program: that all of them run.
        numbers: those of its actors, in the order of their blocks.
        capacity: messages of a ring.

    Attributes:
        members: their kernels' parts for the host.
        launches: the number of launches.

    Raises:
        DeviceError: the device has no room for it.
    """

    def __init__(self, program: ResidentProgram, numbers: list[int], capacity: int) -> None:
        device, count = program.device, len(numbers)
        self.program, self.members, self.launches = program, list[Member](), 0
        slot = wire.slot_of(program.form.chunks)
        self._ring = wire.INBOX_HEAD + capacity * slot
        self.region = count * self._ring
        self._rings: Buffer = device.allocate(count * self.region)
        empty = _empty(numbers, capacity, slot)
        device.default_stream.write(self._rings.address, memoryview(empty.view(np.uint8)))
        self._states: Buffer = device.allocate(max(count * program.state.itemsize, 16))
        self._memory: Buffer = device.allocate_host(count * wire.ROW.itemsize, "mapped")
        rows: Any = (ctypes.c_uint8 * (count * wire.ROW.itemsize)).from_address(
            self._memory.address
        )
        self._rows: Any = np.frombuffer(rows, wire.ROW)
        self._rows[:] = 0
        how = program.plan.kernel.artifact, (program.form.block, 1, 1), self
        self._kernel: Any = device.resident(*how, count, self.region)
        self._lock = self._kernel.context.pausing
        self._stops: dict[int, KernelStop] = {}
        self._depth = 0

    @property
    def name(self) -> str:
        """Its actors, for errors."""
        return f"a cluster ({', '.join(each.name for each in self.members)})"

    def ring(self, sender: int, receiver: int) -> Buffer:
        """The ring from one of its actors to another, valid while the cluster does not run."""
        start = self._rings.address + receiver * self.region + sender * self._ring
        return Buffer(start, self._ring, self._rings, self._rings.device)

    def state(self, rank: int) -> Buffer:
        """The state of an actor."""
        size = self.program.state.itemsize
        return Buffer(self._states.address + rank * size, size, self._states, self._states.device)

    def runs(self) -> bool:
        """Whether it is on the device.

        Raises:
            DeviceError: a kernel has brought the context down.
        """
        return not self._kernel.ended()

    # --- leaving the device for a while ---

    @contextmanager
    def away(self) -> Generator[None]:
        """Make it leave the device for the with block; it comes back with the members that were
        started meanwhile.

        Raises:
            DeviceError: NOT_PERMITTED, a handler runs on.
        """
        with fork_waits(), self._lock:
            self.ask_to_leave()
            try:
                left = self.leave()
            except BaseException:
                self._depth -= 1
                raise
        try:
            if not left:
                fail(
                    NOT_PERMITTED,
                    f"{self.name} leaves the device for a while between two messages, and a "
                    "handler of it runs on",
                )
            yield
        finally:
            with fork_waits(), self._lock:
                self.come_back()

    def ask_to_leave(self) -> None:
        """Order it to leave; it stays away until ``come_back`` is called as often."""
        self._depth += 1

    def leave(self) -> bool:
        """Make all of its actors park, and then leave at once; return whether they have."""
        if not self.runs():
            self._note_ends()
            return True
        held = self._park(time.monotonic() + PATIENCE)
        if held is None:
            return False
        try:
            for each in held:
                each.go()
            left = self.wait(PATIENCE)
        finally:
            for each in held:
                each.there.release()
        return left

    def _park(self, until: float) -> list[Member] | None:
        """Hold the running actors; None where one runs on. An actor that waits for room in
        another's inbox is held before that one."""
        first: Member | None = None
        while True:
            held: list[Member] = []
            late = None
            for each in sorted(self.members, key=lambda each: each is not first):
                if not each.is_here():
                    continue
                if each.is_parked():
                    held.append(each)
                elif not each.has_told():
                    late = each
                    break
            if late is None:
                return held
            for each in held:
                each.there.release()
            if time.monotonic() > until:
                return None
            first = late
            time.sleep(50e-6)

    def wait(self, timeout: float) -> bool:
        """Wait until the launch has ended; return whether it has."""
        until = time.monotonic() + timeout
        while self.runs():
            if time.monotonic() > until:
                return False
            time.sleep(50e-6)
        self._note_ends()
        return True

    def _note_ends(self) -> None:
        for each in self.members:
            each.note_end()

    def come_back(self) -> None:
        """Launch it again with the same actors, unless it must stay away. A launch that has not
        left runs on."""
        self._depth = max(self._depth - 1, 0)  # the caller may fail before
        if self._depth:
            return
        if self.runs():
            for each in self.members:
                each.stay()
            return
        live = [each for each in self.members if each.returns()]
        if live:
            self._launch(live)

    def _launch(self, live: list[Member]) -> None:
        self.launches += 1
        for each in self.members:
            row = each.row(self.launches if each in live else 0)
            row["rings"], row["region"] = self._rings.address, self.region
            self._rows[each.rank] = row
        _, arrays, _ = live[0].launched
        where = self._memory.address, len(self.members), self._states
        params = self.program.params(*where, arrays, self.name)
        for each in live:
            each.there.resides(each.raised)
        try:
            keep = self._memory, self._rings, self._states, arrays, [m.memory for m in self.members]
            self._kernel.start(params, keep)
        except BaseException:
            for each in live:
                each.there.ended()
                each.started = True  # a poll then finds it gone
            raise
        for each in live:
            each.started = True

    # --- failures ---

    def stop(self, rank: int) -> KernelStop | None:
        """The error that an actor's handler has raised."""
        kernel_stop: KernelStop | None = self._kernel.stop()
        if kernel_stop is not None:
            self._stops[kernel_stop.block[0]] = kernel_stop
        return self._stops.pop(rank, None)

    def flush(self) -> None:
        """Write the lines that handlers have printed."""
        self._kernel.flush()

    def lost(self) -> None:
        """Note that its context is lost."""
        self._kernel.lost()


def _empty(numbers: list[int], capacity: int, slot: int) -> Any:
    """The bytes of all rings, empty, in the order of their receivers."""
    ring = np.dtype([("head", dtype(InboxHeader)), ("slots", np.uint8, (capacity * slot,))])
    array = np.zeros((len(numbers), len(numbers)), ring)
    array["head"]["capacity"], array["head"]["slot_bytes"] = capacity, slot
    array["head"]["token"] = np.array(numbers, np.uint64)[:, None]
    return array


class _Seat:
    """The block of one actor."""

    def __init__(self, member: Member) -> None:
        self._member, self._cluster = member, member.cluster
        self.raised = member.raised

    def ended(self) -> bool:
        """Whether it handles no more messages."""
        return not self._member.is_here() or not self._cluster.runs()

    def stop(self) -> BaseException:
        """The error that its handler has raised. Of two failures at once, each actor has its
        own."""
        return self._cluster.stop(self._member.rank) or ActorError(
            f"{self._member.name} failed, and another actor of its cluster did at the same time, "
            "whose error is told alone"
        )

    def flush(self) -> None:
        """Write the lines that it has printed."""
        self._cluster.flush()

    def lost(self) -> None:
        """Note that its context is lost."""
        self._cluster.lost()


class Member(Residence):
    """The part of a cluster's launch that belongs to one actor."""

    def __init__(
        self,
        cluster: Cluster,
        there: EngineActor,
        name: str,
        number: int,
        capacity: int,
        outbox: int,
    ) -> None:
        self.cluster, self.rank = cluster, len(cluster.members)
        super().__init__(cluster.program, there, name, number, capacity, outbox)
        cluster.members.append(self)

    def _new_kernel(self) -> Any:
        ended: Any = (ctypes.c_uint32 * 4).from_address(self._status + wire.ENDED_AT)
        self._told: Any = np.frombuffer(ended, np.uint32)
        self.raised = self._status + wire.ENDED_AT + 4
        """The address of the word that says that its handler has failed."""
        return _Seat(self)

    def start(self, state: Buffer, arrays: tuple[Any, ...], drift: int) -> None:
        """Run in the cluster's next launch, which is now, unless the cluster must stay away.

        Raises:
            DeviceError: the device does not hold it besides others; NOT_PERMITTED, a handler of the
                cluster runs on.
        """
        with fork_waits(), self._lock:
            self._launched = self._away = state, arrays, drift
        try:
            with self.cluster.away():
                pass
        except BaseException:
            with fork_waits(), self._lock:
                self._away = None
            raise

    # --- as the cluster sees it ---

    @property
    def launched(self) -> tuple[Any, ...]:
        """The parameters with which it was started."""
        return self._launched

    def has_told(self) -> bool:
        """Whether its block has published that it handles no more messages in this launch."""
        return int(self._told[0]) == self.cluster.launches

    def is_here(self) -> bool:
        """Whether it may be handling messages."""
        return self.started and not self.has_told()

    def is_parked(self) -> bool:
        """Hold it; return whether it follows. An actor that ends, or hangs, does not."""
        with fork_waits(), self._lock:
            closed = self._closed
        return not closed and self.there.hold(BRIEF)

    def go(self) -> None:
        """Order it to leave; it is held."""
        with fork_waits(), self._lock:
            self._away = self._launched
        self.there.leaves()

    def stay(self) -> None:
        """Withdraw the order to leave."""
        with fork_waits(), self._lock:
            before, self._away = self._away, None
            if before is not None and self.started and not self._closed:
                self.there.resides(self.raised)

    def returns(self) -> bool:
        """Whether it comes back with the cluster's next launch."""
        with fork_waits(), self._lock:
            before, self._away = self._away, None
            return before is not None and not self._closed and not self.failed()

    def row(self, launch: int) -> Any:
        """The address of its row in a launch; 0 if it has none of its own."""
        if launch:
            self._told[:] = 0
            self._write_row(self._launched[2])
        row = self._row[0].copy()
        row["launch"] = launch
        return row

    def note_end(self) -> None:
        """Note that the launch has ended, and its part with it."""
        self._note_end()

    def is_gone(self) -> bool:
        """Whether the launch has ended without an order.

        Raises:
            DeviceError: a kernel has brought the context down.
        """
        with fork_waits(), self._lock:
            if not self.started or self._closed or self._away is not None or self.has_told():
                return False
            return not self.cluster.runs()

    def wait(self, timeout: float) -> bool:
        """Wait until it handles no more messages; return whether it does not.

        Raises:
            DeviceError: a kernel has brought the context down.
        """
        ended = super().wait(timeout)
        if ended and not any(each.started for each in self.cluster.members):
            self.cluster.wait(timeout)  # all blocks have met, or are about to
        return ended
