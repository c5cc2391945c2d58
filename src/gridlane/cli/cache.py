"""``gridlane cache``: the location and the number of cached kernels."""

from __future__ import annotations

from gridlane.cli.failure import check_settings
from gridlane.cli.wording import counted, size
from gridlane.compiler.cache import DiskCache, default_cache
from gridlane.runtime import driver_cache


def show(clear: bool) -> None:
    """Print the state of the cache; with ``clear``, empty it first."""
    check_settings()
    cache = default_cache()
    if cache is None:
        print("the cache is off (GRIDLANE_CACHE=0)")
        return
    if clear:
        driver_cache.clear()
        print(f"removed {counted(cache.clear(), 'kernel')} from {cache.root}")
        return
    print(f"{cache.root}\n{state(cache)}")


def state(cache: DiskCache) -> str:
    """The state of the cache, in words."""
    stats = cache.stats()
    text = f"{counted(stats.entries, 'kernel')}, {size(stats.bytes)} of at most {size(stats.limit)}"
    problem = cache.problem()
    return f"{text}; not in use: {problem}" if problem else text
