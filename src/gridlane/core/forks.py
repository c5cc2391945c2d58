"""Make forks wait for compilation and hold some locks: a lock that another thread held at the fork
stays locked in the child, where that thread does not exist."""

from __future__ import annotations

import os
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress


class _Thread(threading.local):
    depth = 0


_thread = _Thread()
_free = threading.Condition(threading.RLock())
_compiling = 0
_held: list[threading.RLock] = []


@contextmanager
def fork_waits() -> Generator[None]:
    """Keep other threads from forking in the with block. Blocks of several threads may overlap."""
    global _compiling
    with _free:
        _compiling += 1
        _thread.depth += 1
    try:
        yield
    finally:
        with _free:
            _compiling -= 1
            _thread.depth -= 1
            _free.notify_all()


def hold_at_forks(lock: threading.RLock) -> threading.RLock:
    """Make each fork hold a lock, after the compilation that may need it; return the lock."""
    with _free:
        _held.append(lock)
    return lock


def _before() -> None:
    _free.acquire()
    while _compiling > _thread.depth:
        _free.wait()
    for lock in _held:
        lock.acquire()


def _after() -> None:
    for lock in _held:
        with suppress(RuntimeError):  # it was added while another thread was forking
            lock.release()
    _free.release()


os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
