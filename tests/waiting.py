"""Waiting for the work of other threads, processes and devices, without a fixed span of time."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

ENOUGH = 3
"""Polls in a row at which a blocked thread has not run."""


def until(
    holds: Callable[[], object],
    seconds: float = 60,
    facts: Callable[[], object] | None = None,
    longest: float = 0.005,
) -> None:
    """Wait until something holds, which is polled each ``longest`` seconds at least.

    Raises:
        AssertionError: it does not in time; with ``facts``.
    """
    end = time.monotonic() + seconds
    pause = 0.0001
    while not holds():
        late = time.monotonic() >= end
        assert not late, f"it has not come in time: {facts() if facts else ''}"
        time.sleep(pause)
        pause = min(2 * pause, longest)


def until_blocked(*threads: threading.Thread) -> None:
    """Wait until threads of this process, the main one if none is named, wait for something: they
    sleep, and stay at one call. While this thread sleeps, none waits for the interpreter."""
    for thread in threads or (threading.main_thread(),):
        _until_blocked(thread)


def when_blocked(action: Callable[[], object]) -> threading.Thread:
    """Start a thread that does something once the calling one is blocked."""
    caller = threading.current_thread()
    thread = threading.Thread(target=lambda: (until_blocked(caller), action()), daemon=True)
    thread.start()
    return thread


def _until_blocked(thread: threading.Thread) -> None:
    seen: list[tuple[object, int]] = []

    def stays() -> bool:
        frame = sys._current_frames().get(thread.ident or 0)
        if frame is None:
            return not thread.is_alive()  # it has ended
        if not _sleeps(thread):
            seen.clear()
            return False
        seen.append((frame, frame.f_lasti))
        return len(seen) >= ENOUGH and all(each == seen[-1] for each in seen[-ENOUGH:])

    until(stays, longest=0.0005)


def _sleeps(thread: threading.Thread) -> bool:
    """Whether a thread is not running or about to; True where the system does not have it in a
    file."""
    try:
        status = Path(f"/proc/self/task/{thread.native_id}/stat").read_text()
    except OSError:
        return sys.platform != "linux"
    return status.rpartition(")")[2].split()[0] == "S"
