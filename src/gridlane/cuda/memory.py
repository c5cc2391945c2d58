"""Memory of devices: who holds it, statistics, limits.

>>> from gridlane import cuda
>>> x = cuda.device_array(1 << 20)
>>> print(cuda.memory.explain())  # doctest: +ELLIPSIS
cpu: device: ... used, ...
"""

from __future__ import annotations

import gc
import json
from collections import Counter
from typing import Any

from gridlane.core.frozen import frozen
from gridlane.core.openings import OPENED
from gridlane.cuda.host.memory_pools import MemoryPoolStatistics, Pool, pool
from gridlane.launch import current
from gridlane.memory import accounting
from gridlane.memory.accounting import PoolStatistics, Site
from gridlane.memory.device_memory import DeviceMemory, memories_of
from gridlane.memory.resource import Buffer

__all__ = [
    "Explanation", "Holder", "Holding", "MemoryPoolStatistics", "Pool", "SiteHolding", "explain",
    "pool", "reset_peak", "set_limit", "statistics", "trace", "trim",
]  # fmt: skip

_UNITS = "bytes", "KiB", "MiB", "GiB", "TiB"


# --- statistics and limits of this thread's device ---


def statistics() -> PoolStatistics:
    """Bytes in use, at most, held and allowed, and the numbers of allocations and frees."""
    return current.device().memory.statistics()


def reset_peak() -> None:
    """Begin the statistics' most bytes anew, with those in use."""
    current.device().memory.accounting.reset_peak()


def set_limit(limit: int | None) -> None:
    """Set the most bytes that may be used; None for what the device has.

    Raises:
        TypeError: it is neither an integer nor None.
        DeviceError: INVALID_VALUE, it is negative.
    """
    current.device().memory.limit = limit


def trim(keep: int = 0) -> None:
    """Return memory to the device that is kept for later allocations, down to ``keep`` bytes."""
    current.device().memory.trim(keep)


def trace(is_on: bool) -> bool:
    """Note the lines at which the program allocates memory of any device, or no longer; return
    whether that was so. ``GRIDLANE_MEMORY_TRACE=1`` does it from the beginning.

    An allocation costs some microseconds more then.

    Raises:
        TypeError: ``is_on`` is not a bool.
    """
    if not isinstance(is_on, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"True or False, not {is_on!r}")
    return accounting.trace(is_on)


# --- who holds what ---


@frozen
class Holder:
    """A live allocation.

    Attributes:
        address, size: in bytes.
        what: the objects that hold it, as far as they are known: arrays with shapes and types.
        site: where the program allocated it, ``file:line in function``; "" if that was not traced.
    """

    address: int
    size: int
    what: str
    site: str


@frozen
class SiteHolding:
    """What was allocated at a line and is alive.

    Attributes:
        site: ``file:line in function``; "" for what was allocated without a trace.
        count, size: allocations, and their bytes.
    """

    site: str
    count: int
    size: int


@frozen
class Holding:
    """Memory of one kind of a device.

    Attributes:
        device: its name.
        kind: ``device`` memory, or the host's for it: ``pinned``, ``mapped``, ``managed``,
            ``staging``; ``reports`` of kernels.
        used, peak: bytes of live allocations, now and at most.
        limit: the most bytes that may be used; None for the device's memory.
        kept: bytes that the pool holds besides, for later allocations or until they are freed.
        count: live allocations.
        largest: the largest of them, in order.
        sites: by allocation site, the largest first; empty if nothing was traced.
    """

    device: str
    kind: str
    used: int
    peak: int
    limit: int | None
    kept: int
    count: int
    largest: tuple[Holder, ...]
    sites: tuple[SiteHolding, ...]

    def lines(self) -> list[str]:
        """The text."""
        limit = "no limit" if self.limit is None else f"a limit of {_size(self.limit)}"
        result = [
            f"{self.device}: {self.kind}: {_size(self.used)} used, {_size(self.peak)} at most, "
            f"{limit}, {_size(self.kept)} kept by the pool, {_count(self.count)}"
        ]
        for each in self.largest:
            place = f"  {each.site}" if each.site else ""
            result.append(f"  {_size(each.size):>12}  {each.what}{place}")
        if self.sites:
            result.append("  by allocation site:")
        for site in self.sites:
            place = site.site or "not traced"
            result.append(f"  {_size(site.size):>12}  {_count(site.count)}  {place}")
        return result


@frozen
class Explanation:
    """Who holds the memory of the open devices. ``print`` shows it."""

    holdings: tuple[Holding, ...]

    def __str__(self) -> str:
        return "\n".join(line for each in self.holdings for line in each.lines()) or (
            "no device is open"
        )

    def dict(self) -> dict[str, Any]:
        """The facts, as dictionaries and lists by the attributes' names; sizes are in bytes."""
        return {"holdings": [_as_dict(each) for each in self.holdings]}

    def json(self, indent: int | None = None) -> str:
        """The facts, as JSON."""
        return json.dumps(self.dict(), indent=indent)


def explain(largest: int = 10) -> Explanation:
    """Explain who holds the memory of the open devices.

    Args:
        largest: how many allocations of each kind of memory are described.

    Raises:
        ValueError: it is negative.
    """
    if largest < 0:
        raise ValueError(f"0 allocations or more, not {largest}")
    return Explanation(
        tuple(
            _holding(name, memory, largest)
            for name, device in tuple(OPENED.items())
            for memory in memories_of(device)
            if memory.kind == "device" or memory.statistics().allocations
        )
    )


def _holding(device: str, memory: DeviceMemory[Any], largest: int) -> Holding:
    buffers = memory.accounting.counted()
    sites = {id(buffer): site for buffer, site in tuple(memory.accounting.sites.items())}
    told = memory.statistics()
    first = sorted(buffers, key=lambda buffer: (-buffer.size, buffer.address))[:largest]
    what = _described(first, f"{memory.kind} memory")
    holders = [
        Holder(each.address, each.size, text, _place(sites.get(id(each))))
        for each, text in zip(first, what, strict=True)
    ]
    return Holding(
        device,
        memory.kind,
        told.used,
        told.peak,
        told.limit,
        told.reserved - told.used,
        len(buffers),
        tuple(holders),
        _by_site(buffers, sites) if sites or accounting.is_traced() else (),
    )


def _by_site(buffers: list[Buffer], sites: dict[int, Site]) -> tuple[SiteHolding, ...]:
    counts, sizes = Counter[str](), Counter[str]()
    for each in buffers:
        place = _place(sites.get(id(each)))
        counts[place] += 1
        sizes[place] += each.size
    by_size = sorted(sizes, key=lambda place: (-sizes[place], place))
    return tuple(SiteHolding(place, counts[place], sizes[place]) for place in by_size)


def _described(buffers: list[Buffer], otherwise: str) -> list[str]:
    """What holds each buffer: the arrays and other objects of gridlane that refer to it, the
    largest by its name."""
    holders: dict[int, list[Any]] = {id(buffer): [] for buffer in buffers}
    for each in gc.get_referrers(*buffers) if buffers else ():
        buffer = getattr(each, "buffer", None)
        if isinstance(buffer, Buffer) and id(buffer) in holders:
            holders[id(buffer)].append(each)
    return [_names(holders[id(buffer)]) or otherwise for buffer in buffers]


def _name(holder: Any) -> str:
    shape, dtype = getattr(holder, "shape", None), getattr(holder, "dtype", None)
    kind = type(holder).__name__
    return kind if shape is None or dtype is None else f"{kind} {shape} {dtype}"


def _names(holders: list[Any]) -> str:
    if not holders:
        return ""
    first = _name(max(holders, key=lambda each: getattr(each, "nbytes", 0)))
    return f"{first} and {len(holders) - 1} more" if len(holders) > 1 else first


def _place(site: Site | None) -> str:
    return "" if site is None else f"{site[0]}:{site[1]} in {site[2]}"


def _as_dict(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_as_dict(each) for each in value]
    names = getattr(type(value), "__dataclass_fields__", None)
    return value if names is None else {name: _as_dict(getattr(value, name)) for name in names}


def _count(count: int) -> str:
    return f"{count} allocation" + ("" if count == 1 else "s")


def _size(size: int) -> str:
    """A number of bytes in words.

    >>> _size(1), _size(1023), _size(1 << 20), _size(5 << 29), _size(1 << 60)
    ('1 byte', '1023 bytes', '1.0 MiB', '2.5 GiB', '1048576.0 TiB')
    """
    if size < 1024:
        return f"{size} byte" + ("" if size == 1 else "s")
    step = min((size.bit_length() - 1) // 10, len(_UNITS) - 1)
    return f"{size / 1024**step:.1f} {_UNITS[step]}"
