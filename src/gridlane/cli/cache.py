"""``gridlane cache``: where compiled kernels are kept, and how many."""

from __future__ import annotations

from gridlane.cli.failure import check_settings
from gridlane.compiler.cache import DiskCache, default_cache


def show(clear: bool) -> None:
    """Print the state of the cache; with ``clear``, empty it first."""
    check_settings()
    cache = default_cache()
    if cache is None:
        print("the cache is off (GRIDLANE_CACHE=0)")
        return
    if clear:
        print(f"removed {counted(cache.clear())} from {cache.root}")
        return
    print(f"{cache.root}\n{state(cache)}")


def state(cache: DiskCache) -> str:
    """What there is, in words."""
    stats = cache.stats()
    text = f"{counted(stats.entries)}, {size(stats.bytes)} of at most {size(stats.limit)}"
    problem = cache.problem()
    return f"{text}; not in use: {problem}" if problem else text


def counted(kernels: int) -> str:
    """A number of kernels, in words."""
    return f"{kernels} kernel" + ("" if kernels == 1 else "s")


def size(count: int) -> str:
    """Bytes for people.

    >>> size(512 * 2**20), size(1500)
    ('512.0 MiB', '1.5 KiB')
    """
    value, unit = float(count), "bytes"
    for larger in ("KiB", "MiB", "GiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{count} bytes" if unit == "bytes" else f"{value:.1f} {unit}"
