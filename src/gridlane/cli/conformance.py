"""``gridlane conformance``: every op on every device, beside the interpreter."""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.markup import escape

import gridlane
from gridlane.backends import backends
from gridlane.cli.failure import check_settings, fail
from gridlane.cli.tables import console, table
from gridlane.cli.wording import described
from gridlane.conformance.cases import Case
from gridlane.conformance.functions import NAMES, function_case, types_of
from gridlane.conformance.judging import Judgement, judgements
from gridlane.conformance.matrix import LEGEND, Matrix, as_markdown
from gridlane.conformance.suite import cases
from gridlane.core.errors import DeviceError
from gridlane.core.frozen import frozen
from gridlane.ir.op import REGISTRY
from gridlane.launch.devices import family, get_device
from gridlane.runtime.protocol import Device

VALUES = 500
"""The number of values per function; tests/ops/test_math_ulp.py tries more."""


@frozen
class Request:
    """The command line.

    Attributes:
        devices: names; by default all that are available.
        ops: names; by default all.
        markdown: write a section of a page instead of a table.
        out: the output file, instead of the screen.
    """

    devices: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()
    markdown: bool = False
    out: str | None = None


def run(request: Request) -> int:
    """Try everything; return the exit status, 1 if a result is wrong."""
    check_settings()
    devices = _devices(request.devices)
    _check_ops(request.ops)
    columns: dict[str, list[Judgement]] = {}
    facts = [
        f"gridlane {gridlane.__version__}, {datetime.now(UTC):%Y-%m-%d}, Python "
        f"{platform.python_version()}, {platform.system()} on {platform.machine()}"
    ]
    for name, device in devices.items():
        start = time.monotonic()
        chosen = _chosen(request.ops, family(name)[0])
        columns[name] = list(_judgements(name, device, chosen))
        seconds = time.monotonic() - start
        facts.append(f"{name}: {described(device.describe())}; {seconds:.0f} s")
    matrix = Matrix(columns)
    if request.markdown:
        _write(as_markdown(matrix, facts), request.out)
    else:
        _show(matrix, facts)
    return int(bool(matrix.failures()))


def _devices(asked: Sequence[str]) -> dict[str, Device]:
    """The requested devices, or all that are available."""
    if asked:
        try:
            return {name: get_device(name) for name in asked}
        except (DeviceError, ImportError, OSError) as error:
            fail(f"conformance: {error}", 1)
    devices: dict[str, Device] = {}
    for record in backends():
        if record.executes_ir:  # the definition itself
            continue
        name = record.name
        try:
            devices[name] = get_device(name)
        except (DeviceError, ImportError, OSError) as error:  # drivers raise it when unavailable
            print(f"without {name}: {str(error).splitlines()[0]}", file=sys.stderr)
    return devices


def _chosen(ops: Sequence[str], target: str) -> list[Case]:
    functions = (function_case(op, dtype, VALUES) for op in NAMES for dtype in types_of(op, target))
    return [case for case in (*cases(), *functions) if not ops or case.op in ops]


def _check_ops(ops: Sequence[str]) -> None:
    for op in ops:
        if op not in REGISTRY:
            known = ", ".join(sorted(REGISTRY))
            fail(f"conformance: there is no op {op!r}; there are {known}", 1)


def _judgements(name: str, device: Device, chosen: list[Case]) -> Iterator[Judgement]:
    """The judgements of all cases on a device, with progress on stderr."""
    for number, judgement in enumerate(judgements(chosen, device), 1):
        if sys.stderr.isatty():
            progress = f"{name}: {number} of {len(chosen)}, {judgement.case}"
            print(f"\r{progress:<78.78}", end="", file=sys.stderr, flush=True)
        yield judgement
    if sys.stderr.isatty():
        print(file=sys.stderr)


def _write(text: str, path: str | None) -> None:
    if path is None:
        print(text, end="")
        return
    try:
        Path(path).write_text(text)
    except OSError as error:
        fail(f"conformance: cannot write {path!r}: {error}", 1)


def _show(matrix: Matrix, facts: Sequence[str]) -> None:
    out = console()
    for fact in facts:
        out.print(escape(fact))
    rows = table("ops", "cases", *matrix.columns)
    for ops, count, cells in matrix.rows():
        rows.add_row(escape(ops), count, *(escape(cell) for cell in cells))
    out.print(rows)
    out.print(escape(LEGEND))
    for reason, letter in matrix.reasons.items():
        out.print(f"({letter}) {escape(reason)}")
    for line in (*matrix.totals(), *matrix.failures()):
        out.print(escape(line))
