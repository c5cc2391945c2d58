"""What autotuning has measured, kept for later processes."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any, cast

from gridlane.compiler.identity import identity_of
from gridlane.core.encoding import NotEncodable, encode
from gridlane.frontends.triton.fingerprint import constant_bytes, fingerprint
from gridlane.frontends.triton.functions import TileFunction
from gridlane.launch import current
from gridlane.tiles.configs import Config
from gridlane.tuning import store as files

Timing = tuple[float, ...]


def place_of(function: TileFunction, key: Hashable, configs: Sequence[Config]) -> Path | None:
    """The file of what was measured for a program, a key and configurations, on this thread's
    device; None where the cache is off, or these cannot be told from others in another process: a
    configuration has a hook, or a value has no encoding."""
    if not key or any(each.pre_hook for each in configs):
        return None
    device = current.device()
    target = device.target((1, 1, 1))
    try:
        parts = [fingerprint(function), constant_bytes(key), encode((target, identity_of(target)))]
        for config in configs:
            for name, value in config.all_kwargs().items():
                parts += [encode(name), constant_bytes(value)]
            parts.append(b"")
        return files.place_of(device, *parts)
    except NotEncodable:
        return None


def load(path: Path | None, configs: Sequence[Config]) -> tuple[dict[Config, Timing], bool]:
    """The times of the configurations that run, as they were measured, and whether these are all;
    none where no file has them."""
    data = files.load(path)
    try:
        if not isinstance(data, dict):
            return {}, False
        whole = cast("dict[str, Any]", data)
        pairs = cast("list[Any]", whole["times"])
        times = {configs[_place(place, configs)]: _timing(each) for place, each in pairs}
        return times, whole["complete"] is True
    except (ValueError, TypeError, KeyError):  # another version's
        return {}, False


def _place(value: Any, configs: Sequence[Config]) -> int:
    if type(value) is not int or not 0 <= value < len(configs):
        raise ValueError
    return value


def _timing(values: Any) -> Timing:
    times = tuple([float(each) for each in cast("list[Any]", values)])
    if not times or not all(0 <= each < math.inf for each in times):
        raise ValueError
    return times


def store(
    path: Path | None, configs: Sequence[Config], timings: dict[Config, Any], complete: bool
) -> None:
    """Keep times for later processes, but for those that no clock measures."""
    pairs: list[tuple[int, list[float]]] = []
    for place, config in enumerate(configs):
        if config in timings:
            times: Any = timings[config]
            items: list[Any] = [*times] if isinstance(times, list | tuple) else [times]
            times = [float(each) for each in items]
            if all(0 <= each < math.inf for each in times):
                pairs.append((place, times))
    files.keep(path, {"complete": complete and bool(pairs), "times": pairs})
