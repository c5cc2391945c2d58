"""A software queue: ordered work, and the host thread that does it."""

from __future__ import annotations

import threading
from collections import deque
from queue import SimpleQueue
from typing import Generic, TypeVar

from gridlane.runtime.queues.latch import Latch

T = TypeVar("T")


class SoftwareQueue(Generic[T]):
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
        self._over = False
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
        self.pending.append(item)
        self._call()

    def extend(self, items: tuple[T, ...]) -> None:
        """Append work, with nothing of another thread in between."""
        self.pending.extend(items)  # one call of C
        self._call()

    def wait(self) -> None:
        """Wait until nothing was pending; the thread does not wait for itself."""
        nothing = self.nothing_pending()
        if nothing is not None:
            nothing.wait()

    def nothing_pending(self) -> Latch | None:
        """Is reached when nothing was pending; None where nothing is now, and for the thread."""
        if not self.pending or self.thread is threading.current_thread():
            return None
        nothing = Latch()
        self._waiting.append(nothing)
        self._call()
        return nothing

    def raise_error(self) -> None:
        """Raise the error, once."""
        error, self.error = self.error, None
        if error is not None:
            raise error

    def end(self) -> None:
        """End the thread behind the work so far. Who asked for the work before may still wait for
        it, and append what has to be behind it: a thread comes again for that."""
        self._over = True
        self._calls.put(False)

    def _call(self) -> None:
        """Make the thread look at what has changed, or begin one that does."""
        self._calls.put(True)
        # Behind the change: a thread that ends looks for changes when it is no longer known. Of
        # several that begin here, in a handler or by another thread, all but one end at once.
        if self.thread is None:
            threading.Thread(target=self._run, name="gridlane-stream", daemon=True).start()

    # --- on the thread ---

    def _run(self) -> None:
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

    def _settle(self) -> None:
        """Do the work there is, and tell those who wait for that."""
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
