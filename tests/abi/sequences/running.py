"""Run a sequence of calls in a process of its own, on libraries with sanitizers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

from gridlane.abi.library.build import LIBRARIES, build

_OPTIONS = (
    *("-g", "-O1", "-fno-omit-frame-pointer"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"),
)
_SETTINGS = {
    "PYTHONMALLOC": "malloc",  # so that each object has its own redzones
    "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}
_ROOT = Path(__file__).parents[3]


class Ended(Exception):
    """A sequence that ended before its calls did.

    Attributes:
        what: the sanitizer's line, or the signal.
    """

    def __init__(self, what: str, calls: str, told: str) -> None:
        super().__init__(f"{what}\nthe last calls:\n{calls}\n{told}")
        self.what = what


@cache
def sanitizers() -> tuple[str, ...]:
    """gcc's libraries of the sanitizers; () where they are not installed."""
    made: list[str] = []
    for name in ("libasan.so", "libubsan.so"):
        command = ["gcc", f"-print-file-name={name}"]
        try:
            found = subprocess.run(command, capture_output=True, text=True).stdout.strip()
        except OSError:
            return ()
        if not Path(found).is_absolute():
            return ()
        made.append(found)
    return tuple(made)


def built(folder: Path) -> Path:
    """The folder, with the libraries."""
    for each in LIBRARIES:
        if each.file in ("libcuda.so.1", "libcudart.so.13"):
            build(each, folder, *_OPTIONS)
    return folder


def run(folder: Path, seed: int, count: int, limit: float) -> Counter[int]:
    """How often each error came back.

    Raises:
        Ended: the process did not come to its end.
    """
    file = folder / f"calls-{seed}"
    command = ["-m", "tests.abi.sequences.calls", str(folder), str(seed), str(count), str(file)]
    settings = _SETTINGS | {"LD_PRELOAD": " ".join(sanitizers()), "LD_LIBRARY_PATH": str(folder)}
    try:
        done = subprocess.run(
            [sys.executable, *command],
            cwd=_ROOT,
            env=os.environ | settings,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        raise Ended(f"no end in {limit} s", _last(file), "") from None
    if done.returncode:
        lines = [each for each in done.stderr.splitlines() if not each.startswith("gridlane:")]
        summary = [each for each in lines if "SUMMARY" in each or "runtime error" in each]
        what = summary[0] if summary else f"exit status {done.returncode}"
        start = next((n for n, each in enumerate(lines) if "ERROR" in each), 0)
        raise Ended(what, _last(file), "\n".join(lines[start : start + 40]))
    made = json.loads(done.stdout.splitlines()[-1])
    file.unlink()
    return Counter({int(number): n for number, n in made.items()})


def _last(file: Path) -> str:
    return "\n".join(file.read_text().splitlines()[-3:]) if file.exists() else "none"
