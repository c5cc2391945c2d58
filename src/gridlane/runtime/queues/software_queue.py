"""A software queue: ordered work, and the host thread that does it."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Generic, TypeVar

from gridlane.core.endings import at_end
from gridlane.runtime.queues import workers
from gridlane.runtime.queues.native_queues import (
    APPENDED,
    END,
    HAS_WORKER,
    OVER,
    UNFINISHED,
    native,
)

T = TypeVar("T")

_owners: dict[int, weakref.ref[object]] = {}
"""The objects with which queues end, by the queues' addresses."""

at_end(_owners.clear)  # from then on no thread ends: it would wake while Python ends


class SoftwareQueue(Generic[T]):
    """Work for a thread, which begins with the first piece. The state is that of native/queue.c.

    A signal handler may interrupt any method, append work and wait for it. So there is no lock, and
    each step is one call of C.

    Args:
        address: of a native queue that C made, of which this object gets a use.

    Attributes:
        thread: the thread that does the work, once it runs.
        keeps_thread: whether the thread serves this queue alone.
        lacks_thread: whether no thread was started since the last one ended.
    """

    address = 0

    def __init__(self, address: int = 0) -> None:
        self._error: BaseException | None = None
        self.address = address or native.new_queue()
        self.keeps_thread, self.lacks_thread = False, True
        self.thread: threading.Thread | None = None

    @property
    def error(self) -> BaseException | None:
        """The first exception of a piece, while nobody has taken it."""
        return self._error

    @error.setter
    def error(self, error: BaseException | None) -> None:
        self._error = error

    def __del__(
        self,
        release: Callable[[int], object] = native.release_queue,
        forget: Callable[[int, None], object] = _owners.pop,
    ) -> None:
        if self.address:
            forget(self.address, None)  # first: a later queue may have the address
            release(self.address)

    # --- implemented by each queue ---

    def _do(self, item: T) -> object:
        """Do a piece of work; called by the thread."""
        raise NotImplementedError

    def _do_for(self, why: int) -> None:
        """Do what C leaves to Python, by the number of ``next``; called by the thread."""
        raise NotImplementedError

    def _on_thread(self) -> None:
        """Called by the thread before all work."""

    def _ended(self) -> None:
        """Called by the thread after all work."""

    # --- for users of the queue ---

    @property
    def pending(self) -> int:
        """How many pieces are unfinished."""
        return native.get(self.address, UNFINISHED)

    def append(self, item: T, flags: int = 0) -> None:
        """Append work."""
        if native.append(self.address, item, flags):
            self.start()

    def start(self) -> None:
        """Start the thread."""
        self.lacks_thread = True
        workers.run(self._run)
        self.lacks_thread = False

    def is_idle(self) -> bool:
        """Whether no piece is unfinished. Start a missing thread, or try to."""
        with suppress(RuntimeError):
            self.start_missing()
        return not self.pending

    def start_missing(self) -> None:
        """Start the thread of unfinished work if it could not start before, or if an exception came
        behind an append."""
        if self.lacks_thread and self.pending and not native.get(self.address, HAS_WORKER):
            self.start()

    def wait(self) -> None:
        """Wait for the work so far; the thread does not wait for itself."""
        count = self.awaited()
        if count:
            native.wait(self.address, 0, count, 0)

    def awaited(self) -> int:
        """How many pieces are done when the work so far is: what a wait is for. 0 if that is now,
        and for the thread itself."""
        if not self.pending or self.thread is threading.current_thread():
            return 0
        if not native.get(self.address, HAS_WORKER):  # an exception came behind an append
            self.start()
        return native.get(self.address, APPENDED)

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
        native.set(self.address, OVER, True)

    def end_with(self, owner: object) -> None:
        """``end`` as soon as an object is unreferenced. Unlike a function of ``weakref.finalize``,
        that is no code of Python, in which a signal handler may raise."""
        _owners[self.address] = weakref.ref(owner, partial(native.end, self.address))

    # --- on the thread ---

    def _run(self) -> bool:
        # Several threads may start, from a handler or another thread: all but one end at once.
        while native.serve(self.address):
            self.thread = threading.current_thread()
            self._on_thread()
            self._work()
            self._ended()
            self.thread, self.lacks_thread = None, True
            if not native.leave(self.address):
                break
        return not self.keeps_thread

    def _work(self) -> None:
        """Do the work until the end. Hot."""
        take, address = native.next, self.address
        while True:
            item = take(address)
            try:
                if item.__class__ is not int:
                    self._do(item)
                elif item == END:
                    return
                else:
                    self._do_for(item)
            except BaseException as error:  # raised by the next synchronisation
                self.fail(error)
            item = None  # freed before a waiting thread continues
