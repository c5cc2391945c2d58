"""The methods of ``Runtime`` for telemetry."""

from __future__ import annotations

import os

from gridlane.actors.local.home import Home
from gridlane.actors.telemetry.prometheus import text_of
from gridlane.actors.telemetry.tracing import EVENTS, Tracing


class Telemetry:
    """A runtime that publishes its actors."""

    _home: Home

    def prometheus(self) -> str:
        """The counters and latencies of all actors in Prometheus' text format; it needs the
        package prometheus-client, gridlane's extra ``metrics``.

        Raises:
            ActorError: the package is not installed, or the runtime is closed.
        """
        self._home.require_open()
        return text_of(self._home)

    def trace(self, path: str | os.PathLike[str], events: int = EVENTS) -> Tracing:
        """Begin a trace of all messages: their posts, handling and answers, with arrows between
        them. Its ``stop()``, or the runtime's end, writes the file, in Chrome's format (JSON), for
        https://ui.perfetto.dev. Of messages that a step handles together, each has an equal part
        of its time.

        Args:
            events: how many are kept at most, a power of two; the oldest are dropped, and the file
                says how many (``otherData.dropped``).

        Raises:
            ActorError: another trace is being made.
            OSError: the file cannot be written.
        """
        return Tracing(self._home, path, events)

    def tracing(self, path: str | os.PathLike[str], events: int = EVENTS) -> Tracing:
        """``trace`` for a with block: ``with runtime.tracing("messages.json"): …``"""
        return self.trace(path, events)
