"""Entries of the history of errors, the last ones of which are kept, and counts of all."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import NamedTuple

WINDOW_S = 600
"""The seconds whose errors are known one second from another, for rates."""

BATCH = 64
"""How many errors wait to be counted."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""What times of entries count from."""


class Entry(NamedTuple):
    """An error of the history.

    Attributes:
        number: of the error in its process, from 1.
        microseconds: its time, since 1970-01-01 in UTC.
        process: the process's number.
        thread: the name of the thread.
        device: that of the call, or else the current one of the thread; "" if unknown.
        kernel: the kernel's name, or those of the suspects; "" if none has a part in it.
        file: the user's source file; "" if unknown.
        line: in it, from 1; 0 if unknown.
        category: one of ``error_table.CATEGORIES``.
        code: CUDA's number of the failure.
        name: CUDA's name of it, or the class of the exception.
        message: what happened, its first 400 characters.
        suggestion: the remedy.
    """

    number: int
    microseconds: int
    process: int
    thread: str
    device: str
    kernel: str
    file: str
    line: int
    category: str
    code: int
    name: str
    message: str
    suggestion: str

    @property
    def time(self) -> datetime:
        """The time, in UTC."""
        return EPOCH + timedelta(microseconds=self.microseconds)


class Counts(NamedTuple):
    """How many errors there were since the beginning, or the last ``clear``.

    Attributes:
        total: of all.
        categories: by category.
        codes: by name and CUDA's number.
        last_minute: those of the last 60 s.
        last_ten_minutes: those of the last 600 s.
    """

    total: int
    categories: dict[str, int]
    codes: dict[tuple[str, int], int]
    last_minute: int
    last_ten_minutes: int


class History:
    """The last errors, and counts of all.

    Signal handlers and finalizers note errors at any moment, also while their thread counts some:
    each leaves its entry in a queue, which is counted by the code that they interrupt. A reader
    counts what is in the queue, and so does a thread that finds it long.

    Args:
        most: how many errors are kept.
        seconds: a clock that only goes forward, for rates.
    """

    def __init__(self, most: int, seconds: Callable[[], float] = time.monotonic) -> None:
        self._most, self._seconds = most, seconds
        self._numbers = count(1)
        self.begin()

    def clear(self) -> None:
        """Forget all errors; the numbers of later ones go on."""
        with self._lock:
            self._forget()

    def begin(self) -> None:
        """Begin without errors, as the child of a fork does: the holder of the lock may be a thread
        of the parent."""
        self._lock, self._counting = threading.RLock(), False
        self._forget()

    def _forget(self) -> None:
        # An entry, the second in which it came, and +1, or -1 for one that is taken back.
        self._queue: deque[tuple[Entry, int, int]] = deque()
        self._ring: deque[Entry] = deque(maxlen=self._most)
        self._total = 0
        self._categories: dict[str, int] = {}
        self._codes: dict[tuple[str, int], int] = {}
        self._seconds_of, self._counts = [-1] * WINDOW_S, [0] * WINDOW_S

    def next_number(self) -> int:
        """The number of the next error."""
        return next(self._numbers)

    def add(self, entry: Entry) -> int:
        """Note an error; return the second to take it back with."""
        second = int(self._seconds())
        self._change(entry, second, 1)
        return second

    def take_back(self, entry: Entry, second: int) -> None:
        """Remove an error that gridlane itself has handled."""
        self._change(entry, second, -1)

    def _change(self, entry: Entry, second: int, change: int) -> None:
        self._queue.append((entry, second, change))
        if len(self._queue) >= BATCH:
            with self._lock:
                self._count()

    def entries(self) -> tuple[Entry, ...]:
        """The last errors, oldest first."""
        with self._lock:
            self._count()
            return tuple(self._ring)

    def counts(self) -> Counts:
        """The counts, and the rates at this moment."""
        with self._lock:
            self._count()
            now = int(self._seconds())
            return Counts(
                self._total,
                {category: number for category, number in self._categories.items() if number},
                {code: number for code, number in self._codes.items() if number},
                self._within(now, 60), self._within(now, WINDOW_S),
            )  # fmt: skip

    def _within(self, now: int, seconds: int) -> int:
        pairs = zip(self._seconds_of, self._counts, strict=True)
        return sum(number for second, number in pairs if second >= 0 and second > now - seconds)

    def _count(self) -> None:
        """Count what is in the queue. The holder of the lock calls this, and a signal handler that
        interrupts it finds ``_counting``."""
        if self._counting:
            return
        self._counting = True
        categories, codes = self._categories, self._codes
        try:
            while self._queue:  # a thread that finds it long waits for the lock, so this ends
                entry, second, change = self._queue.popleft()
                category, code = entry.category, (entry.name, entry.code)
                self._total += change
                categories[category] = categories.get(category, 0) + change
                codes[code] = codes.get(code, 0) + change
                if change > 0:
                    self._ring.append(entry)
                else:
                    self._drop(entry)
                place = second % WINDOW_S
                if self._seconds_of[place] < second:
                    self._seconds_of[place], self._counts[place] = second, 0
                if self._seconds_of[place] == second:
                    self._counts[place] += change
        finally:
            self._counting = False

    def _drop(self, entry: Entry) -> None:
        for place in range(len(self._ring) - 1, -1, -1):  # it is the last one, or near
            if self._ring[place] is entry:
                del self._ring[place]
                return
