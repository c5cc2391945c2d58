"""The engine of a runtime, and its threads, which the runtime's parts share."""

from __future__ import annotations

import asyncio
import itertools
import os
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from gridlane.actors._engine import TO_OUTBOX, Engine, now
from gridlane.actors._engine import Actor as EngineActor
from gridlane.actors.errors import ActorError, Reason, StateError
from gridlane.actors.local.directory import Directory
from gridlane.actors.local.engines import live_homes, new_engine
from gridlane.actors.local.instance import Instance
from gridlane.actors.local.register import Register
from gridlane.actors.local.supervision import TICK, Supervisor
from gridlane.actors.processes.inboxes import remove_left_inboxes
from gridlane.actors.resident.residence import refusal
from gridlane.actors.values.dead import DeadLetter, read_dead
from gridlane.actors.values.keys import Numbers
from gridlane.core.forks import fork_waits
from gridlane.core.processors import available_processors
from gridlane.core.threads import start_thread
from gridlane.launch.devices import get_device

FOREVER = 1e10
"""Seconds; the engine treats so many as no limit."""
BURY_FULL, BURY_OTHERS = 1, 2
"""Which posted messages become dead letters: those for a full inbox, those refused for other
reasons."""
PAUSE = 20e-9
"""Seconds, roughly, of a worker's poll for work."""
_nodes = itertools.count(1)


def _threads_of(workers: int | None) -> tuple[int, int]:
    """The threads of the host's engine, and the address of the function that they stop by."""
    from gridlane.runtime.drivers.cpu_native import pool

    return workers or available_processors(), pool().code["gridlane_stop"]


class Home:
    """The engine of a runtime, its actors and threads; ``Runtime`` has the arguments.

    Attributes:
        by_host: whether Python launches the steps.
        residents: whether the device can have resident kernels.
        must_reside: whether all actors have such kernels.
        timed: whether these count waits and handling times of messages.
        drift: nanoseconds that a message's clock may be ahead.
        spin: nanoseconds that a call spins.
        closed: whether the engine has ended, or is another process's.
        forked: whether it is another process's.
        lattices: those of the runtime.
        numbers: of actors and lattices.
        cutting: a lock, held while a checkpoint is taken.
        at_end: called before the engine ends.
        ended: set at the end, for threads that wait.
    """

    def __init__(
        self,
        device: str,
        workers: int | None,
        spin: float,
        idle: float,
        watchdog: float | None,
        dead_letters: int,
        drift: float,
        persistent: bool | None,
        telemetry: bool,
    ) -> None:
        self.timed = telemetry
        self.device = get_device(device)
        refused = refusal(self.device)
        if persistent and refused:
            raise ActorError(f"persistent=True: {self.device.name} keeps no kernel: {refused}")
        self.residents = persistent is not False and not refused
        self.must_reside, self.drift = persistent is True, int(drift * 1e9)
        self.by_host = not getattr(self.device, "is_plain", False)
        self.node = os.getpid() << 16 | next(_nodes) & 0xFFFF
        self.spin = int(spin * 1e9)
        self.closed = self.forked = False
        threads, stop = (0, 0) if self.by_host else _threads_of(workers)
        self.engine = new_engine(
            threads, int(idle / PAUSE), self.node, self.drift, dead_letters, stop
        )
        self.directory = Directory(self.engine)
        self.lattices: Register[Any] = Register()
        self.supervisor = Supervisor(
            self.engine, self.directory, watchdog, self.drift, self.residents
        )
        self.cutting, self.numbers = threading.RLock(), Numbers(1)
        self.at_end: list[Callable[[], None]] = []
        self.ended = threading.Event()
        self._lock, self._ending = threading.RLock(), threading.RLock()
        self._threads: dict[str, threading.Thread] = {}
        self._futures: dict[int, tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = {}
        live_homes.add(self)

    def __del__(self) -> None:
        # Lifetime: close before the memory of actors is freed, whose steps may run. A thread does
        # it, because this one may be in a step that the close waits for. The thread's reference
        # revives this object.
        if hasattr(self, "_futures") and not self.closed:
            live_homes.add(self)
            with suppress(RuntimeError):  # at the interpreter's exit no thread starts
                name = "gridlane actors' end"
                start_thread(threading.Thread(target=self.close, name=name, daemon=True))

    def require_open(self) -> None:
        """Raise ActorError where the runtime is closed."""
        if self.forked:
            raise ActorError(
                "the runtime is another process's, from before a fork: make one in this process"
            )
        if self.closed:
            raise ActorError("the runtime is closed")

    # --- threads ---

    def start(self) -> None:
        """Start the threads that an actor needs, once; remove files of killed processes."""
        if not self._threads:
            remove_left_inboxes()
        self.start_thread("gridlane actors", _supervise)
        if self.by_host:
            self.start_thread("gridlane actors' batches", _run_batches)

    def start_thread(self, name: str, target: Callable[[weakref.ref[Home], Engine], None]) -> None:
        """Start a thread of the runtime, once. Lifetime: it must not keep the runtime alive."""
        with fork_waits(), self._lock:
            if name not in self._threads:
                arguments = weakref.ref(self), self.engine
                thread = threading.Thread(target=target, args=arguments, name=name, daemon=True)
                self._threads[name] = thread
                start_thread(thread)

    def close(self) -> None:
        """End the actors, without handling their inboxes, then the engine and the threads."""
        with fork_waits(), self._ending:
            if not self.closed:
                self._close()

    def _close(self) -> None:
        for each in list(self.at_end):
            each()
        with fork_waits(), self.directory.lock:
            self.directory.closing = True
        for instance in self.directory.all():
            with suppress(StateError):  # another thread ends it, or a failure has
                instance.move("terminate")
            instance.end(Reason.STOPPED)
        with fork_waits(), self._lock:
            self.closed = True
            futures, self._futures = self._futures, {}
        self.ended.set()
        self.engine.close()
        for thread in self._threads.values():
            if thread is not threading.current_thread():
                thread.join()
        for loop, future in futures.values():
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(_complete, future)

    def abandon(self) -> None:
        """Abandon the engine after a fork: the threads are the parent's, and so are the shared
        inboxes."""
        self.closed = self.forked = True
        for instance in self.directory.by_number.values():
            for share in instance.shares:
                share.abandon()
        self.engine.abandon()

    # --- asynchronous calls ---

    def post_async(
        self, there: EngineActor, data: bytes, future: asyncio.Future[None]
    ) -> tuple[int, int]:
        """Post a message whose answer completes a future: its ticket, and the reason if it is not
        in the inbox."""
        self.require_open()
        self.start_thread("gridlane actors' answers", _give_answers)
        # Order: the answer may arrive at once; it waits for this lock until its future is stored.
        with fork_waits(), self._lock:
            ticket, reason = self.engine.post_async(there, data)
            if not reason:
                self._futures[ticket] = future.get_loop(), future
        return ticket, reason

    def forgets(self, ticket: int) -> None:
        """Drop a future; an answer that was not taken is a dead letter."""
        with fork_waits(), self._lock:
            self._futures.pop(ticket, None)
            if not self.closed:
                self.engine.cancel(ticket)

    def answer(self, ticket: int) -> None:
        """Complete a future; the coroutine that awaits it takes the answer."""
        with fork_waits(), self._lock:
            loop, future = self._futures.pop(ticket, (None, None))
        if loop is None or future is None:
            return
        try:
            loop.call_soon_threadsafe(_complete, future)
        except RuntimeError:  # the loop is closed
            self.forgets(ticket)

    # --- dead letters ---

    def take_dead(self) -> list[DeadLetter]:
        """Take the present dead letters; later ones stay."""
        self.require_open()
        dead_letters: list[DeadLetter] = []
        for _ in range(self.engine.facts()["dead"]):
            taken = self.engine.dead()
            if taken is None:  # another thread takes them too
                break
            dead_letters.append(read_dead(*taken))
        return dead_letters

    def replay(self, letter: DeadLetter, timeout: float | None) -> None:
        """Post a dead letter again; see ``Runtime.replay``."""
        self.require_open()
        header, wait = letter.header.copy(), seconds_of("timeout", timeout)
        if letter.reason in _NO_REPLAY:
            raise ActorError(f"the letter has no receiver ({letter.reason.meaning})")
        header["attempt"] += 1
        instance = self.directory.of_letter(letter.actor)
        reason = Reason.NO_ACTOR
        if instance is not None and int(header["type"]) != instance.actor.message.number:
            reason = Reason.WRONG_TYPE
        elif instance is not None:
            to = int(header["reply_to"])
            reply = TO_OUTBOX if to & TO_OUTBOX else 0 if to >> 63 else to
            posted = self.engine.post(
                instance.there,
                letter.payload,
                wait,
                reply,
                0,
                int(header["topic"]),
                int(header["correlation"]),
                int(header["attempt"]),
                int(header["flags"]),
                0,
            )
            if not posted:
                return
            reason = Reason(posted)
        self.engine.bury(letter.actor, header.tobytes() + letter.payload, int(reason))
        raise ActorError(f"the letter is dead again: {reason.meaning}")


_NO_REPLAY = (Reason.LATE, Reason.UNREAD, Reason.NO_TOPIC)
"""Reasons of letters whose ``actor`` is the sender."""


def _complete(future: asyncio.Future[None]) -> None:
    """Complete the future of an answer, or of the runtime's end."""
    if not future.done():
        future.set_result(None)


def seconds_of(name: str, given: float | None) -> float:
    """Seconds of a limit, None for none; ValueError where it is negative or no number."""
    if given is None:
        return FOREVER
    if not given >= 0:
        raise ValueError(f"{name}={given!r} is no number of seconds, of 0 or more")
    return given


def deadline_of(expires: float | None) -> int:
    """The time at which a message expires, by the engine's clock; 0 for never."""
    if expires is None:
        return 0
    if expires != expires:
        raise ValueError(f"expires={expires!r} is no number of seconds")
    limit = now() + max(min(expires, 1e9), -1e9) * 1e9
    return max(int(limit), 1)


# --- what threads do; none keeps the runtime alive while it waits ---


def _supervise(reference: weakref.ref[Home], engine: Engine) -> None:
    while True:
        number = engine.failed(TICK)
        home = reference()
        if home is None or home.closed:
            return
        home.supervisor.look(number)
        del home


def _run_batches(reference: weakref.ref[Home], engine: Engine) -> None:
    """Launch the batches of actors, one after the other, in the order of their first messages."""
    while True:
        number = engine.take(TICK)
        home = reference()
        if home is None or home.closed:
            return
        instance = None if number is None else home.directory.find(number)
        del home
        if instance is not None and instance.there.begin():
            _run_batch(instance)
        del instance


def _run_batch(instance: Instance) -> None:
    code = 0
    try:
        assert instance.batches is not None
        instance.batches.run()
    except BaseException as error:
        instance.raised, code = error, 1
    instance.there.end(code)


def _give_answers(reference: weakref.ref[Home], engine: Engine) -> None:
    while True:
        answers = engine.completed(TICK)
        home = reference()
        if home is None or home.closed:
            return
        if answers is not None:
            home.answer(answers)
        del home
