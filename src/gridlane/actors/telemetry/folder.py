"""Where running programs publish what their actors do, for ``gridlane actors top``.

A program writes one file for each runtime, that only its user may read, in a folder that is only
this user's. The file says which process it is of, by its number and the time of its start: numbers
are given again, and a process that is killed leaves its file.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

from gridlane.actors.errors import ActorError

VERSION = 1


def folder() -> Path:
    """The folder of this user; made where there is none.

    Raises:
        ActorError: others may write to it, or to the one around it.
    """
    from platformdirs import user_runtime_path

    with warnings.catch_warnings():  # it warns where it takes a folder of /tmp, which is verified
        warnings.simplefilter("ignore")
        found = user_runtime_path("gridlane", appauthor=False) / "actors"
    for each in (found.parent.parent, found.parent, found):
        with suppress(FileExistsError):
            each.mkdir(mode=0o700, parents=True)
        about = os.lstat(each)
        owners = {os.getuid()} if each != found.parent.parent else {os.getuid(), 0}
        if not stat.S_ISDIR(about.st_mode) or about.st_uid not in owners:
            raise ActorError(f"{each} is another user's: telemetry is not published there")
        if each == found and about.st_mode & 0o077:
            raise ActorError(f"others may use {each}: chmod 700 it")
    return found


def write_facts(path: Path, facts: dict[str, Any]) -> None:
    """Replace a file at once, so that readers see the old one or the new one."""
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
    """What the running programs of this user publish; files of killed ones are removed."""
    found: list[dict[str, Any]] = []
    for path in sorted(folder().iterdir()):
        pid = path.name.partition("-")[0]
        if path.suffix not in (".json", ".part") or not pid.isdigit():
            continue
        facts: Any
        try:
            facts = json.loads(path.read_text()) if path.suffix == ".json" else None
        except (OSError, ValueError):
            continue  # it has just ended
        if facts is not None and "started" not in facts:
            continue  # none of ours
        if not _is_of(int(pid), facts):
            with suppress(OSError):
                path.unlink()
        elif facts is not None and facts.get("version") == VERSION:
            found.append(facts)
    return found


def _is_of(pid: int, facts: dict[str, Any] | None) -> bool:
    """Whether the process of a file runs; of a file that is being written, whether one of its
    number does."""
    started = start_of(pid)
    return started is not None and (facts is None or facts["started"] == started)


def start_of(pid: int) -> str | None:
    """When a process has started, in its system's words; None where there is none."""
    if sys.platform == "linux":
        try:
            text = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return None
        # Field 22, in ticks since the boot; the name before may have blanks and brackets.
        fields = text.rpartition(")")[2].split()
        return None if fields[0] in "ZX" else fields[19]
    done = subprocess.run(
        ["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or None
