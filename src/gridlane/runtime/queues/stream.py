"""The base of software-queue streams: handles, captures, waiting."""

from __future__ import annotations

import itertools
from typing import Generic, TypeVar

from gridlane.runtime.queues.graph import (
    RecordedGraph,
    check_begin,
    check_default,
    check_end,
    check_waiting,
    here,
    note_capture,
)

D = TypeVar("D")
P = TypeVar("P")

_handles = itertools.count(0x1000)


class SoftwareStream(Generic[D, P]):
    """A stream of a device D, whose work comes in pieces P. The default stream's work is ordered
    after the earlier work of all others, and their later work after it."""

    inline = False

    def __init__(self, device: D, default: bool) -> None:
        self.device = device
        self.is_default = default
        self.handle = 0 if default else next(_handles)
        self._recorded: list[P] | None = None

    # --- implemented by each device ---

    def _submit(self, piece: P) -> None:
        """Do a piece of work, or submit it to the device, after its predecessors."""
        raise NotImplementedError

    def _submit_all(self, pieces: tuple[P, ...]) -> None:
        """Do or submit the pieces of a graph."""
        for piece in pieces:
            self._submit(piece)

    def _wait(self) -> None:
        """Wait for the work so far, and for that of streams that precede this one."""
        raise NotImplementedError

    def _is_done(self) -> bool:
        """Whether that work is done."""
        raise NotImplementedError

    def raise_error(self) -> None:
        """Raise the first error of the work, once."""
        raise NotImplementedError

    def _set_captured(self, is_captured: bool) -> None:
        """Called when the recording begins, and when it ends."""

    @property
    def failure(self) -> BaseException | None:
        """The first error that the work is known to have met; it stays for ``raise_error``."""
        raise NotImplementedError

    # --- the protocol ---

    def append(self, piece: P) -> None:
        """Append work: record it in a capture, else submit it."""
        if self._recorded is not None:
            self._recorded.append(piece)
        else:
            if here.captured:
                self.check_default()
            self._submit(piece)

    def append_all(self, pieces: tuple[P, ...]) -> None:
        """Append a graph's work."""
        if self._recorded is not None:
            self._recorded.extend(pieces)
        else:
            self.check_default()
            self._submit_all(pieces)

    def synchronize(self) -> None:
        """Wait for the work so far; raise the first error of it."""
        self.drain()
        self.raise_error()

    def drain(self) -> None:
        """Wait for the work so far; leave its error for ``synchronize``."""
        self._check_waiting("waiting for the stream")
        self._wait()

    def query(self) -> bool:
        """Whether all work is done."""
        self._check_waiting("asking whether the work is done")
        return self._is_done()

    @property
    def capturing(self) -> bool:
        """Whether work is recorded, not executed."""
        return self._recorded is not None

    def begin_capture(self) -> None:
        """Record later work; it does not execute."""
        check_begin(self.is_default, self.capturing)
        self._recorded = []
        self._set_captured(True)
        note_capture(self)

    def end_capture(self) -> RecordedGraph[P]:
        """End the recording and return it as a graph."""
        check_end(self.capturing)
        recorded, self._recorded = self._recorded or [], None
        self._set_captured(False)
        return RecordedGraph(self.device, tuple(recorded))

    def check_default(self) -> None:
        """Refuse work of the default stream on a thread that captures another one."""
        if self.is_default:
            check_default(self.device)

    def _check_waiting(self, what: str) -> None:
        """Refuse a wait for the work while it is only recorded."""
        if self._recorded is not None:
            check_waiting(True, what)
