"""Tables of tunings: files in JSON, which a tuning exports and others use.

    {"format": 1, "gridlane": version, "device": {"kind", "hardware", "driver"},
     "tunings": [...], "digest": of all that}

Each tuning has its kernel's name, a digest of its text, the shape class of the arguments, and the
trials. What a table says of the same version, hardware and driver is used as it is, after one run
that compares results; of others of the same kind it is the order in which candidates are tried. A
table that is damaged is an error; of the tables that gridlane ships it is a warning, and no table.
"""

from __future__ import annotations

import json
import platform
import warnings
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol, cast

from gridlane.core.frozen import frozen
from gridlane.core.processors import available_processors
from gridlane.core.version import VERSION
from gridlane.launch.devices import family
from gridlane.runtime.driver_cache import processor_name
from gridlane.runtime.protocol import Device
from gridlane.tuning.errors import TuningError
from gridlane.tuning.results import State, Trial, Tuning, trials_of
from gridlane.tuning.spaces import Candidate, Space

FORMAT = 1
_LARGEST = 16 << 20
_PARTS = "format", "gridlane", "device", "tunings"


class Known(Protocol):
    """A kernel that a table may have."""

    @property
    def name(self) -> str:
        """The kernel's name."""
        ...

    @property
    def shapes(self) -> str:
        """The class of its arguments."""
        ...

    @property
    def source(self) -> bytes:
        """A digest of its text; empty where it has none."""
        ...


@frozen
class Table:
    """A table that was read.

    Attributes:
        tunings: by the digest of a kernel's text and the shape class.
    """

    gridlane: str
    device: dict[str, str]
    tunings: dict[tuple[str, str], dict[str, Any]]


@frozen
class Advice:
    """What a table says of a kernel's candidates.

    Attributes:
        order: those that it has measured, the fastest first.
        trials: as they are there, the plain one first.
        is_exact: whether it is of this version, hardware and driver.
    """

    order: list[Candidate]
    trials: list[Trial]
    is_exact: bool


_used: list[Table] = []


def identity(device: Device) -> dict[str, str]:
    """The kind, the hardware and the driver of a device, as tables have them."""
    facts = device.describe()
    kind = family(device.name)[0]
    return {
        "kind": kind,
        "hardware": str(facts.get("name") or _processor()),
        "driver": str(facts.get("driver") or facts.get("cuda_version") or platform.machine()),
    }


def _processor() -> str:
    return f"{processor_name()}, {available_processors()} threads"


def digest_of(subject: Known) -> str:
    """The digest by which tables have a kernel; empty for a kernel whose text has none."""
    if not subject.source:
        return ""
    return sha256(subject.name.encode() + b"\0" + subject.source).hexdigest()


def text_of(tunings: Iterable[Tuning], device: Device) -> str:
    """A table of tunings on a device."""
    kept = [each.as_json() for each in tunings if each.source and each.device == device.name]
    data = {
        "format": FORMAT,
        "gridlane": VERSION,
        "device": identity(device),
        "tunings": sorted(kept, key=lambda each: (each["kernel"], each["source"], each["shapes"])),
    }
    return json.dumps({**data, "digest": _digest(data)}, indent=1) + "\n"


def _digest(data: dict[str, Any]) -> str:
    whole = json.dumps([data.get(name) for name in _PARTS], sort_keys=True)
    return sha256(whole.encode()).hexdigest()


def read(text: str, name: str) -> Table:
    """The table of a text.

    Args:
        name: of its file, for errors.

    Raises:
        TuningError: the text is damaged, or of another format.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TuningError(f"{name} is no table of tunings: {error}") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise TuningError(f"{name} is no table of tunings of the format {FORMAT}")
    given = cast("dict[str, Any]", data)
    if given.get("digest") != _digest(given):
        raise TuningError(f"{name} is damaged: its digest is not that of its contents")
    tunings, device, version = (given.get(part) for part in ("tunings", "device", "gridlane"))
    if not (_is_of_texts(device) and isinstance(version, str) and isinstance(tunings, list)):
        raise TuningError(f"{name} is no table of tunings: its parts have other types")
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for each in cast("list[Any]", tunings):
        entry = cast("dict[str, Any]", each) if isinstance(each, dict) else {}
        source, shapes = entry.get("source"), entry.get("shapes")
        if not isinstance(source, str) or not isinstance(shapes, str):
            raise TuningError(f"{name} is no table of tunings: one has no source, or no shapes")
        found[source, shapes] = entry
    return Table(version, cast("dict[str, str]", device), found)


def _is_of_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(each, str) for each in cast("dict[Any, Any]", value).values()
    )


def use(path: str | Path) -> int:
    """Use a table of a file in this process; returns the number of tunings in it.

    Raises:
        TuningError: the file is damaged, or no table.
        OSError: there is no such file.
    """
    file = Path(path)
    if file.stat().st_size > _LARGEST:
        raise TuningError(f"{file} is no table of tunings: it has more than {_LARGEST} bytes")
    table = read(file.read_text(encoding="utf-8", errors="replace"), str(file))
    _used.insert(0, table)
    return len(table.tunings)


@cache
def shipped() -> tuple[Table, ...]:
    """The tables that gridlane has."""
    found: list[Table] = []
    folder = files("gridlane.tuning").joinpath("shipped")
    for file in sorted(folder.iterdir(), key=str) if folder.is_dir() else ():
        if file.name.endswith(".json"):
            try:
                found.append(read(file.read_text(encoding="utf-8"), file.name))
            except (TuningError, OSError) as error:
                warnings.warn(f"gridlane's table of tunings is not used: {error}", stacklevel=2)
    return tuple(found)


def advice(subject: Known, space: Space, device: Device) -> Advice | None:
    """What tables say of a kernel: those that the program uses, then those of gridlane; of the same
    hardware and driver first."""
    source, here = digest_of(subject), identity(device)
    if not source:
        return None
    best: Advice | None = None
    for table in (*_used, *shipped()):
        entry = table.tunings.get((source, subject.shapes))
        if entry is None or table.device.get("kind") != here["kind"]:
            continue
        exact = table.gridlane == VERSION and table.device == here
        found = _advice(entry, space, exact)
        if found is not None and (best is None or (exact and not best.is_exact)):
            best = found
    return best


def _advice(entry: dict[str, Any], space: Space, exact: bool) -> Advice | None:
    try:
        trials = trials_of(entry.get("trials"), space)
    except ValueError:
        return None
    order = sorted(
        [each for each in trials if each.state is State.MEASURED], key=lambda t: t.milliseconds
    )
    first = [each for each in order if each.candidate == space.plain]
    if not first:
        return None
    rest = [each for each in trials if each is not first[0]]
    return Advice([each.candidate for each in order], [*first, *rest], exact)
