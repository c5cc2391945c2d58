"""Run recorded benchmarks again, and compare their ratios: ``pairs.py --hold``."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import results
from results import FOLDER, ROOT, Hardware, Row

NOT_REPEATED = ("pairs",)
"""Files whose ratios are of two checkouts."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A recorded ratio and that of now; None was not measured now."""

    name: str
    case: str
    of: str
    recorded: float
    now: float | None

    def held(self, tolerance: float) -> bool | None:
        """Whether the ratio is at most `tolerance` times the recorded one."""
        return None if self.now is None else self.now <= self.recorded * tolerance


def hold(only: list[str], tolerance: float, limit_s: float, folder: Path = FOLDER) -> int:
    """Print a table of all ratios that were recorded on hardware like this; the exit status. It is
    1 where a ratio did not hold, a benchmark did not run, or no ratio was measured.

    Args:
        only: names of files in `folder`; all, if none is named.
        limit_s: how long a benchmark may take.
    """
    unknown = sorted({*only} - {file.stem for file in folder.glob("*.json")})
    if unknown:
        print(f"there are no rows of {', '.join(unknown)} in {folder}")
        return 1
    here = machines()
    rows = [each for each in recorded(folder, only) if any(h.like(each[1].hardware) for h in here)]
    if not rows:
        print("no recorded row with ratios is of hardware like " + ", ".join(map(str, here)))
        return 1
    print(f"held: at most {tolerance:g} times the recorded ratio")
    print(f"{'':<40}{'':<28}{'recorded':>10}{'now':>10}")
    worst: list[bool | None] = []
    failed = 0
    for name, row in rows:
        print(f"{row.command}, of {row.date}", flush=True)
        found = again(name, row, limit_s)
        if isinstance(found, str):
            print(f"  did not run: {found}")
            worst += [None] * sum(each.unit == "ratio" for each in row.figures)
            failed += 1
            continue
        for each in compared(name, row, found):
            held = each.held(tolerance)
            worst.append(held)
            print(line(each, held), flush=True)
    kept, lost, absent = (sum(each is which for each in worst) for which in (True, False, None))
    print(f"{kept} held, {lost} not held, {absent} not measured")
    return 1 if lost or failed or not kept else 0


def line(verdict: Verdict, held: bool | None) -> str:
    """A row of the table."""
    words = {True: "held", False: "NOT HELD", None: "not measured"}[held]
    now = "-" if verdict.now is None else f"{verdict.now:.3f}"
    return f"  {verdict.case:<38}{verdict.of:<28}{verdict.recorded:>10.3f}{now:>10}  {words}"


def machines() -> list[Hardware]:
    """What there is here: the host, and each GPU with it."""
    host = results.processor()
    found = [Hardware(*host, None)]
    for device in ("cuda", "vulkan"):
        gpu = gpu_of(device)
        if gpu:
            found.append(Hardware(*host, gpu))
    return found


def gpu_of(device: str) -> str | None:
    """The name of a device; None where there is none."""
    from gridlane.core.errors import DeviceError

    try:
        return results.gpu_and_driver(device)[0]
    except DeviceError:
        return None


def recorded(folder: Path, only: list[str]) -> Iterator[tuple[str, Row]]:
    """The rows that have ratios, with the names of their files."""
    for file in sorted(folder.glob("*.json")):
        if file.stem in NOT_REPEATED or (only and file.stem not in only):
            continue
        for row in results.read(file):
            if any(each.unit == "ratio" for each in row.figures):
                yield file.stem, row


def again(name: str, row: Row, limit_s: float) -> Row | str:
    """The row of a new run, or why there is none."""
    words = shlex.split(row.command)
    if "python" not in words:
        return f"{row.command!r} is no command of python"
    python = words.index("python")
    settings = dict(word.split("=", 1) for word in words[:python] if "=" in word)
    prefix = [word for word in words[:python] if "=" not in word]
    with tempfile.TemporaryDirectory() as folder:
        command = [*prefix, sys.executable, *words[python + 1 :], "--record", folder]
        try:
            done = subprocess.run(
                command,
                cwd=ROOT,
                env=os.environ | settings,
                capture_output=True,
                text=True,
                timeout=limit_s,
            )
        except subprocess.TimeoutExpired:
            return f"longer than {limit_s:g} s"
        except OSError as error:
            return str(error)
        file = Path(folder) / f"{name}.json"
        if done.returncode or not file.exists():
            return f"status {done.returncode}, {(done.stderr.strip().splitlines() or [''])[-1]}"
        return results.read(file)[-1]


def compared(name: str, old: Row, new: Row) -> list[Verdict]:
    """A verdict for each ratio of the old row."""
    now = {(each.case, each.of): each.value for each in new.figures if each.unit == "ratio"}
    return [
        Verdict(name, each.case, each.of, each.value, now.get((each.case, each.of)))
        for each in old.figures
        if each.unit == "ratio"
    ]
