"""Compaction: free the bytes of replaced and deleted blocks."""

from __future__ import annotations

from gridlane.core.errors import StoreCorrupt, StoreFull, StoreUnavailable
from gridlane.memory.tiers.folders import WRITERS, Folder, locked
from gridlane.memory.tiers.index import Place
from gridlane.memory.tiers.log import Log, append_record
from gridlane.memory.tiers.records import BLOCK, Header
from gridlane.memory.tiers.segments import KEPT, Segment, failure


def compact(log: Log, least: float) -> int:
    """Rewrite what lives of block files, and remove these. A file that others write, or that is
    damaged, stays. A crash at any point leaves each block in one file or in two.

    Args:
        least: the part of a file that must be dead, from 0 to 1.

    Returns:
        How many bytes of files are free; those of others' appends meanwhile are subtracted.
    """
    with log.compacting:
        if log.ending != KEPT:
            return _compact(log, least)
        with locked(log.folders), log.reading:
            log.refresh()
            log.index.settle()
            return _compact(log, least)


def _compact(log: Log, least: float) -> int:
    before = _bytes(log)
    segments = [
        each
        for each in list(log.segments.values())
        if each.end and each.dead >= least * each.end and _may_go(log, each)
    ]
    # What is wholly dead goes first: the copies of the others may need the space. Then old files,
    # as deletions stay until the blocks are gone.
    for segment in sorted(segments, key=lambda each: (each.live > 0, each.changed())):
        folder = next(each for each in log.folders if each.path == segment.path.parent)
        with folder.lock:  # nothing is appended to it from here on
            if folder.active is segment:
                folder.active = None
        with log.lock:
            places = log.index.places(segment)
        try:
            for each in places:
                _copy(log, each)
            if log.ending == KEPT:
                # The records that replace those in the file, and the copies, come before its end.
                log.flush(others=True)
        except (StoreFull, StoreCorrupt):
            continue  # what was copied is there twice
        _remove(log, folder, segment)
    return before - _bytes(log)


def _bytes(log: Log) -> int:
    return sum(each.end for each in list(log.segments.values()))


def _may_go(log: Log, segment: Segment) -> bool:
    if segment.damaged or not segment.exists():
        return False
    if segment.own:
        return True
    return not (segment.path.parent / (segment.writer + WRITERS[KEPT])).exists()


def _copy(log: Log, place: Place) -> None:
    """Append a copy of a record."""
    old = place.header
    stored = bytearray(old.stored)
    place.segment.read(old, memoryview(stored))

    def write(segment: Segment) -> None:
        header = Header(
            old.kind,
            old.codec,
            old.itemsize,
            old.key,
            old.sequence,
            old.length,
            old.stored,
            segment.end,
            old.checksum,
        )
        append_record(segment, header, stored)
        with log.lock:
            log.index.move(place, Place(segment, header))

    log.place(old.span, write, spares=False, limited=old.kind == BLOCK)


def _remove(log: Log, folder: Folder, segment: Segment) -> None:
    try:
        folder.remove(segment)
        if log.ending == KEPT:
            folder.sync()  # before a deletion that the file made needed is dropped
        folder.measure()
    except OSError as error:
        if isinstance(error, StoreUnavailable):
            raise
        raise failure(error, segment.path, "removing") from error
    with log.lock:
        log.index.forget(segment, settle=True)
        log.segments.pop(segment.path, None)
