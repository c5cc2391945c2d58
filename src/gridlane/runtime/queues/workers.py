"""Threads that do the work of software queues, one queue after the other.

To start a thread costs Python a few hundred microseconds, in which the caller waits for it. So a
thread whose queue ended waits a while for the next one.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue

Work = Callable[[], bool]
"""What a thread does, and whether the thread may do other work then."""

_MOST_IDLE = 16
_REST_S = 0.05
"""How long a thread waits for other work."""

_idle: deque[SimpleQueue[Work]] = deque()
"""Where threads that wait get their work, each once: who takes one out puts work into it."""


def run(work: Work) -> None:
    """Run work on a thread: an idle one, or a new one."""
    try:
        inbox = _idle.pop()
    except IndexError:
        from gridlane.core.threads import start_thread  # most programs have no stream

        name = "gridlane-stream"
        start_thread(threading.Thread(target=_work, args=([work],), name=name, daemon=True))
    else:
        inbox.put(work)


def _work(first: list[Work]) -> None:
    inbox: SimpleQueue[Work] = SimpleQueue()
    inbox.put(first.pop())  # nothing keeps what is done
    while inbox.get()() and len(_idle) < _MOST_IDLE:
        _idle.append(inbox)
        if not _has_more(inbox):
            return


def _has_more(inbox: SimpleQueue[Work]) -> bool:
    """Wait for work for a limited time. False if there is none by then."""
    try:
        inbox.put(inbox.get(timeout=_REST_S))
    except Empty:
        try:
            _idle.remove(inbox)
        except ValueError:  # somebody has taken it out
            return True
        return False
    return True


os.register_at_fork(after_in_child=_idle.clear)
