"""One graph, launched into one stream by several threads at a time."""

from __future__ import annotations

import sys
import threading
from typing import Any


def launched_by_threads(stream: Any, pieces: int, threads: int, times: int) -> list[int]:
    """The numbers of the pieces in the order in which they ran.

    Args:
        pieces: host functions of the graph; each notes its number.
        threads, times: so many threads launch it, each so many times.
    """
    seen: list[int] = []
    stream.begin_capture()
    for n in range(pieces):
        stream.submit(lambda n=n: seen.append(n))
    work = stream.end_capture().instantiate()
    start = threading.Barrier(threads)

    def launch() -> None:
        start.wait()
        for _ in range(times):
            work.launch(stream)

    launching = [threading.Thread(target=launch) for _ in range(threads)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in launching:
            thread.start()
        for thread in launching:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    stream.synchronize()
    return seen
