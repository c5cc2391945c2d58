"""Make forks wait for compilation and imports, and hold some locks: a lock that another thread held
at the fork stays locked in the child, where that thread does not exist."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib import import_module


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


def _imports() -> set[str]:
    """The modules of gridlane that threads are importing."""
    return {
        name
        for name, module in sys.modules.copy().items()
        if name.startswith("gridlane.")
        and getattr(getattr(module, "__spec__", None), "_initializing", False)
    }


def _wait_for_imports() -> set[str]:
    """Wait for the imports of other threads; those that go on are this thread's."""
    own = set[str]()
    while new := _imports() - own:
        for name in new:
            with suppress(Exception):  # the importing thread raises it
                import_module(name)  # waits until another thread has imported it
        own |= _imports() & new
    return own


def _before() -> None:
    while True:
        own = _wait_for_imports()  # without the lock: a module may take it
        _free.acquire()
        if _imports() <= own:
            break
        _free.release()
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
