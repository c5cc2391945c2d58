"""The pages of numba-cuda's tests, and numba-cuda-mlir's, on gridlane's libcuda."""

from __future__ import annotations

import datetime
import re
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.peers.clients.mlir_report import version_of


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


_TEXT = """# {name}'s own tests on gridlane's libcuda

`python -m tests.peers.clients.numba_suite {words}` writes this page; last on
{date}. {suite}The packages are {packages}, without nvJitLink, which links to machine code; the
device is `{device}`. Each module of tests runs in its own process. If the process ends or exceeds
its time, its running test counts as ended.
{absent}
| tests | |
|---|--:|
{counts}

## Failures

| tests | modules | reason |
|--:|---|---|
{failed}

## Skipped tests

| tests | reason, as {name} states it |
|--:|---|
{skipped}

## By module

| module | passed | failed or ended | skipped |
|---|--:|--:|--:|
{modules}
"""
_MOST = 160
_PACKAGES = "numba-cuda", "numba", "cuda-bindings", "cuda-core", "nvidia-nvvm"
_MLIR_PACKAGES = "numba-cuda-mlir", "cuda-bindings", "cuda-core", "nvidia-nvvm"
_MLIR_WORDS = "--suite DIR --out docs/numba-cuda-mlir-libcuda.md"
_SUITE = """DIR is the folder `tests` of a checkout of NVIDIA/numba-cuda-mlir, version {}; the
wheel has no tests. Its folders `benchmarks` and `doc_examples` are left out, as by its own settings
of pytest.
"""
_OTHER = "the compiler of the wheel is another version's than the tests"
_LTO = "links LTO-IR, into which CUDA C++ is compiled by default: nvJitLink alone takes that"
_REASONS = {
    r"ObjectCode: ltoir|test_module_callbacks: AssertionError: 0 != ": _LTO,
    r"XPASS\(strict\)": "expected to fail, and passes",
    r"\*\* or pow|'NoneType' object has no attribute 'loc'|: ValueError:\s*$": _OTHER,
    r"Run MLIR backend": _OTHER,
    r"made-up-option": "words of another version of libNVVM",
    r"not greater than 57": "registers of a thread, which this device does not have",
    r"x7fELF": "expects machine code of the linker, which makes PTX",
    r"Linker has been closed": "links before there is a context, which cuLinkCreate needs",
    r"48 != 40": "static shared memory is counted in 16 bytes",
}
"""Reasons by a module and the words of errors."""


def text(
    found: Sequence[Outcome],
    interpreter: Path,
    root: Path | None,
    device: str,
    absent: Sequence[str],
) -> str:
    """The page; ``absent`` are modules that did not run, ``root`` numba-cuda-mlir's tests."""
    counts = Counter(each.kind for each in found)
    return _TEXT.format(
        name="numba-cuda-mlir" if root else "numba-cuda",
        words=_MLIR_WORDS if root else "--out docs/numba-suite.md",
        suite=_SUITE.format(version_of(root)) if root else "",
        date=datetime.date.today().isoformat(),
        packages=_packages(interpreter, _MLIR_PACKAGES if root else _PACKAGES),
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


def _packages(interpreter: Path, names: Sequence[str]) -> str:
    told = "from importlib.metadata import version as v; print(*(f'{n} {v(n)}' for n in "
    told += f"{tuple(names)}), sep=', ')"
    done = subprocess.run([interpreter, "-c", told], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _failed(found: Sequence[Outcome]) -> str:
    made: dict[str, list[str]] = {}
    for each in found:
        if each.kind in ("failed", "ended"):
            made.setdefault(_why(each), []).append(each.module)
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


def _why(each: Outcome) -> str:
    """The reason of a failure."""
    told = f"{each.module}: {each.reason}"
    return next((why for words, why in _REASONS.items() if re.search(words, told)), None) or _plain(
        each.reason
    )


def _plain(reason: str) -> str:
    """A reason without what differs from run to run, for a cell of a table."""
    reason = re.sub(r"0x[0-9a-f]{6,}", "0x…", reason)
    reason = re.sub(r"/\S*/", "…/", reason).replace("|", "\\|").strip()
    return reason if len(reason) <= _MOST else reason[: _MOST - 1] + "…"
