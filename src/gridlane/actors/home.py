"""What the parts of a runtime share, and its threads."""

from __future__ import annotations

import asyncio
import itertools
import os
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from gridlane.actors._engine import Actor as EngineActor
from gridlane.actors.dead import DeadLetter, read_dead
from gridlane.actors.directory import Directory
from gridlane.actors.engines import new_engine
from gridlane.actors.errors import ActorError, Reason
from gridlane.actors.instance import Instance
from gridlane.actors.messages import Shape
from gridlane.actors.residence import refusal
from gridlane.actors.supervision import Supervisor
from gridlane.core.forks import fork_waits
from gridlane.core.processors import available_processors
from gridlane.launch.devices import get_device

FOREVER = 1e10
"""Seconds; the engine takes as many as no limit."""
PAUSE = 20e-9
"""Seconds, roughly, of a worker's look for work."""
_nodes = itertools.count(1)


class Home:
    """The engine of a runtime, who is there, and the threads; ``Runtime`` has the arguments.

    Attributes:
        by_host: whether Python launches the steps.
        residents: whether the device keeps actors' kernels that do not end.
        must_reside: whether all actors have such kernels.
        drift: nanoseconds that a message's clock may be ahead.
        spin: nanoseconds that a call spins.
        closed: whether the engine has ended, or is another process's.
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
    ) -> None:
        self.device = get_device(device)
        refused = refusal(self.device)
        if persistent and refused:
            raise ActorError(f"persistent=True: {self.device.name} keeps no kernel: {refused}")
        self.residents = persistent is not False and not refused
        self.must_reside, self.drift = persistent is True, int(drift * 1e9)
        self.by_host = not getattr(self.device, "is_plain", False)
        self.node = os.getpid() << 16 | next(_nodes) & 0xFFFF
        self.spin = int(spin * 1e9)
        self.closed = False
        threads, stop = 0, 0
        if not self.by_host:
            from gridlane.runtime.drivers.cpu_native import pool

            threads, stop = workers or available_processors(), pool().code["gridlane_stop"]
        self.engine = new_engine(
            threads, int(idle / PAUSE), self.node, self.drift, dead_letters, stop
        )
        self.directory = Directory(self.engine)
        self.supervisor = Supervisor(self.engine, self.directory, watchdog, self.drift)
        self._lock = threading.RLock()
        self._threads: dict[str, threading.Thread] = {}
        self._futures: dict[int, tuple[asyncio.AbstractEventLoop, asyncio.Future[Any]]] = {}

    def require_open(self) -> None:
        """Raise ActorError where it is closed."""
        if self.closed:
            raise ActorError("the runtime is closed")

    # --- threads ---

    def start(self) -> None:
        """Start the threads that an actor needs, once."""
        self._start("gridlane actors", _supervise)
        if self.by_host:
            self._start("gridlane actors' batches", _run_batches)

    def _start(self, name: str, target: Callable[[weakref.ref[Home]], None]) -> None:
        with fork_waits(), self._lock:
            if name not in self._threads:
                arguments = (weakref.ref(self),)
                made = threading.Thread(target=target, args=arguments, name=name, daemon=True)
                self._threads[name] = made
                made.start()

    def close(self) -> None:
        """End the engine and the threads; all actors have ended."""
        with fork_waits(), self._lock:
            self.closed = True
            futures, self._futures = self._futures, {}
        self.engine.close()
        for thread in self._threads.values():
            if thread is not threading.current_thread():
                thread.join()
        for loop, future in futures.values():
            if not loop.is_closed():
                loop.call_soon_threadsafe(future.cancel)

    def abandon(self) -> None:
        """After a fork: the threads are the parent's."""
        self.closed = True
        self.engine.abandon()

    # --- asynchronous calls ---

    def post_async(
        self, there: EngineActor, data: bytes, future: asyncio.Future[Any]
    ) -> tuple[int, int]:
        """Post a message whose answer completes a future: its ticket, and the reason if it is not
        in the inbox."""
        self._start("gridlane actors' answers", _give_answers)
        # The answer may be there at once: it waits for this lock until its future is known.
        with fork_waits(), self._lock:
            ticket, reason = self.engine.post_async(there, data)
            if not reason:
                self._futures[ticket] = future.get_loop(), future
        return ticket, reason

    def forgets(self, ticket: int) -> None:
        """Nobody waits any more."""
        with fork_waits(), self._lock:
            if self._futures.pop(ticket, None) is not None and not self.closed:
                self.engine.cancel(ticket)

    def answer(self, ticket: int, reason: int, payload: bytes) -> None:
        """Complete a future."""
        with fork_waits(), self._lock:
            loop, future = self._futures.pop(ticket, (None, None))
        if loop is None or future is None or loop.is_closed():
            return

        def answer() -> None:
            if not future.done():
                future.set_result(reason or payload)

        loop.call_soon_threadsafe(answer)

    # --- dead letters ---

    def take_dead(self) -> list[DeadLetter]:
        """All dead letters, which are taken."""
        self.require_open()
        found: list[DeadLetter] = []
        while (taken := self.engine.dead()) is not None:
            found.append(read_dead(*taken))
        return found

    def replay(self, letter: DeadLetter, timeout: float | None) -> None:
        """Post a dead letter again; see ``Runtime.replay``."""
        self.require_open()
        instance = self.directory.by_number.get(letter.actor)
        reason = Reason.NO_ACTOR
        if instance is not None:
            header, wait = letter.header, FOREVER if timeout is None else timeout
            found = self.engine.post(
                *(instance.there, letter.payload, wait, 0, 0, int(header["topic"])),
                *(int(header["correlation"]), int(header["attempt"]) + 1, int(header["flags"])),
            )
            if not found:
                return
            reason = Reason(found)
        self.engine.bury(letter.actor, letter.data, int(reason))
        raise ActorError(f"the letter is dead again: {reason.meaning}")

    def bury(self, instance: Instance, shape: Shape, data: bytes, reason: Reason) -> None:
        """Make a message a dead letter that was never in an inbox."""
        header = np.zeros((), DeadLetter.HEADER)
        header["type"], header["destination"] = shape.number, instance.number
        header["payload_bytes"] = len(data)
        header["clock"]["physical"] = time.time_ns()
        header["clock"]["node"] = self.node
        self.engine.bury(instance.number, header.tobytes() + data, int(reason))


# --- what threads do; none keeps the runtime alive ---


def _supervise(reference: weakref.ref[Home]) -> None:
    while (home := reference()) is not None and not home.closed:
        home.supervisor.look()
        del home


def _run_batches(reference: weakref.ref[Home]) -> None:
    """Launch the batches of actors, one after the other, in the order of their first messages."""
    while (home := reference()) is not None and not home.closed:
        number = home.engine.take(0.1)
        instance = None if number is None else home.directory.by_number.get(number)
        if instance is not None and instance.there.begin():
            _run_batch(instance)
        del home, instance


def _run_batch(instance: Instance) -> None:
    code = 0
    try:
        assert instance.batches is not None
        instance.batches.run()
    except BaseException as error:
        instance.raised, code = error, 1
    instance.there.end(code)


def _give_answers(reference: weakref.ref[Home]) -> None:
    while (home := reference()) is not None and not home.closed:
        found = home.engine.completed(0.1)
        if found is not None:
            home.answer(*found)
        del home
