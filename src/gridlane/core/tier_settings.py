"""The tiers that the environment sets: GRIDLANE_TIERS_*, and MetaXuda's names for some of them."""

from __future__ import annotations

from collections.abc import Mapping

from gridlane.core.byte_sizes import byte_size
from gridlane.core.frozen import frozen

CODECS = ("lz4", "zstd", "raw")
_IGNORED = ("MX_DISK_PARALLELISM_LEVEL", "MX_DEBUG")


@frozen
class TierSettings:
    """The tiers of arrays that name none.

    Attributes:
        host: GRIDLANE_TIERS_HOST, the quota of host memory in bytes, or with a unit as 2GiB; None
            (default) is half of the machine's.
        device: GRIDLANE_TIERS_DEVICE, the quota of each device; None (default) for no devices.
        disk: GRIDLANE_TIERS_DISK, folders with commas between, each with ``=QUOTA`` or without;
            none by default.
        codec: GRIDLANE_TIERS_CODEC, ``lz4`` (default), ``zstd`` or ``raw``.
        level: GRIDLANE_TIERS_LEVEL, of the codec; None (default) for its usual one.
        block: GRIDLANE_TIERS_BLOCK, bytes of a block; 1 MiB by default.
        aliases: the names of MetaXuda's that were read.
        ignored: those that are set and mean nothing here.
    """

    host: int | None
    device: int | None
    disk: tuple[tuple[str, int | None], ...]
    codec: str
    level: int | None
    block: int
    aliases: tuple[str, ...]
    ignored: tuple[str, ...]


def tier_settings(environment: Mapping[str, str]) -> TierSettings:
    """The settings of an environment.

    >>> tier_settings({"GRIDLANE_TIERS_DISK": "/a=1KB,/b"}).disk
    (('/a', 1000), ('/b', None))

    Raises:
        ValueError: a value is not valid; the message names the variable.
    """
    get = environment.get
    aliases, others = _of_metaxuda(environment)
    codec = get("GRIDLANE_TIERS_CODEC") or others.get("codec", CODECS[0])
    if codec not in CODECS:
        raise ValueError(f"GRIDLANE_TIERS_CODEC={codec!r}: one of {', '.join(CODECS)}")
    level = get("GRIDLANE_TIERS_LEVEL") or others.get("level") or None
    if level is not None and not level.removeprefix("-").isdecimal():
        raise ValueError(f"GRIDLANE_TIERS_LEVEL={level!r}: a number")
    block = _bytes(environment, "GRIDLANE_TIERS_BLOCK")
    if block == 0:
        raise ValueError("GRIDLANE_TIERS_BLOCK='0': at least one byte")
    disk = get("GRIDLANE_TIERS_DISK") or others.get("disk", "")
    return TierSettings(
        host=_bytes(environment, "GRIDLANE_TIERS_HOST"),
        device=_bytes(environment, "GRIDLANE_TIERS_DEVICE"),
        disk=tuple([_folder(each) for each in disk.split(",") if each]),
        codec=codec,
        level=None if level is None or codec == "raw" else int(level),
        block=1 << 20 if block is None else block,
        aliases=aliases,
        ignored=tuple([name for name in _IGNORED if get(name)]),
    )


def _bytes(environment: Mapping[str, str], name: str) -> int | None:
    text = environment.get(name)
    if not text:
        return None
    try:
        return byte_size(text)
    except ValueError as error:
        raise ValueError(f"{name}={text!r}: {error}") from None


def _folder(text: str) -> tuple[str, int | None]:
    path, _, quota = text.partition("=")
    if not path:
        raise ValueError(f"GRIDLANE_TIERS_DISK={text!r}: a folder, or FOLDER=QUOTA")
    return path, _bytes({"GRIDLANE_TIERS_DISK": quota}, "GRIDLANE_TIERS_DISK")


def _of_metaxuda(environment: Mapping[str, str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """The names of MetaXuda's that are set and mean something here, and what they set."""
    get, names, values = environment.get, list[str](), dict[str, str]()
    if get("MX_DISK_SPILL_ENABLED", "0") not in ("", "0"):
        names.append("MX_DISK_SPILL_ENABLED")
        devices = get("MX_TIER3_EXTERNAL_DEVICES", "")
        external = get("MX_TIER3_STRATEGY", "prefer_external") == "prefer_external" and devices
        if external:
            names.append("MX_TIER3_EXTERNAL_DEVICES")
            values["disk"] = ",".join(each.partition(":")[2] for each in devices.split(","))
            if not all(values["disk"].split(",")):
                raise ValueError(f"MX_TIER3_EXTERNAL_DEVICES={devices!r}: id:path,id:path")
        else:
            values["disk"] = get("MX_TIER3_INTERNAL_PATH") or "block_store"
    if get("MX_ENABLE_DATASTORE_COMPRESSION", "1") in ("", "0"):
        names.append("MX_ENABLE_DATASTORE_COMPRESSION")
        values["codec"] = "raw"
    elif codec := get("MX_DATASTORE_COMPRESSION_TYPE"):
        names.append("MX_DATASTORE_COMPRESSION_TYPE")
        values["codec"] = codec
    if level := get("MX_DATASTORE_COMPRESSION_LEVEL"):
        names.append("MX_DATASTORE_COMPRESSION_LEVEL")
        values["level"] = level
    return tuple(names), values
