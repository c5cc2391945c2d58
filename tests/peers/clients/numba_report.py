"""The page of docs/numba-suite.md."""

from __future__ import annotations

import datetime
import re
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a test.

    Attributes:
        kind: ``passed``, ``failed``, ``skipped``, ``expected`` (to fail, and did) or ``ended``.
    """

    module: str
    test: str
    kind: str
    reason: str


_TEXT = """# numba-cuda's own tests on gridlane's libcuda

`python -m tests.peers.clients.numba_suite --out docs/numba-suite.md` writes this page; last on
{date}. The packages are {packages}, without nvJitLink, which makes machine code; the device is
`{device}`.
Each module of tests has a process of its own; where that ends or takes too long, the test that ran
counts as ended.
{absent}
| tests | |
|---|--:|
{counts}

## What failed

| tests | modules | reason |
|--:|---|---|
{failed}

## What was skipped

| tests | reason, by numba-cuda's own words |
|--:|---|
{skipped}

## By module

| module | passed | failed or ended | skipped |
|---|--:|--:|--:|
{modules}
"""
_MOST = 160


def text(found: Sequence[Outcome], interpreter: Path, device: str, absent: Sequence[str]) -> str:
    """The page; ``absent`` are modules that did not run."""
    counts = Counter(each.kind for each in found)
    return _TEXT.format(
        date=datetime.date.today().isoformat(),
        packages=_packages(interpreter),
        absent=f"\nNot run: {', '.join(absent)}.\n" if absent else "",
        device=device,
        counts="\n".join(
            f"| {kind} | {counts[kind]} |"
            for kind in ("passed", "failed", "ended", "expected", "skipped")
        )
        + f"\n| all | {len(found)} |",
        failed=_failed(found),
        skipped=_skipped(found),
        modules=_modules(found),
    )


def _packages(interpreter: Path) -> str:
    told = "from importlib.metadata import version as v; print(*(f'{n} {v(n)}' for n in "
    told += "('numba-cuda', 'numba', 'cuda-bindings', 'cuda-core', 'nvidia-nvvm')), sep=', ')"
    done = subprocess.run([interpreter, "-c", told], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _failed(found: Sequence[Outcome]) -> str:
    made: dict[str, list[str]] = {}
    for each in found:
        if each.kind in ("failed", "ended"):
            made.setdefault(_plain(each.reason), []).append(each.module)
    rows = sorted(made.items(), key=lambda each: -len(each[1]))
    return "\n".join(
        f"| {len(names)} | {', '.join(sorted(set(names)))} | {reason} |" for reason, names in rows
    )


def _skipped(found: Sequence[Outcome]) -> str:
    counts = Counter(_plain(each.reason) for each in found if each.kind == "skipped")
    return "\n".join(f"| {n} | {reason} |" for reason, n in counts.most_common())


def _modules(found: Sequence[Outcome]) -> str:
    rows: list[str] = []
    for name in sorted({each.module for each in found}):
        kinds = Counter(each.kind for each in found if each.module == name)
        bad = kinds["failed"] + kinds["ended"]
        rows.append(
            f"| {name} | {kinds['passed'] + kinds['expected']} | {bad} | {kinds['skipped']} |"
        )
    return "\n".join(rows)


def _plain(reason: str) -> str:
    """A reason without what differs from run to run, for a cell of a table."""
    reason = re.sub(r"0x[0-9a-f]{6,}", "0x…", reason)
    reason = re.sub(r"/\S*/", "…/", reason).replace("|", "\\|").strip()
    return reason if len(reason) <= _MOST else reason[: _MOST - 1] + "…"
