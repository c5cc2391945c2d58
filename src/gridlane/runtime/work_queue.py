"""An ordered queue of work with a thread of the host that does it."""

from __future__ import annotations

import threading
from collections import deque
from queue import SimpleQueue
from typing import Generic, TypeVar

from gridlane.runtime.latch import Latch

T = TypeVar("T")


class WorkQueue(Generic[T]):
    """Work that a thread does, which runs from the first work on.

    A signal handler may put work and wait for it in the middle of any method. So there is no lock,
    and nothing that two fields have to agree on: each step is one call of C.

    Attributes:
        pending: the work that is not done, the piece that is being done first.
        error: the first that one raised.
        thread: the one that does the work, once it runs.
    """

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self.begin()

    def begin(self) -> None:
        """No work and no thread yet."""
        self.pending: deque[T | None] = deque()
        self.thread: threading.Thread | None = None
        self._calls: SimpleQueue[bool] = SimpleQueue()
        """Whether to go on; one behind each change of ``pending`` and ``_waiting``."""
        self._waiting: deque[Latch] = deque()
        self._runs = threading.Lock()
        """Is held by the thread that does the work."""

    # --- what a queue does in its own way ---

    def _do(self, item: T) -> object:
        """Do a piece of work; called by the thread."""
        raise NotImplementedError

    def _on_thread(self) -> None:
        """Called by the thread, before all work."""

    def _ended(self) -> None:
        """Called by the thread, behind all work."""

    # --- for users of the queue ---

    def append(self, item: T) -> None:
        """Append work."""
        if self.thread is None:
            # A handler, or another thread, may come first; then this one ends at once.
            threading.Thread(target=self._run, name="gridlane-stream", daemon=True).start()
        self.pending.append(item)
        self._calls.put(True)

    def wait(self) -> None:
        """Wait until nothing was pending; the thread does not wait for itself."""
        if self.pending and self.thread is not threading.current_thread():
            nothing = Latch()
            self._waiting.append(nothing)
            self._calls.put(True)
            nothing.wait()

    def end(self) -> None:
        """End the thread behind the work so far."""
        self._calls.put(False)

    def _run(self) -> None:
        if not self._runs.acquire(blocking=False):
            return
        self.thread = threading.current_thread()
        self._on_thread()
        while self._calls.get():
            while self.pending:
                item = self.pending[0]
                try:
                    if item is not None:
                        self._do(item)
                except BaseException as error:  # surfaces at the next synchronisation
                    self.error = self.error or error
                self.pending[0] = item = None  # what it holds goes before who waits goes on
                self.pending.popleft()
            while self._waiting:
                self._waiting.popleft().reach()
        self._ended()
