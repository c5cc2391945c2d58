"""The pool's C as LLVM IR, for installs without its compiled module.

A release has the text of each system beside the sources (``scripts/native_ir.py``). A checkout
without one compiles it by the ``ziglang`` package, and keeps it there. The first line is the digest
of the sources, so that a text of other sources is not used.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from gridlane.core.errors import CompileError
from gridlane.core.extras import install
from gridlane.core.processors import FAMILIES

ROOM = Path(__file__).parent
HEADERS = tuple(ROOM / f"{name}.h" for name in ("threads", "pool", "queue", "space"))
_QUEUES = ("queue", "queue_events", "queue_waits", "queue_forks")
QUEUES = tuple(ROOM / f"{name}.c" for name in ("threads", *_QUEUES, "blocks", "ranges"))
_OF_QUEUE = (
    *("new", "release", "append", "serve", "leave", "next", "wait", "begin_wait", "end_wait"),
    *("waits_for", "of", "failure", "set", "end", "get", "lost"),
)
SOURCES = (
    *(ROOM / f"{name}.c" for name in ("pool", "shares", "records", "leaving", "stop")),
    *(ROOM / f"{name}.c" for name in ("faults", "checks", "timeout")),
    *QUEUES,
)
"""The pool and the queues; module.c and queue_module.c are Python's module of them."""

SYMBOLS = (
    *(f"gridlane_{name}" for name in ("bytes", "launch", "launch_all", "start", "stop")),
    *(f"gridlane_queue_{name}" for name in _OF_QUEUE),
    *(f"gridlane_{name}" for name in ("queues", "queues_busy", "queues_refuse", "queues_turn")),
    *(f"gridlane_{name}" for name in ("queues_forget", "launch_item", "item")),
    *(f"gridlane_{name}" for name in ("mark", "mark_release", "event")),
    *(f"gridlane_event_{name}" for name in ("release", "record", "mark", "time", "capture")),
    *(f"gridlane_{name}" for name in ("map", "map_release", "range_add", "range_remove")),
    *(f"gridlane_{name}" for name in ("range_find", "range_meets", "range_size", "ranges")),
    *(f"gridlane_{name}" for name in ("block_adopt", "block_release", "large_free")),
)
TABLE, SIZES = "gridlane_python", "gridlane_sizes"

TARGETS: Mapping[tuple[str, str], str] = {
    (family, system): f"{family.replace('-', '_')}-{name}"
    for family in ("x86-64", "aarch64")
    for system, name in (("linux", "linux-gnu"), ("darwin", "macos"))
}
"""The compiler's names of systems, by the processor family and ``sys.platform``."""

_OPTIONS = (
    "-std=gnu11",
    "-O1",
    "-g0",
    "-fPIC",
    "-fno-sanitize=undefined",
    "-fno-stack-protector",
    "-fno-unwind-tables",
    "-fno-asynchronous-unwind-tables",
    "-DGL_LINKED_BY_JIT",
)
# The JIT's own target machine decides these.
_OF_MACHINE = re.compile(r' "(?:target-cpu|target-features|tune-cpu)"="[^"]*"')
_HEAD = re.compile(r"^(?:; ModuleID|source_filename|target triple|!).*\n", re.MULTILINE)
_HIDDEN = re.compile(r"^(define|@\w+ =)((?: dso_local)?) hidden ", re.MULTILINE)
_USED_METADATA = re.compile(r", !\w[\w.]* !\d+")


def digest() -> str:
    """The digest of the sources and of how they are compiled."""
    parts = [each.read_bytes() for each in (*HEADERS, *SOURCES)]
    return sha256(b"\0".join([*parts, repr(_OPTIONS).encode()])).hexdigest()


def path_of(target: str) -> Path:
    """Where a target's text is."""
    return ROOM / f"pool-{target}.ll"


def text() -> str:
    """The LLVM IR for this system.

    Raises:
        CompileError: there is none, and nothing to make it with.
    """
    family = FAMILIES.get(platform.machine().lower(), platform.machine())
    target = TARGETS.get((family, sys.platform))
    if target is None:
        raise CompileError(
            f"the CPU device has no compiled module, and no LLVM IR for {family} on"
            f" {sys.platform}: install a C compiler, then install gridlane again"
        )
    head = f"; {digest()}\n"
    with suppress(OSError):
        known = path_of(target).read_text()
        if known.startswith(head):
            return known
    made = compiled(target)
    with suppress(OSError):  # a folder of another user is left as it is
        write(target, made)
    return made


def write(target: str, made: str) -> None:
    """Write a target's text beside the sources; a reader finds the old one or the new one."""
    path = path_of(target)
    part = path.with_suffix(f".{os.getpid()}")
    part.write_text(made)
    part.replace(path)


def compiled(target: str) -> str:
    """The LLVM IR of a target.

    Raises:
        CompileError: the compiler's own messages, or that there is none.
    """
    if find_spec("ziglang") is None:
        raise CompileError(
            "the CPU device has no compiled module, and no LLVM IR of its sources: install a C"
            f" compiler, then install gridlane again; or {install('cpp')}"
        )
    with TemporaryDirectory() as folder:
        whole, made = Path(folder, "whole.c"), Path(folder, "whole.ll")
        whole.write_text("".join(f'#include "{each.name}"\n' for each in SOURCES))
        compiler = (sys.executable, "-m", "ziglang", "cc", "-target", target)
        files = (f"-I{ROOM}", "-S", "-emit-llvm", str(whole), "-o", str(made))
        done = subprocess.run(
            [*compiler, *_OPTIONS, *files], capture_output=True, text=True, timeout=300
        )
        if done.returncode:
            raise CompileError(f"the pool of the CPU device does not compile:\n{done.stderr}")
        return f"; {digest()}\n{_plain(made.read_text())}"


def _plain(made: str) -> str:
    """LLVM IR whose functions the JIT finds, without what names the machine it was made for, and
    without metadata."""
    for pattern, to in ((_OF_MACHINE, ""), (_USED_METADATA, ""), (_HEAD, ""), (_HIDDEN, r"\1\2 ")):
        made = pattern.sub(to, made)
    return made
