"""The command: find the device, try the cases, write the table."""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import gridlane
from gridlane.cli.failure import check_settings, fail
from gridlane.cli.selftest.case_runner import FAILED, REFUSED, RIGHT, WRONG, Row, rows
from gridlane.cli.selftest.cases import every
from gridlane.cli.selftest.report import check, table
from gridlane.cli.wording import described
from gridlane.core.errors import DeviceError
from gridlane.core.frozen import frozen
from gridlane.launch.devices import device_for_compiling, get_device

EXAMPLE_S = 600
# Modules that examples import.
_HELPERS = ("png", "measure", "raytracer_scene")


@frozen
class Request:
    """The command line.

    Attributes:
        device: its name.
        out: the file of the table, besides the screen.
        only: parts of names of cases.
        examples: the folder of examples to run as well.
        compile_only: test only whether the device's compiler accepts the kernels.
    """

    device: str
    out: str | None = None
    only: tuple[str, ...] = ()
    examples: str | None = None
    compile_only: bool = False


def verify(path: str) -> int:
    """Verify a table in a file, or on standard input for ``-``; return the exit status."""
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        fail(f"selftest: cannot read {path!r}: {error}")
    whole, verdict = check(text)
    print(f"{'whole' if whole else 'NOT WHOLE'}: {verdict}")
    return 0 if whole else 1


def run(request: Request) -> int:
    """Try everything; return the exit status, 1 if a result is wrong."""
    check_settings()
    device = _device(request)
    reference = get_device("interp")
    rows_so_far: list[Row] = []
    for row in _every(request, device, reference):
        print(f"{row.verdict:>14}  {row.case}, {row.row} {row.types}  {row.detail}".rstrip())
        rows_so_far.append(row)
    text = table(_head(request, device), rows_so_far)
    if request.out is not None:
        Path(request.out).write_text(text)
    print(f"\n{text}", end="")
    return int(any(row.verdict in (WRONG, FAILED) for row in rows_so_far) or not rows_so_far)


def _every(request: Request, device: Any, reference: Any) -> Iterator[Row]:
    for case in every():
        if not request.only or any(word in case.name for word in request.only):
            yield from rows(case, device, reference, not request.compile_only)
    if request.examples is not None:
        yield from _examples(Path(request.examples), request.device)


def _device(request: Request) -> Any:
    try:
        if request.compile_only:
            return device_for_compiling(request.device)
        return get_device(request.device)
    except (DeviceError, ImportError, OSError) as error:
        fail(f"selftest: {error}", 1)


def _head(request: Request, device: Any) -> dict[str, str]:
    return {
        "gridlane": gridlane.__version__,
        "device": device.name,
        "is": described(device.describe()),
        "machine": f"{platform.machine()} {platform.processor()}".strip(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "tried": "compilation only" if request.compile_only else "results beside the interpreter",
    }


def _examples(folder: Path, device: str) -> Iterator[Row]:
    """Programs that check their own results, each in a process of its own."""
    for path in sorted(folder.glob("*.py")):
        if path.stem in _HELPERS:
            continue
        command = [sys.executable, "-m", "gridlane", "run", "--device", device, str(path)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=EXAMPLE_S)
        except subprocess.TimeoutExpired:
            yield Row("example", path.stem, "", FAILED, f"no end within {EXAMPLE_S} s")
            continue
        said = (done.stderr if done.returncode else done.stdout).strip().splitlines()
        errors = [line for line in said if "Error" in line]
        last = (errors or said or [""])[-1].replace("|", "/")
        verdict = RIGHT if not done.returncode else FAILED
        if done.returncode and "TargetError" in last:
            verdict = REFUSED
        yield Row("example", path.stem, "", verdict, last)
