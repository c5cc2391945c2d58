"""Failures of handlers: find them, make their errors, and restart or end the actors."""

from __future__ import annotations

import threading
import time
from ctypes import c_int32
from typing import Any

from gridlane.actors._engine import Engine
from gridlane.actors.device.cancellation import GAVE_UP
from gridlane.actors.errors import ActorError, Reason
from gridlane.actors.local.directory import Directory
from gridlane.actors.local.instance import Instance
from gridlane.actors.resident.residence import PATIENCE, Residence
from gridlane.core.cpu_abi import STOPPED
from gridlane.core.device_errors import KernelStop
from gridlane.core.errors import DeviceError
from gridlane.core.forks import fork_waits

HOST = 0xFFFFFFFF
"""The source number of messages that the host has posted."""
TICK = 0.1
"""Seconds between two polls of the actors, without a failure."""


class Supervisor:
    """Restart actors whose handlers fail, and stop those that hang.

    Attributes:
        limit: seconds after which a step counts as hung; None never.
    """

    def __init__(
        self,
        engine: Engine,
        directory: Directory,
        limit: float | None,
        drift: int,
        residents: bool,
    ) -> None:
        self._engine, self._directory, self.limit = engine, directory, limit
        self._drift, self._residents = drift, residents
        self._lock = threading.RLock()
        self._hung: dict[int, int] = {}
        self._asked: dict[int, tuple[int, float]] = {}
        self._next = 0.0

    def look(self, number: int | None) -> None:
        """Handle the failure of an actor, and find those that hang."""
        if number is not None:
            self._follow(number)
        if self._residents:  # ten thousand actors on threads need no poll
            self._look_at_kernels()
            self._directory.end_cycles()
        self._directory.settle_channels()
        now = time.monotonic()
        if self.limit is not None and now >= self._next:
            self._next = now + max(TICK, self.limit / 10)
            self._stop_hung(int(self.limit * 1e9))

    def settle(self, instance: Instance) -> None:
        """Handle the present failures; that of ``instance`` is handled on return."""
        with fork_waits(), self._lock:
            for _ in range(1 + len(self._directory.by_number)):  # more may fail meanwhile
                number = self._engine.failed(0.0)
                if number is None:
                    break
                self._follow(number)
        until = time.monotonic() + 5
        while instance.control.error and time.monotonic() < until:
            time.sleep(0.0005)  # another thread handles it

    def _follow(self, number: int) -> None:
        """Handle the failure of an actor."""
        instance = self._directory.by_number.get(number)
        if instance is None:
            self._note_of_ended(number)
            return
        with fork_waits(), self._lock:
            failure = self.error_of(instance, instance.control.error)
            instance.note_failure(failure)
            before, instance.raised = instance.raised, None
            self._hung.pop(instance.number, None)
            self._asked.pop(instance.number, None)
            if instance.residence is None:
                self._follow_up(instance, False)
                return
            if before is None and instance.residence.started:  # threads of its handler run on
                self._note_block_that_stays(instance, failure)
                instance.end(Reason.FAILED)
                instance.control.error = 0
                return
            try:
                with instance.residence.away():
                    self._follow_up(instance, before is None)
            except DeviceError as error:  # of what runs beside it, or its message cannot be read
                message = f"{instance.name} is ended, as it cannot begin again: {error}"
                instance.note_end(ActorError(message))
                instance.end(Reason.STOPPED)
                instance.control.error = 0

    def _note_of_ended(self, number: int) -> None:
        """Store the failure of an actor that was ended before it was handled: its callers request
        the error."""
        with fork_waits(), self._lock, self._directory.lock:
            instance = self._directory.find(number)
            if instance is not None and instance.residence is None and instance.control.error:
                instance.note_failure(self.error_of(instance, instance.control.error))
                instance.control.error = 0

    def _follow_up(self, instance: Instance, skips: bool) -> None:
        """End an actor, or restart it; ``skips``: first bury the message of its kernel."""
        if skips:
            self._skip(instance)
        if instance.restart == "never" or instance.ending:
            instance.end(Reason.STOPPED)
            instance.control.error = 0
            return
        fresh = instance.restart == "fresh" or not instance.last
        instance.write(instance.first if fresh else instance.last)
        instance.control.epoch += 1
        instance.control.error = 0
        instance.run(self._drift)
        instance.there.recover()
        instance.there.schedule()

    def error_of(self, instance: Instance, code: int) -> BaseException:
        """The exception of a handler's failure."""
        if instance.raised is not None:
            return instance.raised
        code = c_int32(code).value
        if instance.residence is not None:
            self._wait_for_end(instance.residence)
            error = instance.residence.error()
            if isinstance(error, KernelStop) and error.text == GAVE_UP:
                stopped = self._stopped(instance)
                stopped.__cause__ = error  # it has the loop's line
                return stopped
            return error or ActorError(f"{instance.name} failed with the error {code}")
        if code == STOPPED:
            return self._stopped(instance)
        kernel: Any = instance.program.plan.kernel
        try:
            kernel.machine_code.fail(code, instance.there.report, 1, 1)
        except BaseException as error:
            return error
        return ActorError(f"{instance.name} failed with the error {code}")

    def _stopped(self, instance: Instance) -> ActorError:
        """The error of a handler that was stopped."""
        message = self._hung.get(instance.number)
        if message is None:
            return ActorError(f"{instance.name} was stopped before its end")
        return ActorError(
            f"{instance.name} was stopped after {self.limit:g} s, by the watchdog, in its message "
            f"{message}"
        )

    def _stop_hung(self, limit: int) -> None:
        hung = self._engine.hung(limit)
        for number in self._asked.keys() - set(hung):
            instance = self._directory.by_number.get(number)
            if instance is None or not instance.control.error:  # its handler has ended by itself
                del self._asked[number]
                self._hung.pop(number, None)
        for number in hung:
            instance = self._directory.by_number.get(number)
            since = 0 if instance is None else instance.there.since
            if instance is not None and since and instance.residence is not None:
                self._stop_kernel(instance, since)
            elif instance is not None and since:
                self._hung[number] = instance.control.last_message + instance.handled()
                instance.there.stop(since)

    # --- kernels that do not end ---

    def _skip(self, instance: Instance) -> None:
        """Bury the message at which a kernel has ended."""
        source = instance.there.position[6]
        if source == HOST:
            instance.there.skip(int(Reason.FAILED))
        else:
            self._directory.channels.skip(instance, source, Reason.FAILED)

    def _stop_kernel(self, instance: Instance, since: int) -> None:
        """Request that a hung handler give up its message: its loops poll such requests. End the
        actor where it does not."""
        if instance.control.error:
            return  # it has given up, and that failure is handled
        now, number = time.monotonic(), instance.number
        of, first = self._asked.get(number, (0, 0.0))
        if of != since:
            self._asked[number] = since, now
        elif now - first > PATIENCE:
            self._give_up(instance)
            return
        if instance.there.give_up(since):
            self._hung[number] = instance.control.received

    def _wait_for_end(self, residence: Residence) -> None:
        """Wait until a kernel whose handler has failed has ended.

        Threads that handle a message together may enter a loop one after the other, also those of
        one warp. Some may begin to poll requests only after the first has given up, so the request
        is repeated until all have ended.
        """
        until = time.monotonic() + 2 * PATIENCE
        while not residence.wait(0.02) and time.monotonic() < until:
            residence.there.give_up(0)

    def _note_block_that_stays(
        self, instance: Instance, failure: BaseException | None = None
    ) -> None:
        limit = "" if self.limit is None else f" for more than {self.limit:g} s"
        error = ActorError(
            f"{instance.name} has handled its message {instance.control.received}{limit}, and "
            "is in no loop that it could give up: it is ended, but nothing stops a block of a "
            "GPU from outside, and it stays there until the process ends"
        )
        error.__cause__ = failure
        instance.note_end(error)

    def _give_up(self, instance: Instance) -> None:
        """End an actor whose handler hangs outside of loops; its block cannot be stopped."""
        with fork_waits(), self._lock:
            self._asked.pop(instance.number, None)
            self._note_block_that_stays(instance)
            instance.end(Reason.FAILED)

    def _look_at_kernels(self) -> None:
        """Find the actors whose kernels are gone."""
        for instance in self._directory.all():
            residence = instance.residence
            if residence is None or instance.control.error or not residence.started:
                continue
            try:
                if not residence.is_gone():
                    continue
                failure: BaseException = ActorError(f"the kernel of {instance.name} has ended")
            except DeviceError as error:
                failure = error
            with fork_waits(), self._lock:
                if residence.started and not instance.control.error and not instance.is_ending:
                    instance.note_end(
                        ActorError(
                            f"{instance.name} is lost with its state, at message "
                            f"{instance.control.received}: {failure}"
                        )
                    )
                    instance.end(Reason.FAILED)
