"""Run a compiler as a process of its own, with a limit of time."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress

from gridlane.core.config import config
from gridlane.core.errors import CompileError

_POSIX = os.name == "posix"


def encoded(text: str) -> bytes:
    """The bytes of a source, which may have some that are no UTF-8, as its file has them.

    Raises:
        CompileError: it is no text.
    """
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError as error:
        place = text.count("\n", 0, error.start) + 1
        raise CompileError(f"the source is no text at its line {place}: {error}") from None


def run_compiler(command: Sequence[str], text: str = "", patience: float = 1) -> tuple[int, str]:
    """Run a compiler on a text; its exit status and its messages.

    Args:
        patience: how many times GRIDLANE_COMPILE_TIMEOUT it may run.

    Raises:
        CompileError: it does not start, or runs longer than that. It is ended then, with the
            processes that it has started. Or the words or the text are none.
    """
    given = encoded(text)
    for word in command:
        if "\0" in word:
            raise CompileError(f"{word!r} is no option: options are texts without NUL characters")
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=_POSIX,  # a group of its own, which is ended as a whole
        )
    except OSError as error:
        raise CompileError(f"the compiler {command[0]} does not start: {error}") from error
    limit = config().compile_timeout * patience
    try:
        messages, _ = process.communicate(given, timeout=limit)
    except subprocess.TimeoutExpired:
        _end(process)
        raise CompileError(
            f"the compiler {command[0]} was ended: it ran longer than {limit:g} s; "
            "GRIDLANE_COMPILE_TIMEOUT sets another limit in seconds"
        ) from None
    except BaseException:
        _end(process)
        raise
    return process.returncode, messages.decode(errors="replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and its children."""
    if _POSIX:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        tree = ["taskkill", "/F", "/T", "/PID", str(process.pid)]
        subprocess.run(tree, capture_output=True, check=False)
        process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.communicate(timeout=5)
