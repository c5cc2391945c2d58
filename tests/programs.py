"""Runs Python programs as processes. They are forked from one that has imported what most of them
import, which takes a tenth of a new interpreter's time.

What is about the start of a process (its flags, its encoding, the installed command) wants a new
one instead.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

SERVER = Path(__file__).with_name("program_server.py")
TOO_LONG = -14
"""The status of a program whose time was over."""

_lock = threading.Lock()


@cache
def _server() -> subprocess.Popen[str]:
    """The process that forks programs for this one."""
    # Nothing of a test's environment: each program is given its own.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GRIDLANE_")}
    server = subprocess.Popen(
        [sys.executable, str(SERVER)],
        env=kept,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(_end, server)
    assert server.stdout is not None and server.stdout.readline() == "ready\n"
    return server


def _end(server: subprocess.Popen[str]) -> None:
    assert server.stdin is not None
    server.stdin.close()
    server.wait(60)


def run(
    words: Sequence[str],
    folder: Path | str,
    environment: Mapping[str, str],
    stdin: str = "",
    seconds: float = 300,
) -> subprocess.CompletedProcess[str]:
    """What ``python WORDS`` does in a folder: ``-m module``, ``-c text`` or a file, and arguments.

    Raises:
        subprocess.TimeoutExpired: it did not end in time.
    """
    server = _server()
    assert server.stdin is not None and server.stdout is not None
    with tempfile.TemporaryDirectory(prefix="program-") as place, _lock:
        files = {name: os.path.join(place, name) for name in ("stdin", "stdout", "stderr")}
        Path(files["stdin"]).write_text(stdin)
        request = {
            "words": list(map(str, words)),
            "folder": str(folder),
            "environment": dict(environment),
            "seconds": seconds,
            **files,
        }
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        answer = server.stdout.readline()
        assert answer, "the server of programs has ended"
        said, complained = (Path(files[name]).read_text() for name in ("stdout", "stderr"))
    status = int(answer)
    if status == TOO_LONG:
        raise subprocess.TimeoutExpired(list(words), seconds, said, complained)
    return subprocess.CompletedProcess(list(words), status, said, complained)
