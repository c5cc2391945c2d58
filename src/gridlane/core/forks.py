"""Forks wait for compilation: a lock that another thread held at the fork stays locked in the
child, where that thread is not."""

from __future__ import annotations

import os
import threading
from collections.abc import Generator
from contextlib import contextmanager


class _Thread(threading.local):
    depth = 0


_thread = _Thread()
_free = threading.Condition(threading.RLock())
_compiling = 0


@contextmanager
def fork_waits() -> Generator[None]:
    """In the with block no other thread forks. Blocks of several threads may overlap."""
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


def _before() -> None:
    _free.acquire()
    while _compiling > _thread.depth:
        _free.wait()


def _after() -> None:
    _free.release()


os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
