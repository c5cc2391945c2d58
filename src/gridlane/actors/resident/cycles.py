"""Resident kernels that wait in a cycle for room in each other's inboxes on the device.

None of them polls its own inbox, so the wait would last for ever. An actor of a cycle is found by
its counts of taken and sent messages, which do not change, and by a full inbox that it sends to. It
then sends by the host, which keeps the messages until there is room.
"""

from __future__ import annotations

import time
from typing import Any

from gridlane.actors.resident.channels import Channels

PATIENCE = 0.2
"""Seconds without a message taken or sent, after which an actor may be waiting for room."""


class Cycles:
    """The actors that make no progress; under the directory's lock."""

    def __init__(self) -> None:
        self._stands: dict[int, tuple[tuple[int, ...], float]] = {}
        self._waits: dict[int, set[int]] = {}
        self._next = 0.0

    def look(self, instances: list[Any], channels: Channels) -> None:
        """Find actors that wait in a cycle, and unblock one of each cycle."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + PATIENCE / 4
        live = {each.number: each for each in instances if each.residence is not None}
        for known in (self._stands, self._waits):
            for number in known.keys() - live.keys():
                del known[number]
        waiting = [each for each in live.values() if self._has_come_to_wait(each, channels, now)]
        for each in waiting:
            if self._is_in_cycle(each.number):
                channels.relieve(each)
                self._waits.pop(each.number, None)
        for each in live.values():
            if each.residence.diverted:  # its messages must not fill its ring to the host
                each.there.keep()

    def _has_come_to_wait(self, instance: Any, channels: Channels, now: float) -> bool:
        """Whether it has made no progress for long enough, and has a full inbox that it sends
        to."""
        number, place = instance.number, tuple(instance.there.position[1:5])
        before = self._stands.get(number)
        if before is None or before[0] != place:
            self._stands[number] = place, now
            self._waits.pop(number, None)
            return False
        if now - before[1] < PATIENCE or before[1] < 0:
            return False
        self._stands[number] = place, -1.0  # one poll is enough: a full inbox stays full
        full = channels.full_of(instance)
        if full:
            self._waits[number] = full
        return bool(full)

    def _is_in_cycle(self, start: int) -> bool:
        """Whether an actor waits for one that waits for it, directly or not."""
        seen, left = set[int](), [*self._waits.get(start, ())]
        while left:
            number = left.pop()
            if number == start:
                return True
            if number not in seen:
                seen.add(number)
                left += self._waits.get(number, ())
        return False
