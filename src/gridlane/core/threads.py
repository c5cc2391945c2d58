"""Starts of threads that leave the program's signals to the program's threads."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

_OWN = "SIGURG", "SIGPROF", "SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGSYS"
"""As in native/threads.c: those of a thread's own instructions, of profilers, and of stops."""

_Mask = Callable[[int, Iterable[int]], set[Any]]


@cache
def _signals() -> tuple[_Mask, int, int, frozenset[int]]:
    import signal  # with the first thread

    own = {getattr(signal, name) for name in _OWN if hasattr(signal, name)}
    others = frozenset(signal.valid_signals() - own)
    return signal.pthread_sigmask, signal.SIG_BLOCK, signal.SIG_SETMASK, others


def start_thread(thread: threading.Thread) -> None:
    """Start a thread that outlives the call which needs it.

    It blocks the program's signals: one that the program blocked to wait for it would reach a
    thread that does not. Processes that the thread starts block them as well.

    Raises:
        RuntimeError: there are no more threads.
    """
    if sys.platform == "win32":
        thread.start()
        return
    mask, block, restore, others = _signals()
    before = mask(block, ())  # each of these calls may raise what a handler raises
    try:
        mask(block, others)
        thread.start()
    finally:
        mask(restore, before)
