"""Run programs in a process of their own, which a kernel may end."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context

from tests.peers.corpus import PROGRAMS
from tests.peers.corpus.packages import Text
from tests.peers.corpus.programs import Outcome, judge

LIMIT = 180
"""Seconds that a program may take."""


class Runner:
    """Runs programs, in a new process after one that a program has ended."""

    def __init__(self) -> None:
        self._process: ProcessPoolExecutor | None = None

    def outcome(self, number: int, text: Text, device: str) -> Outcome:
        """What comes of a program, by its number in PROGRAMS."""
        if self._process is None:
            self._process = ProcessPoolExecutor(1, get_context("spawn"))
        try:
            return self._process.submit(_judged, number, text, device).result(LIMIT)
        except BrokenProcessPool:
            self.close()
            return Outcome("ended", "the program ends its process")
        except TimeoutError:
            self.close()
            return Outcome("ended", f"the program takes more than {LIMIT} s")

    def close(self) -> None:
        """End the process, and what it does."""
        if self._process is not None:
            for each in (self._process._processes or {}).values():
                each.kill()
            self._process.shutdown(cancel_futures=True)
        self._process = None


def _judged(number: int, text: Text, device: str) -> Outcome:
    return judge(PROGRAMS[number], text, device)
