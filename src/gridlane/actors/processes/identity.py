"""Identify running processes: numbers of processes are reused, and are those of one machine."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path


def start_of(pid: int) -> str | None:
    """The start of a process, in its system's format; None where there is none."""
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


@cache
def mark_of(pid: int) -> str:
    """A mark of a running process of this machine, for names of its files; no other one has it.

    The machine's boot and the namespace of numbers are in it: folders may be shared.
    """
    start = hashlib.blake2b((start_of(pid) or "").encode(), digest_size=4).hexdigest()
    return f"{_here()}-{pid}-{start}"


def is_left(mark: str) -> bool:
    """Whether a mark is of a process of this machine that has ended; False where that is
    unknown."""
    here, _, rest = mark.partition("-")
    pid = rest.partition("-")[0]
    if here != _here() or not pid.isdigit():
        return False
    start = start_of(int(pid))
    if start is None:
        return True
    return rest != f"{pid}-{hashlib.blake2b(start.encode(), digest_size=4).hexdigest()}"


@cache
def _here() -> str:
    parts = [platform.node()]
    for path in ("/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid"):
        with suppress(OSError):
            parts.append(os.readlink(path) if "ns" in path else Path(path).read_text())
    return hashlib.blake2b(" ".join(parts).encode(), digest_size=4).hexdigest()
