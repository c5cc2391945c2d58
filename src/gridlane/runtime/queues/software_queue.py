"""A software queue: ordered work, and the host thread that does it."""

from __future__ import annotations

import threading
from collections import deque
from queue import SimpleQueue
from typing import Generic, TypeVar

from gridlane.runtime.queues import workers
from gridlane.runtime.queues.latch import Latch

T = TypeVar("T")


class SoftwareQueue(Generic[T]):
    """Work for a thread, which begins with the first piece.

    A signal handler may interrupt any method, append work and wait for it. So there is no lock, and
    no invariant between two fields: each step is one call of C.

    Attributes:
        pending: the unfinished work; the first piece is in progress.
        error: the first exception of a piece.
        thread: the thread that does the work, once it runs.
        keeps_thread: whether the thread serves this queue alone.
    """

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self.keeps_thread = False
        self.begin()

    def begin(self) -> None:
        """Start without work or a thread."""
        self.pending: deque[T | None] = deque()
        self.thread: threading.Thread | None = None
        self._calls: SimpleQueue[bool] = SimpleQueue()
        """Wakes the thread; one item after each change of ``pending`` and ``_waiting``."""
        self._waiting: deque[Latch] = deque()
        self._over = False
        self._runs = threading.Lock()
        """Held by the thread that does the work."""

    # --- implemented by each queue ---

    def _do(self, item: T) -> object:
        """Do a piece of work; called by the thread."""
        raise NotImplementedError

    def _on_thread(self) -> None:
        """Called by the thread before all work."""

    def _ended(self) -> None:
        """Called by the thread after all work."""

    # --- for users of the queue ---

    def append(self, item: T) -> None:
        """Append work."""
        self.pending.append(item)
        self._call()

    def extend(self, items: tuple[T, ...]) -> None:
        """Append work, uninterrupted by other threads."""
        self.pending.extend(items)  # one call of C
        self._call()

    def wait(self) -> None:
        """Wait for a moment when nothing is pending; the thread does not wait for itself."""
        nothing = self.nothing_pending()
        if nothing is not None:
            nothing.wait()

    def nothing_pending(self) -> Latch | None:
        """A latch for a moment when nothing is pending; None if that is now, and for the thread."""
        if not self.pending or self.thread is threading.current_thread():
            return None
        nothing = Latch()
        self._waiting.append(nothing)
        self._call()
        return nothing

    def is_awaited(self) -> bool:
        """Whether a thread waits for a moment when nothing is pending."""
        return bool(self._waiting)

    def fail(self, error: BaseException) -> None:
        """Note an exception of a piece; called by the thread."""
        self.error = self.error or error

    def raise_error(self) -> None:
        """Raise the error, once."""
        error, self.error = self.error, None
        if error is not None:
            raise error

    def end(self) -> None:
        """End the thread after the work so far. A waiting thread may still append later work: a new
        thread starts for that."""
        self._over = True
        self._calls.put(False)

    def _call(self) -> None:
        """Wake the thread for a change, or start one."""
        self._calls.put(True)
        # After the change: an ending thread checks for changes once it is unregistered. If several
        # threads start here, from a handler or another thread, all but one end at once.
        if self.thread is None:
            workers.run(self._run)

    # --- on the thread ---

    def _run(self) -> bool:
        while (self.pending or self._waiting) and self._runs.acquire(blocking=False):
            self.thread = threading.current_thread()
            self._on_thread()
            self._settle()
            while not self._over and self._calls.get():
                self._settle()
            self._settle()
            self._ended()
            self.thread = None
            self._runs.release()
        return not self.keeps_thread

    def _settle(self) -> None:
        """Do the pending work, and release the waiting threads."""
        self._do_pending()
        while self._waiting:
            # Once more: who waits may have appended work since nothing was pending.
            self._do_pending()
            self._waiting.popleft().reach()

    def _do_pending(self) -> None:
        while self.pending:
            item = self.pending[0]
            try:
                if item is not None:
                    self._do(item)
            except BaseException as error:  # raised by the next synchronisation
                self.fail(error)
            self.pending[0] = item = None  # freed before a waiting thread continues
            self.pending.popleft()
