"""The folder where running programs publish their actors, for ``gridlane actors top``.

A program writes one file for each runtime, readable by its user alone, in a folder of this user
alone. The file names its process by the number and the time of its start: numbers are reused, and a
killed process leaves its file.
"""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from gridlane.actors.processes.identity import start_of
from gridlane.actors.processes.user_folder import verified_folder

VERSION = 1


def write_facts(path: Path, facts: dict[str, Any]) -> None:
    """Replace a file atomically: readers see the old one or the new one."""
    number, part = tempfile.mkstemp(".part", path.name, path.parent)  # of mode 0600
    try:
        with os.fdopen(number, "w") as file:
            json.dump(facts, file)
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(part)
        raise


def read_all() -> list[dict[str, Any]]:
    """The published records of this user's running programs; files of killed ones are removed."""
    records: list[dict[str, Any]] = []
    for path in sorted(verified_folder().iterdir()):
        pid = path.name.partition("-")[0]
        if path.suffix not in (".json", ".part") or not pid.isdigit():
            continue
        facts: Any
        try:
            facts = json.loads(path.read_text()) if path.suffix == ".json" else None
        except (OSError, ValueError):
            continue  # it has just ended
        if facts is not None and "started" not in facts:
            continue  # not a file of gridlane
        if not _is_of(int(pid), facts):
            with suppress(OSError):
                path.unlink()
        elif facts is not None and facts.get("version") == VERSION:
            records.append(facts)
    return records


def _is_of(pid: int, facts: dict[str, Any] | None) -> bool:
    """Whether the process of a file runs; for a file that is being written, whether one of its
    number does."""
    started = start_of(pid)
    return started is not None and (facts is None or facts["started"] == started)
