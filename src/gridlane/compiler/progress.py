"""Reports of a compilation: a line on a terminal if it is long, a record of ``logging``."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

from gridlane.core import trace

LONG = 2.0
"""Seconds after which a terminal is told of a compilation."""


_thread = threading.local()


def finished() -> int:
    """How many compilations this thread has finished."""
    return getattr(_thread, "finished", 0)


@contextmanager
def compiling(name: str, target: str) -> Generator[None]:
    """Report the compilation of a kernel in the with block.

    The logger ``gridlane`` gets a record of level INFO at the end, if the program has loaded
    ``logging``: otherwise there is no handler for it.
    """
    begin = time.perf_counter()
    announced = threading.Event()
    timer = None
    if sys.stderr is not None and sys.stderr.isatty():
        timer = threading.Timer(LONG, _tell, (name, target, announced))
        timer.daemon = True
        timer.start()
    try:
        yield
    finally:
        if timer is not None:
            timer.cancel()
            timer.join(1)  # what it tells comes first, and is known; an interpreter may be ending
    _thread.finished = finished() + 1
    seconds = time.perf_counter() - begin
    if announced.is_set():
        trace.write(f"gridlane: compiled {name} for {target} in {seconds:.1f} s")
    logging = sys.modules.get("logging")
    if logging is not None:
        logging.getLogger("gridlane").info(
            "compiled %s for %s in %.3f s", name, target, seconds, stacklevel=3
        )


def _tell(name: str, target: str, announced: threading.Event) -> None:
    announced.set()
    trace.write(f"gridlane: compiling {name} for {target}, which takes more than {LONG:g} s ...")
