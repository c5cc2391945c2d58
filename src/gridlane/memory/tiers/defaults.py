"""The tiers that the environment sets, which arrays have that name none."""

from __future__ import annotations

import os
import threading
import warnings
from functools import cache

from gridlane.core.config import beginning_with
from gridlane.core.tier_settings import TierSettings, tier_settings
from gridlane.memory.tiers.store import BlockStore
from gridlane.memory.tiers.tiers import Tiers

_lock = threading.Lock()
_tiers: dict[int, Tiers] = {}
"""Those of this process, by its number: a forked child has tiers of its own."""


@cache
def settings() -> TierSettings:
    """The settings of this process, read once."""
    return tier_settings(beginning_with("GRIDLANE_TIERS_") | beginning_with("MX_"))


def default_tiers() -> Tiers:
    """The tiers of GRIDLANE_TIERS_*, one object for all arrays of the process.

    Raises:
        StoreUnavailable: a folder of GRIDLANE_TIERS_DISK cannot be used.
        CodecMissing: the package of the codec is not installed.
    """
    with _lock:
        tiers = _tiers.get(os.getpid())
        if tiers is None:
            tiers = _tiers[os.getpid()] = tiers_of(settings())
        return tiers


def tiers_of(given: TierSettings) -> Tiers:
    """New tiers by settings."""
    said: list[str] = []
    if given.aliases:
        said.append(f"{', '.join(given.aliases)} set gridlane's tiers")
    if given.ignored:
        said.append(f"{', '.join(given.ignored)} have no effect on tiers")
    if said:
        warnings.warn(f"{'; '.join(said)}; gridlane's own names are GRIDLANE_TIERS_*", stacklevel=3)
    disk = None
    if given.disk:
        folders = [path if quota is None else (path, quota) for path, quota in given.disk]
        disk = BlockStore(folders, given.codec, given.level, temporary=True)
    host = given.host
    if host is None:
        host = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    return Tiers(host, given.device, disk)


def _renew() -> None:
    """A child has a lock that no other thread holds, and no tiers of its parent."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew)
