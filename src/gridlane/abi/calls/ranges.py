"""Advice about managed memory, and prefetches of it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from gridlane.abi import raw
from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import INVALID_VALUE, NOT_SUPPORTED, fail
from gridlane.abi.state import contexts, devices, ranges, streams
from gridlane.abi.state.ranges import HOST, NODES, NOWHERE, place_of
from gridlane.abi.state.streams import PER_THREAD
from gridlane.abi.struct import Struct
from gridlane.abi.typed import Typed
from gridlane.core.cuda_table import enums, layout

_TYPES = enums()["CUmemLocationType"].values
_ON_DEVICE, _ON_HOST, _ON_NODE, _ON_OWN_NODE = (
    _TYPES[f"CU_MEM_LOCATION_TYPE_{name}"]
    for name in ("DEVICE", "HOST", "HOST_NUMA", "HOST_NUMA_CURRENT")
)
_READ, _UNREAD, _PREFER, _UNPREFER, _USE, _UNUSE = range(1, 7)
_NODES = Path("/sys/devices/system/node")


def _place(location: Struct) -> int:
    """A place by a structure.

    Raises:
        Failure: INVALID_VALUE, INVALID_DEVICE, there is no such place; NOT_SUPPORTED.
    """
    if location.type == _ON_DEVICE:
        devices.device(location.id)
        return location.id
    if location.type == _ON_HOST:
        return HOST
    if location.type == _ON_OWN_NODE:
        fail(NOT_SUPPORTED, "the node of the calling thread: name the node")
    if location.type != _ON_NODE or not (_NODES / f"node{location.id}").is_dir():
        fail(INVALID_VALUE, f"no place has the type {location.type} and number {location.id}")
    return NODES + location.id


def place_of_number(number: int) -> int:
    """A place by the number of a device; -1 is the host."""
    if number != HOST:
        devices.device(number)
    return number


# --- advice ---


def _advise(address: int, size: int, advice: int, place: int | None) -> None:
    """Note a program's advice about pages.

    Args:
        place: None for advice that has none.
    """
    pages, part = ranges.pages(address, size, contexts.current())
    if advice in (_READ, _UNREAD):
        pages.mostly_read[part] = advice == _READ
    elif advice in (_PREFER, _UNPREFER):
        pages.preferred[part] = place if place is not None else NOWHERE
    else:
        assert place is not None
        pages.users(place)[part] = advice == _USE


def _check_advice(advice: int) -> bool:
    """Whether advice has a place.

    Raises:
        Failure: INVALID_VALUE, there is no such advice.
    """
    if not _READ <= advice <= _UNUSE:
        fail(INVALID_VALUE, f"no advice has the number {advice}")
    return advice in (_PREFER, _USE, _UNUSE)


@implements("cuMemAdvise_v2", "cudaMemAdvise", "cudaMemAdvise_v2")
def advise(address: int, size: int, advice: int, location: Struct) -> None:
    """Say how memory will be used."""
    place = _place(location) if _check_advice(advice) else None
    if place is not None and advice != _PREFER and place >= NODES:
        fail(INVALID_VALUE, "this advice is about a device or the host")
    _advise(address, size, advice, place)


@implements("cuMemAdvise", "cudaMemAdvise@12")
def advise_by_number(address: int, size: int, advice: int, number: int) -> None:
    """Say how memory will be used, with the number of a device; -1 is the host."""
    _advise(address, size, advice, place_of_number(number) if _check_advice(advice) else None)


# --- prefetches; host and device use the same memory, so that nothing moves ---


def note_prefetch(address: int, size: int, place: int, stream: int) -> None:
    """Note a prefetch of memory to a place."""
    pages, part = ranges.pages(address, size, streams.stream(stream).context)
    pages.prefetched[part] = place


@implements("cuMemPrefetchAsync_v2", "cudaMemPrefetchAsync", "cudaMemPrefetchAsync_v2")
def prefetch(address: int, size: int, location: Struct, flags: int, stream: int) -> None:
    """Prefetch memory to a place."""
    if flags:
        fail(INVALID_VALUE, f"the flags are 0, not {flags}")
    note_prefetch(address, size, _place(location), stream)


def check_batch(
    addresses: int, sizes: int, count: int, flags: int, stream: int
) -> list[tuple[int, int]]:
    """The ranges of a batch.

    Raises:
        Failure: INVALID_VALUE, one is not managed memory, or the stream is a default one.
    """
    if not addresses or not sizes or not count or flags or stream < PER_THREAD:
        fail(INVALID_VALUE, f"{count} ranges with the flags {flags}, in the stream {stream:#x}")
    context = streams.stream(stream).context
    result = list(zip(raw.words(addresses, count), raw.words(sizes, count)))
    for address, size in result:
        ranges.pages(address, size, context)
    return result


@implements(
    "cuMemPrefetchBatchAsync",
    "cudaMemPrefetchBatchAsync",
    "cuMemDiscardAndPrefetchBatchAsync",
    "cudaMemDiscardAndPrefetchBatchAsync",
)
def prefetch_batch(
    addresses: int,
    sizes: int,
    count: int,
    first: Struct | None,
    starts: int,
    place_count: int,
    flags: int,
    stream: int,
) -> None:
    """Prefetch several ranges of memory to places."""
    ranges = check_batch(addresses, sizes, count, flags, stream)
    if first is None or not starts or not 0 < place_count <= count:
        fail(INVALID_VALUE, f"{place_count} places for {count} ranges")
    begin = raw.words(starts, place_count)
    if begin[0] or begin[-1] >= count or any(a >= b for a, b in pairwise(begin)):
        fail(INVALID_VALUE, f"places begin at the ranges {begin}; the first is 0, and they rise")
    step = layout("CUmemLocation").size
    given = [_place(Struct("CUmemLocation", first.address + n * step)) for n in range(place_count)]
    for n, (address, size) in enumerate(ranges):
        which = sum(each <= n for each in begin) - 1
        note_prefetch(address, size, given[which], stream)


# --- questions ---


def attribute_of(size: int, number: int, address: int, count: int) -> Typed:
    """One piece of advice about memory."""
    pages, part = ranges.pages(address, count, contexts.current())
    names = enums()["CUmem_range_attribute"].values
    name = next((each for each, value in names.items() if value == number), "")
    what = name.removeprefix("CU_MEM_RANGE_ATTRIBUTE_")
    if what == "ACCESSED_BY" and size and not size % 4:
        users = [place for place, used in pages.used_by.items() if used[part].all()]
        room = size // 4
        return Typed("int", (*users, *[NOWHERE] * room)[:room])
    if not what or size != 4:
        fail(INVALID_VALUE, f"{size} bytes for the attribute {what or number}")
    if what == "READ_MOSTLY":
        return Typed("int", int(pages.mostly_read[part].all()))
    place = place_of((pages.preferred if what.startswith("PREFERRED") else pages.prefetched)[part])
    if what.endswith("_TYPE"):
        return Typed("CUmemLocationType", _type_of(place))
    if what.endswith("_ID"):
        return Typed("int", place - NODES if place >= NODES else place)
    return Typed("int", NOWHERE if place >= NODES else place)


def _type_of(place: int) -> int:
    if place == NOWHERE:
        return _TYPES["CU_MEM_LOCATION_TYPE_INVALID"]
    if place == HOST:
        return _ON_HOST
    return _ON_NODE if place >= NODES else _ON_DEVICE


@implements("cuMemRangeGetAttributes", "cudaMemRangeGetAttributes")
def get_attributes(
    sizes: int, numbers: int, several: int, address: int, count: int
) -> tuple[list[Typed]]:
    """Several pieces of advice about memory."""
    if not sizes or not numbers or not several:
        fail(INVALID_VALUE, "no attributes")
    asked = zip(raw.words(sizes, several), raw.numbers(numbers, several))
    return ([attribute_of(size, number, address, count) for size, number in asked],)
