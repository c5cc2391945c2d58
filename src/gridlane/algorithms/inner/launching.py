"""Launches of the kernels: blocks, and the options that all of them have."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from gridlane.core.frozen import frozen
from gridlane.cuda.kernels.decorators import jit
from gridlane.cuda.kernels.dispatcher import Dispatcher

SHARED_BYTES = 8192
"""Shared memory of one array of items: devices have 16 KiB of it at least."""
MOST_BLOCKS = 256
"""Blocks of a kernel whose results one block combines. No device's number enters, so that every
device computes the same tree."""


Note = tuple[Callable[..., Any], tuple[Any, ...]]
"""A launch: the configured kernel, and its arguments."""


class Notes:
    """What a thread has noted.

    Attributes:
        launches: in order.
        scratch: the temporary memory that the algorithms allocated.
    """

    def __init__(self) -> None:
        self.launches: list[Note] = []
        self.scratch: list[Any] = []


class _Noted(threading.local):
    """What this thread notes; None where it notes nothing."""

    notes: Notes | None = None


_noted = _Noted()


def notes() -> Notes | None:
    """What this thread notes now."""
    return _noted.notes


@frozen
class Kernel:
    """A kernel of an algorithm, whose launches a thread may note."""

    dispatcher: Dispatcher

    def __getitem__(self, shape: Any) -> Callable[..., Any]:
        launch, notes = self.dispatcher[shape], _noted.notes
        if notes is None:
            return launch

        def noted(*args: Any) -> None:
            launch(*args)
            notes.launches.append((launch, args))

        return noted


@contextmanager
def noting() -> Generator[Notes]:
    """Note the launches of this thread, and the temporary memory of its algorithms."""
    made = Notes()
    before, _noted.notes = _noted.notes, made
    try:
        yield made
    finally:
        _noted.notes = before


def kernel(function: Callable[..., Any], **options: Any) -> Kernel:
    """Compile a kernel: float64 is binary64 on devices without it too.

    Args:
        options: more of ``cuda.jit``.
    """
    return Kernel(jit(function, fp64="exact", **options))


def threads_for(size: int, most: int = 256) -> int:
    """Threads of a block that keeps an item of ``size`` bytes for each in shared memory."""
    threads = most
    while threads > 1 and threads * size > SHARED_BYTES:
        threads //= 2
    return threads


def blocks_for(count: int, threads: int, most: int = MOST_BLOCKS) -> int:
    """Blocks for ``count`` items, at least one."""
    return max(1, min(most, -(-count // threads)))
