"""The history of a process's errors: the last ones, counts that go on, and rates.

Errors of devices and kernels are noted where they are made (``device_errors``), others where a
launch, a compilation or a call of CUDA's interface ends with them. The first error imports this.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

from gridlane.core.config import config
from gridlane.core.endings import OWN_THREADS
from gridlane.core.error_kinds import KINDS, kind_of
from gridlane.core.error_ring import Counts, Entry, History
from gridlane.core.error_table import NAMES, TABLE
from gridlane.core.errors import MARK, CompileError, DeviceError, GridlaneError
from gridlane.core.kernel_names import readable
from gridlane.core.source import UNKNOWN, Loc, users

_UNKNOWN_FAILURE = TABLE[NAMES["CUDA_ERROR_UNKNOWN"]]
_TEXT = 400
"""The most characters that are kept of a message."""

_active: dict[int, threading.Thread] = vars(threading)["_active"]
_file = config().error_file
_history = History(config().error_history)
os.register_at_fork(after_in_child=_history.begin)  # the parent's errors are not the child's


def note(
    error: BaseException,
    category: str = "",
    device: str = "",
    kernel: str = "",
    device_of_thread: Callable[[], str] = str,
) -> None:
    """Note an error, unless it has an entry.

    Args:
        category: where it is not that of the error's number or class.
        device: see ``Entry``; "" for that of the thread, unless the thread is gridlane's own.
        kernel: see ``Entry``; that of the error itself goes first.
        device_of_thread: its name.
    """
    marks = error.__dict__
    mark = marks.get(MARK)
    process = os.getpid()
    if mark is not None and mark[0].process == process:
        return
    known, code, name, message, advice = _facts(error)
    loc: Loc = marks.get("loc", UNKNOWN)
    if loc is not UNKNOWN:
        loc = users(loc)
    kernel = marks.get("kernel") or kernel
    thread = _thread_name()
    if not device and not thread.startswith(OWN_THREADS):
        device = device_of_thread()
    entry = Entry(
        _history.next_number(), time.time_ns() // 1000, process, thread, device,
        readable(kernel) if kernel else "", loc.file if loc.line else "", loc.line,
        category or known, code, name, message[:_TEXT], advice,
    )  # fmt: skip
    marks[MARK] = entry, _history.add(entry)
    file = _file
    if file is not None:
        from gridlane.core import error_file  # few processes write it

        error_file.append(file, entry)


def _facts(error: BaseException) -> tuple[str, int, str, str, str]:
    """The category, code, name, message and remedy, by the tables and the error itself."""
    marks = error.__dict__
    number: int = marks.get("number", -1)
    row = TABLE.get(number)
    if isinstance(error, DeviceError):
        row = row or _UNKNOWN_FAILURE
        advice = error.advice or row.advice
        return row.category, error.number, error.name, error.meaning, advice
    kind = kind_of(error)
    if kind is None and row is not None:  # of a call of CUDA's interface
        return row.category, number, row.name, marks.get("what") or row.meaning, row.advice
    kind = kind or KINDS[GridlaneError]
    if isinstance(error, CompileError):
        message = error.message
    else:
        message = marks.get("text") or str(error)
    name = marks.get("exception") or type(error).__name__
    return kind.category, kind.number, name, message, kind.advice


def take_back(error: BaseException) -> None:
    """Remove an error from the history, as it did not fail what the program asked for."""
    mark = error.__dict__.pop(MARK, None)
    if mark is None or mark[0].process != os.getpid() or mark[1] < 0:  # a copy of a lost device's
        return
    _history.take_back(*mark)
    file = _file
    if file is not None:
        from gridlane.core import error_file

        error_file.append_taken_back(file, mark[0])


def entries() -> tuple[Entry, ...]:
    """The last errors of this process, oldest first."""
    return _history.entries()


def counts() -> Counts:
    """The counts and rates of this process's errors."""
    return _history.counts()


def clear() -> None:
    """Forget all errors of this process."""
    _history.clear()


def _thread_name() -> str:
    """The name of this thread. ``current_thread`` would keep an object for each foreign one."""
    known = _active.get(threading.get_ident())
    return known.name if known is not None else f"foreign {threading.get_native_id()}"
