"""Find the records of a block file by their headers."""

from __future__ import annotations

import os
from collections.abc import Iterator

from gridlane.core.frozen import frozen
from gridlane.memory.tiers.records import (
    BEGIN,
    END,
    FIXED,
    FLUSHED,
    LONGEST_KEY,
    Header,
    key_length,
    parse,
)
from gridlane.memory.tiers.segments import Segment

_WINDOW = 1 << 20


@frozen
class Scan:
    """What a part of a block file has.

    Attributes:
        intact: headers of records.
        damaged: headers of records of which a part is damaged, and which.
        lost: ranges of bytes of which nothing is known.
        end: the offset behind the last record; what follows is torn.
        flushed: the offset up to which the file was on disk.
    """

    intact: list[Header]
    damaged: list[tuple[Header, str]]
    lost: list[tuple[int, int]]
    end: int
    flushed: int


def scan(segment: Segment, size: int) -> Scan:
    """Find the records behind ``segment.end``.

    Args:
        size: of the file, read before: bytes that are appended meanwhile do not count.
    """
    result = Scan([], [], [], segment.end, segment.flushed)
    place, flushed = segment.end, segment.flushed
    while place < size:
        header = _header(segment, place, size, BEGIN)
        if header is not None and header.offset == place:
            if header.end > size:
                break
            if _header(segment, header.end - header.size, size, END) == header:
                result.intact.append(header)
                if header.kind == FLUSHED:
                    flushed = header.length
            else:
                result.damaged.append((header, "the header at its end has other bytes"))
            place = header.end
            continue
        following = next(_following(segment, place, size), None)
        if following is None:
            break
        mark, header = following
        if header.offset > place:
            result.lost.append((place, header.offset))
        place = header.offset
        if mark == END:
            result.damaged.append((header, "its header has other bytes"))
            place = header.end
    return Scan(result.intact, result.damaged, result.lost, place, flushed)


def _header(segment: Segment, place: int, size: int, mark: bytes) -> Header | None:
    """The header at a place, if there is an intact one."""
    data = os.pread(segment.file, min(FIXED + 256, size - place), place)
    length = key_length(data)
    if length > 256:
        data = os.pread(segment.file, min(FIXED + length, size - place), place)
    return parse(data, mark, segment.salt)


def _following(segment: Segment, start: int, size: int) -> Iterator[tuple[bytes, Header]]:
    """The intact headers behind a damaged place, of records from that place on."""
    overlap = FIXED + LONGEST_KEY
    for place in range(start, size, _WINDOW):
        data = os.pread(segment.file, min(_WINDOW + overlap, size - place), place)
        for at in sorted(_marks(data, BEGIN) + _marks(data, END)):
            mark = data[at : at + len(BEGIN)]
            header = parse(data[at : at + overlap], mark, segment.salt)
            if header is None or at >= _WINDOW:
                continue
            expected = header.offset if mark == BEGIN else header.end - header.size
            if expected == place + at and header.offset >= start:
                yield mark, header


def _marks(data: bytes, mark: bytes) -> list[int]:
    """Where some bytes occur."""
    places: list[int] = []
    at = data.find(mark)
    while at >= 0:
        places.append(at)
        at = data.find(mark, at + 1)
    return places
