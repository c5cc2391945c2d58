"""Kernels that do not end and wait in a cycle for room in each other's inboxes on the device.

None of them comes to its own inbox, so that the wait would last for ever. One of a cycle is found
by the messages that it has taken and sent, which do not change, and by a full inbox that it sends
to; what it sends goes by the host then, which keeps it until there is room.
"""

from __future__ import annotations

import time
from typing import Any

from gridlane.actors.channels import Channels

PATIENCE = 0.2
"""Seconds without a message taken or sent after which an actor may be waiting for room."""


class Cycles:
    """What is known of the actors that do not go on; under the directory's lock."""

    def __init__(self) -> None:
        self._stands: dict[int, tuple[tuple[int, ...], float]] = {}
        self._waits: dict[int, set[int]] = {}
        self._next = 0.0

    def look(self, instances: list[Any], channels: Channels) -> None:
        """Find actors that wait in a cycle, and let one of each go on."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + PATIENCE / 4
        live = {each.number: each for each in instances if each.residence is not None}
        for known in (self._stands, self._waits):
            for number in known.keys() - live.keys():
                del known[number]
        found = [each for each in live.values() if self._has_come_to_wait(each, channels, now)]
        for each in found:
            if self._is_in_cycle(each.number):
                channels.relieve(each)
                self._waits.pop(each.number, None)
        for each in live.values():
            if each.residence.diverted:  # what it sends must not fill its ring to the host
                each.there.keep()

    def _has_come_to_wait(self, instance: Any, channels: Channels, now: float) -> bool:
        """Whether it stands for long enough now, and has a full inbox that it sends to."""
        number, place = instance.number, tuple(instance.there.position[1:5])
        before = self._stands.get(number)
        if before is None or before[0] != place:
            self._stands[number] = place, now
            self._waits.pop(number, None)
            return False
        if now - before[1] < PATIENCE or before[1] < 0:
            return False
        self._stands[number] = place, -1.0  # one look is enough: what is full stays full
        full = channels.full_of(instance)
        if full:
            self._waits[number] = full
        return bool(full)

    def _is_in_cycle(self, start: int) -> bool:
        """Whether an actor waits for one that waits for it, by whatever way."""
        seen, left = set[int](), [*self._waits.get(start, ())]
        while left:
            number = left.pop()
            if number == start:
                return True
            if number not in seen:
                seen.add(number)
                left += self._waits.get(number, ())
        return False
