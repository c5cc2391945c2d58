"""``gridlane run --device auto``: the best device that is verified on this machine.

Devices are looked for in the order of their speed, and only the first that is hardware is verified,
as ``gridlane doctor`` does; the next ones where that fails. A verification is remembered.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

from gridlane.backends import backends
from gridlane.cli import children
from gridlane.runtime import driver_cache

_MAGIC = b"gl-verif"
_TIMEOUT_S = 120


class Candidate(NamedTuple):
    """A device of real hardware: its kind, what it is, and the key of its verification."""

    kind: str
    facts: str
    key: str


def best_device() -> str:
    """The first kind, of GPUs and then the CPU, on which a kernel has numpy's result; its name and
    what it is go to stderr."""
    for candidate in _candidates():
        if _is_verified(candidate):
            _tell(f"{candidate.kind}: {candidate.facts}")
            return candidate.kind
    _tell("no device is verified here (gridlane doctor says why): interp")
    return "interp"


def preferred() -> list[str]:
    """The kinds of devices in the order in which they are tried."""
    ranked = sorted((each for each in backends() if each.rank), key=lambda each: -each.rank)
    return [each.name for each in ranked]


def _tell(text: str) -> None:
    print(f"gridlane: --device auto: {text}", file=sys.stderr, flush=True)


def _candidates() -> Iterator[Candidate]:
    """The devices of hardware in order; each is looked for when those before have failed."""
    left = preferred()
    while left:
        lines = _survey(left)
        left = left[len(lines) :]
        if lines and lines[-1]["facts"] and not lines[-1]["software"]:
            yield Candidate(lines[-1]["kind"], lines[-1]["facts"], lines[-1]["key"])
        else:
            left = left[1:]  # the driver of this one has ended the process, or kept it


def _survey(kinds: list[str]) -> list[dict[str, str]]:
    """The lines that ``gridlane.cli.survey`` prints of these kinds."""
    command = children.command("gridlane.cli.survey", *kinds)
    environment = {**os.environ, "GRIDLANE_DEVICE": "cpu", "GRIDLANE_TRACE": "0"}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=_TIMEOUT_S)
        output = done.stdout
    except subprocess.TimeoutExpired as stopped:
        output = stopped.stdout or b""
    lines = [line for line in output.splitlines() if line.startswith(b'{"kind"')]
    return [json.loads(line) for line in lines]


def _is_verified(candidate: Candidate) -> bool:
    """Whether a kernel has numpy's result on a device: now, or when its key was verified."""
    folder = driver_cache.directory(driver_cache.VERIFIED)
    if (
        folder is not None
        and driver_cache.load(folder / candidate.key, _MAGIC) == candidate.key.encode()
    ):
        return True
    from gridlane.cli.doctor import climb  # with rich, which a remembered device does not need

    if not climb(candidate.kind)[-1].ok:
        return False
    if folder is not None:
        driver_cache.store(folder / candidate.key, _MAGIC, candidate.key.encode())
    return True
