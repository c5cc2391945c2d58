"""A launched actor: its part of the engine, its memory, its transitions."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from gridlane.actors._engine import Actor as EngineActor
from gridlane.actors._engine import Engine, Handle
from gridlane.actors.errors import ActorError, Reason
from gridlane.actors.layouts.blocks import ControlBlock
from gridlane.actors.layouts.python import ctype
from gridlane.actors.layouts.step import HANDLED
from gridlane.actors.local.batches import INFO_BYTES, Batches, host_bytes
from gridlane.actors.local.program import Program
from gridlane.actors.resident.residence import Residence, ResidentProgram, end_residence
from gridlane.actors.values.actor import Actor
from gridlane.actors.values.options import Options
from gridlane.actors.values.states import ACCEPTS, PHASES, State, after
from gridlane.core.forks import fork_waits
from gridlane.memory.resource import Buffer

FAILURES = (1 << 24) - 1
"""The bits of a failure's number that a caller gets."""
KEPT = 1024
"""The most failures of an actor that are kept for their callers."""


class Instance:
    """A launched actor.

    Attributes:
        there: its part in the engine.
        memory: of its state, on the device.
        first, last: the bytes of its first state, and of that of the last checkpoint.
        arrays: of its launch.
        batches: the steps that Python launches, where C does not.
        residence: its resident kernel, if it has one.
        ending: whether its phase is final.
        failure: the error that ended it, or that it was restarted after.
        waits: whether it has never been activated, so that a call would wait.
        raised: the exception of a step that Python has launched, until it is handled.
        shares: its inboxes for other processes, which end with it.
        retire: called once it has ended.
    """

    def __init__(
        self,
        actor: Actor,
        name: str,
        number: int,
        device: Any,
        engine: Engine,
        there: EngineActor,
        program: Program | ResidentProgram,
        memory: Buffer,
        first: bytes,
        options: Options,
        retire: Callable[[Instance], None],
    ) -> None:
        self.actor, self.name, self.number = actor, name, number
        self.device, self.engine, self.there = device, engine, there
        self.program, self.memory, self.first = program, memory, first
        self.options, self.restart = options, options.restart
        self.last = b""
        self.arrays: tuple[Any, ...] = ()
        self.batches: Batches | None = None
        self.residence: Residence | None = None
        self.failure: BaseException | None = None
        self._failures: dict[int, BaseException] = {}
        self.raised: BaseException | None = None
        self.shares: list[Any] = []
        self._handle: Handle | None = None
        self.control: Any = ctype(ControlBlock).from_buffer(there.control)
        self.state = State.CREATED
        self.waits = True
        self.ending = False
        self.lock = threading.RLock()
        self._retire = retire

    # --- transitions ---

    def move(self, transition: str) -> None:
        """Make a transition.

        Raises:
            StateError: it is not allowed in this state.
        """
        with fork_waits(), self.lock:
            self.state = after(self.name, self.state, transition)
            self.waits = self.state.value < State.ACTIVE.value
            self.control.state = self.state.value
            self.apply_phase()

    def enter(self, state: State) -> None:
        """Enter the state of a checkpoint."""
        with fork_waits(), self.lock:
            self.state = state
            self.waits = state.value < State.ACTIVE.value
            self.control.state = state.value
            self.apply_phase()

    def apply_phase(self) -> None:
        """Publish to the engine what the state allows. An actor that has failed does not run until
        ``there.recover()``."""
        if not self.ending:
            self.there.phase = PHASES[self.state]

    def drain(self, until: float) -> None:
        """Handle the inbox, and deliver the outputs, until a time of ``time.monotonic``."""
        if self.there.lengths[0]:
            self.there.schedule()
        there, residence = self.there, self.residence
        while (
            (there.lengths[0] or there.working or there.listed)
            # messages that a checkpoint held back, and blocked outputs
            or (residence is not None and residence.started and residence.unsent())
        ):
            if time.monotonic() >= until or self.state is not State.TERMINATING:
                return
            time.sleep(0.0002)

    def end(self, reason: Reason) -> None:
        """Accept no more messages, stop what runs, bury the rest."""
        with fork_waits(), self.lock:
            if self.has_ended():
                return
            self.ending = True
            self.there.phase = 0
        for share in list(self.shares):
            share.close()
        self.engine.unblock(self.there)
        if self.residence is not None:
            end_residence(self, self.residence)
        else:
            self._stop_step()
        with fork_waits(), self.lock:
            if self.has_ended():
                return
            self.there.drain(int(reason))
            self.state = State.TERMINATED
            self.control.state = State.TERMINATED.value
        self._retire(self)

    def _stop_step(self) -> None:
        self.wait_for_step(0.2)
        while self.there.working:
            since = self.there.since
            if since:
                self.there.stop(since)
            self.wait_for_step(0.2)

    @property
    def is_ending(self) -> bool:
        """Whether it is about to end, or has ended."""
        return self.state in (State.TERMINATING, State.TERMINATED)

    @property
    def accepts(self) -> bool:
        """Whether its state allows it to accept messages."""
        return bool(PHASES[self.state] & ACCEPTS)

    def note_failure(self, error: BaseException) -> None:
        """Store the error of the failure that the control block counts as the last."""
        self.failure = error
        self._failures[self.control.failed & FAILURES] = error
        if len(self._failures) > KEPT:
            del self._failures[next(iter(self._failures))]

    def note_end(self, error: BaseException) -> None:
        """Store the error that ends it, as a failure with a number of its own: callers of earlier
        ones may still request theirs. Its kernel is gone, or hangs."""
        self.control.failed += 1
        self.note_failure(error)

    def failure_of(self, number: int) -> BaseException | None:
        """The error of a failure by its number, 0 for the last one; None where it is not kept."""
        return self._failures.get(number) if number else self.failure

    def has_ended(self) -> bool:
        """Whether it has ended for good."""
        return self.state is State.TERMINATED

    def wait_for_step(self, timeout: float) -> None:
        """Wait until no step runs and no message is being posted."""
        until = time.monotonic() + timeout
        while self.there.working and time.monotonic() < until:
            time.sleep(0.0001)

    def run(self, drift: int) -> None:
        """Launch its resident kernel, if it has one that does not run."""
        if self.residence is not None and not self.residence.started:
            self.residence.start(self.memory, self.arrays, drift)

    # --- its state ---

    def read(self) -> bytes:
        """The bytes of the state, between two steps."""
        with Held(self):
            return self.read_now()

    def read_now(self) -> bytes:
        """The bytes of the state of an actor that does not run."""
        data = bytearray(self.program.state.itemsize)
        self.device.default_stream.read(memoryview(data), self.memory.address)
        return bytes(data)

    def write(self, data: bytes) -> None:
        """Replace the state, between two steps."""
        with Held(self):
            self.write_now(data)

    def write_now(self, data: bytes) -> None:
        """Replace the state of an actor that does not run."""
        self.device.default_stream.write(self.memory.address, memoryview(data))

    # --- C ---

    def c_handle(self) -> int:
        """The address of the handle that C programs have; see ``ActorRef.c_handle``."""
        with fork_waits(), self.lock:
            if self._handle is None:
                if self.has_ended():
                    raise ActorError(f"{self.name} has ended, or its runtime is closed")
                replies = self.actor.replies
                size, number = (0, 0) if replies is None else (replies.layout.size, replies.number)
                self._handle = Handle(self.there, self.actor.message.layout.size, size, number)
            return self._handle.address

    # --- facts ---

    def handled(self) -> int:
        """The number of handled messages of its step, as far as the host can see."""
        return host_bytes(self.there.places[0], INFO_BYTES).cast("i")[HANDLED]

    def metrics(self) -> dict[str, int]:
        """Counters and lengths; see ``ActorRef.metrics``."""
        if self.residence is not None:
            time.sleep(5e-6)  # a resident kernel publishes a message a moment later
        waiting, unread, high, out_high = self.there.lengths
        control = self.control
        return {
            "received": control.received,
            "emitted": control.answered,
            "failed": control.failed,
            "dead": control.dead,
            "waiting": waiting,
            "unread": unread,
            "inbox_high": high,
            "outbox_high": out_high,
            "restarts": control.epoch,
        }


class Held:
    """Keep an actor from its next step."""

    def __init__(self, instance: Instance) -> None:
        self._there = instance.there

    def __enter__(self) -> None:
        while not self._there.hold(0.1):
            continue  # signal handlers have run, and a closed engine raises

    def __exit__(self, *error: object) -> None:
        self._there.release()
