"""Processes that work through problems, of which one that fails or hangs ends only its own."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

START_S = 90
"""What a process may take to start, beside a problem's limit."""


def worked(words: list[str], numbers: list[int], limit: float, root: Path) -> Iterator[Any]:
    """What a process prints of each number, in order; ``{"number", "error"}`` of those that fail.

    Args:
        words: the command, to which the numbers that are left are added; it prints a line of JSON
            for each.
        limit: seconds of a number.
        root: the folder of the processes.
    """
    left = list(numbers)
    while left:
        command = [sys.executable, *words, "--only", *map(str, left)]
        with (
            tempfile.TemporaryFile("w+") as errors,
            subprocess.Popen(
                command, cwd=root, stdout=subprocess.PIPE, stderr=errors, bufsize=0
            ) as process,
        ):
            end = time.monotonic() + START_S + limit
            for found in _lines(process, end, limit):
                left.remove(found["number"])
                yield found
            if left and process.poll() is None:
                process.kill()
                yield {"number": left.pop(0), "error": f"no end in {limit:g} s"}
            elif left:
                process.wait()
                errors.seek(0)
                last = (errors.read().strip().splitlines() or ["no output"])[-1]
                yield {"number": left.pop(0), "error": f"ended: {last[:300]}"}


def _lines(process: Any, end: float, limit: float) -> Iterator[Any]:
    """The lines of JSON until the process ends, or none comes within the limit."""
    text = b""
    while True:
        ready, _, _ = select.select([process.stdout], [], [], max(end - time.monotonic(), 0))
        more = process.stdout.read(1 << 16) if ready else b""
        if not more:
            if ready:
                process.wait()
            return
        *whole, text = (text + more).split(b"\n")
        for line in whole:
            if line.startswith(b"{"):
                end = time.monotonic() + limit
                yield json.loads(line)
