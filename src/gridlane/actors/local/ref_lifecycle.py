"""The lifecycle of a launched actor."""

from __future__ import annotations

import time

from gridlane.actors._engine import Actor as EngineActor
from gridlane.actors.errors import Reason
from gridlane.actors.local.home import FOREVER, Home, seconds_of
from gridlane.actors.local.instance import Instance
from gridlane.actors.values.states import State


class Lifecycle:
    """The part of ``ActorRef`` that makes transitions."""

    _home: Home
    _instance: Instance
    _there: EngineActor

    @property
    def state(self) -> State:
        """Its state now."""
        return self._instance.state

    def activate(self) -> None:
        """Allow it to handle messages.

        Raises:
            StateError: it is neither launched nor deactivated.
            NameLookupError: it sends to an actor that is not launched, with the line.
        """
        self._home.require_open()
        self._home.directory.check_names(self._instance)
        self._home.directory.open_channels(self._instance)
        self._instance.move("activate")
        self._there.schedule()

    def deactivate(self) -> None:
        """Allow it neither to accept nor to handle messages; those in its inbox stay."""
        self._home.require_open()
        self._instance.move("deactivate")
        self._home.directory.shut_channels(self._instance)
        self._instance.wait_for_step(FOREVER)
        self._home.engine.unblock(self._there)

    def suspend(self) -> None:
        """Allow it to accept messages, and to handle none. A step that runs ends first."""
        self._home.require_open()
        self._instance.move("suspend")
        self._instance.wait_for_step(FOREVER)

    def resume(self) -> None:
        """Allow it to handle messages again after ``suspend``."""
        self._home.require_open()
        self._instance.move("resume")
        self._there.schedule()

    def terminate(self, graceful: bool = True, timeout: float | None = None) -> None:
        """End it.

        Args:
            graceful: handle its inbox first; else a running handler is requested to stop, and the
                rest are dead letters.
            timeout: seconds for the inbox; later messages are dead letters.

        Raises:
            StateError: it has ended or is about to.
        """
        limit = seconds_of("timeout", timeout)
        if not self._instance.has_ended():
            self._home.require_open()
        self._instance.move("terminate")
        if graceful:
            self._instance.drain(time.monotonic() + limit)
            if self._instance.control.error:  # of its last message
                self._home.supervisor.settle(self._instance)
        self._instance.end(Reason.STOPPED)
