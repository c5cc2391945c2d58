"""The newest record of each key, in memory."""

from __future__ import annotations

from collections import Counter

from gridlane.core.frozen import frozen
from gridlane.memory.tiers.records import BLOCK, Header
from gridlane.memory.tiers.segments import Segment


@frozen
class Place:
    """A record in a file; ``damage`` is what is wrong with it, or ""."""

    segment: Segment
    header: Header
    damage: str = ""


class Index:
    """The newest record of each key. Its user holds a lock.

    A deletion must stay on disk as long as an older record of its key does: a start that found only
    the older one would bring the block back.

    Attributes:
        blocks: the newest records that are blocks.
        deletions: the newest records that are deletions, which older records still need.
        counts: how many records of a key are on disk.
        sequence: the highest number of a record.
        length, stored: bytes of all blocks, and as they are stored.
    """

    def __init__(self) -> None:
        self.blocks: dict[bytes, Place] = {}
        self.deletions: dict[bytes, Place] = {}
        self.counts: Counter[bytes] = Counter()
        self.sequence = self.length = self.stored = 0
        self._twins: dict[bytes, list[Place]] = {}
        """Copies of the newest records: a crash during compaction leaves both, and another process
        may remove either."""

    def newest(self, key: bytes) -> Place | None:
        """The newest record of a key."""
        return self.blocks.get(key) or self.deletions.get(key)

    def add(self, place: Place) -> None:
        """Note a record on disk."""
        header, key = place.header, place.header.key
        self.sequence = max(self.sequence, header.sequence)
        self.counts[key] += 1
        place.segment.counts[key] += 1
        newest = self.newest(key)
        if newest is None or newest.header.sequence < header.sequence:
            self._drop(key)
            self._put(place)
        elif newest.header.sequence == header.sequence:
            twins = [*self._twins.get(key, []), newest, place]
            self._drop(key)
            self._choose(key, twins)

    def move(self, place: Place, copy: Place) -> None:
        """Note a copy of a record, which replaces the original if that is still the newest."""
        key = place.header.key
        self.counts[key] += 1
        copy.segment.counts[key] += 1
        if self.newest(key) is not place:
            return
        self._twins.pop(key, None)
        place.segment.live -= place.header.span
        copy.segment.live += copy.header.span
        (self.blocks if place.header.kind == BLOCK else self.deletions)[key] = copy

    def needs(self, segment: Segment) -> bool:
        """Whether a block is in this file alone."""
        return any(
            each.header.kind == BLOCK
            and all(twin.segment is segment for twin in self._twins.get(each.header.key, ()))
            for each in self.places(segment)
        )

    def drop(self, key: bytes) -> None:
        """Forget a block without a record of its deletion."""
        self._drop(key)

    def places(self, segment: Segment) -> list[Place]:
        """The records of a file that are the newest of their keys."""
        found: list[Place] = []
        for key in segment.counts:
            place = self.newest(key)
            if place is not None and place.segment is segment:
                found.append(place)
        return found

    def forget(self, segment: Segment, settle: bool) -> None:
        """Note that a file is gone, and the records in it.

        Args:
            settle: drop deletions of its keys that are the only record of them. All files have been
                read, and no other process moves records.
        """
        for place in self.places(segment):
            key = place.header.key
            twins = self._twins.get(key, [])
            self._drop(key)
            self._choose(key, [each for each in twins if each.segment is not segment])
        for key in segment.counts:
            if key in self._twins:
                self._twins[key] = [e for e in self._twins[key] if e.segment is not segment]
        for key, count in segment.counts.items():
            self.counts[key] -= count
            if self.counts[key] <= 0:
                del self.counts[key]
            elif settle:
                self._settle(key)

    def settle(self) -> None:
        """Drop deletions that are the only record of their key, as ``forget``."""
        for key in list(self.deletions):
            self._settle(key)

    def _settle(self, key: bytes) -> None:
        if key in self.deletions and self.counts[key] == 1:
            self._drop(key)

    def _choose(self, key: bytes, places: list[Place]) -> None:
        """Note one of several copies as the newest record, an intact one if there is one."""
        if places:
            chosen = min(places, key=lambda each: bool(each.damage))
            self._put(chosen)
            self._twins[key] = [each for each in places if each is not chosen]

    def _put(self, place: Place) -> None:
        header = place.header
        place.segment.live += header.span
        if header.kind == BLOCK:
            self.blocks[header.key] = place
            self.length += header.length
            self.stored += header.stored
        else:
            self.deletions[header.key] = place  # an older record may be found later

    def _drop(self, key: bytes) -> None:
        self._twins.pop(key, None)
        place = self.blocks.pop(key, None)
        if place is not None:
            self.length -= place.header.length
            self.stored -= place.header.stored
        else:
            place = self.deletions.pop(key, None)
        if place is not None:
            place.segment.live -= place.header.span
