"""``gridlane cache``: the location and the number of cached kernels."""

from __future__ import annotations

from gridlane.backends import names
from gridlane.cli.failure import check_settings
from gridlane.cli.wording import counted, size
from gridlane.compiler.cache import DiskCache, default_cache
from gridlane.core.config import config
from gridlane.runtime import driver_cache


def show(clear: bool) -> None:
    """Print the state of the cache; with ``clear``, empty it first."""
    check_settings()
    cache = default_cache()
    if cache is None:
        print(f"the cache is off ({why_off()})")
        return
    if clear:
        driver_cache.clear(names())
        print(f"removed {counted(cache.clear(), 'kernel')} from {cache.root}")
        return
    print(f"{cache.root}\n{state(cache)}")


def why_off() -> str:
    """The setting that turns the cache off."""
    settings = config()
    if settings.override is not None:
        return "GRIDLANE_OVERRIDE"
    return "GRIDLANE_DUMP=DIR" if settings.dump_folder is not None else "GRIDLANE_CACHE=0"


def state(cache: DiskCache) -> str:
    """The state of the cache, in words."""
    stats = cache.stats()
    text = f"{counted(stats.entries, 'kernel')}, {size(stats.bytes)} of at most {size(stats.limit)}"
    problem = cache.problem()
    return f"{text}; not in use: {problem}" if problem else text
