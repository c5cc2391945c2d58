"""LLVM in a helper process: a process keeps 0.1 to 1 MiB for each module that LLVM has optimised in
it, which no call of llvmlite releases. A helper ends after some modules, and its memory with it.

The first modules of a process are compiled in it, as most programs have few. A helper that dies, or
cannot be started, is replaced by one more, and then by this process.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import struct
import subprocess
import sys
import threading
from dataclasses import asdict
from typing import IO, Any, cast

from gridlane.codegen.llvm import machine
from gridlane.core.errors import GridlaneError

FIRST = 100
"""The modules that a process compiles itself."""
EACH = 300
"""The modules that a helper compiles."""
_HEAD = struct.Struct("<BQ")
_DONE, _REFUSED = 0, 1


class _Helper:
    """The helper of this process, and how many modules it may still compile."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None
        self.left = 0

    def code(self, text: str, target_machine: machine.Machine, level: int) -> bytes:
        """Object code by the helper, which is started if there is none.

        Raises:
            GridlaneError: LLVM refuses the text.
            OSError, EOFError: the helper cannot be started, or has died.
        """
        with self.lock:
            if self.process is None or not self.left:
                self.end()
                self.process, self.left = _started(), EACH
            self.left -= 1
            try:
                kind, answer = _exchanged(self.process, _request(text, target_machine, level))
            except BaseException:  # an interrupted exchange would leave half an answer in the pipe
                self.end()
                raise
        if kind == _REFUSED:
            raise GridlaneError(answer.decode())
        return answer

    def end(self) -> None:
        """End the helper, if there is one."""
        process, self.process = self.process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                cast(IO[bytes], pipe).close()


_helper = _Helper()
_compiled = 0


def object_code(text: str, target_machine: machine.Machine, level: int = 2) -> bytes:
    """As ``machine.object_code``, in a helper process once this one has compiled its first modules.

    Raises:
        GridlaneError: LLVM refuses the text.
    """
    global _compiled
    if _compiled >= FIRST and _may_start():
        for _ in range(2):
            with contextlib.suppress(OSError, EOFError):
                return _helper.code(text, target_machine, level)
    _compiled += 1
    return machine.object_code(text, target_machine, level)


def _may_start() -> bool:
    """Whether a Python is known that can run a helper: a program that embeds one may have none."""
    return "python" in os.path.basename(sys.executable or "")


def _started() -> subprocess.Popen[bytes]:
    start = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import serve; serve()"
    # Of a session of its own, so that an interrupt of the terminal does not end it.
    return subprocess.Popen(
        [sys.executable, "-P", "-c", start],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )


def _request(text: str, target_machine: machine.Machine, level: int) -> bytes:
    fields = asdict(target_machine) | {"has": sorted(target_machine.has)}
    return json.dumps([text, fields, level]).encode()


def _exchanged(process: subprocess.Popen[bytes], request: bytes) -> tuple[int, bytes]:
    there, back = cast(IO[bytes], process.stdin), cast(IO[bytes], process.stdout)
    there.write(_HEAD.pack(0, len(request)) + request)
    there.flush()
    return _read(back)


def _read(pipe: IO[bytes]) -> tuple[int, bytes]:
    """A message.

    Raises:
        EOFError: the other process has ended.
    """
    head = pipe.read(_HEAD.size)
    if len(head) < _HEAD.size:
        raise EOFError
    kind, size = _HEAD.unpack(head)
    content = pipe.read(size)
    if len(content) < size:
        raise EOFError
    return kind, content


def serve() -> None:
    """Compile the requests on standard input until it ends."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what LLVM prints is no answer
    machine.initialise_all()
    while True:
        try:
            _, request = _read(requests)
        except EOFError:
            return
        kind, answer = _answered(json.loads(request))
        answers.write(_HEAD.pack(kind, len(answer)) + answer)
        answers.flush()


def _answered(request: Any) -> tuple[int, bytes]:
    text, fields, level = request
    target_machine = machine.Machine(**fields | {"has": frozenset(fields["has"])})
    try:
        return _DONE, machine.object_code(text, target_machine, level)
    except GridlaneError as error:
        return _REFUSED, str(error).encode()


def _begin_in_child() -> None:
    """A forked child has a helper of its own."""
    global _helper
    # Finalising the parent's would close its pipe with what another thread had written in part.
    _of_parents.append(_helper)
    _helper = _Helper()


_of_parents: list[_Helper] = []
os.register_at_fork(after_in_child=_begin_in_child)
atexit.register(lambda: _helper.end())
