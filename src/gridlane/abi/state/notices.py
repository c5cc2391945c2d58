"""One line on stderr for a launch that failed: programs that check no errors show nothing else.

The first launch of a process that is refused is noted, and each kernel that fails. GRIDLANE_QUIET
turns that off. Failures are counted until the program reads an error; at the end of a program in C
the library prints how many it never read.
"""

from __future__ import annotations

import ctypes
import re
import threading

from gridlane.abi.failure import NOT_READY, STICKY, failure_of
from gridlane.core import trace
from gridlane.core.config import config
from gridlane.core.device_errors import (
    FAULT_ADVICE,
    TIMEOUT_ADVICE,
    KernelEnded,
    KernelFault,
    KernelStop,
    KernelTimeout,
)
from gridlane.core.errors import CompileError
from gridlane.core.kernel_names import readable
from gridlane.core.source import Loc, users


class _Process:
    """Attributes:
    refused: whether a launch was refused. unread: the launches that failed since the program read
    an error.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.refused = False
        self.unread = ctypes.c_uint32()


_process = _Process()


def address_of_unread() -> int:
    """The address of the number of launches that failed since the program read an error."""
    return ctypes.addressof(_process.unread)


class LaunchOf:
    """Within it an error refuses the launch of a kernel, whose name the error keeps."""

    __slots__ = ("_kernel",)

    def __init__(self, kernel: str) -> None:
        self._kernel = kernel

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is not None:
            vars(error).setdefault("kernel", self._kernel)


def note_image(file: str, what: str, error: BaseException, is_new: bool) -> None:
    """Note that no kernel of an image can be loaded.

    Args:
        file: the program or library that has it.
        error: the launch that it refuses is not noted again.
        is_new: whether it was not noted before.
    """
    vars(error)["noted"] = True
    if is_new:
        _write(f"gridlane: {file}: no kernel can be loaded: {what}")


def refused(called: str, error: BaseException) -> None:
    """Note that a launch was not done.

    Args:
        called: the function of CUDA's, for an error without the name of a kernel.
    """
    number = failure_of(error).number
    if number in STICKY or number == NOT_READY:  # the kernel that failed before was noted
        return
    with _process.lock:
        _process.unread.value += 1
        first = not _process.refused
        _process.refused = True
    if first and "noted" not in vars(error):
        name = readable(vars(error).get("kernel", "")) or f"of {called}"
        _write(f"gridlane: the kernel {name} was not launched: {_words(error)}")


def fault(error: BaseException) -> None:
    """Note that a kernel failed."""
    with _process.lock:
        _process.unread.value += 1
    is_named = isinstance(error, KernelStop | KernelEnded)
    name = readable(error.kernel) if is_named else "of a launch"
    _write(f"gridlane: the kernel {name} failed: {_words(error)}")


def fetched() -> None:
    """Note that the program has read an error."""
    _process.unread.value = 0


def _write(line: str) -> None:
    if not config().quiet:
        trace.write(line)


def _words(error: BaseException) -> str:
    """What happened and where, in one line."""
    if isinstance(error, KernelStop):
        (x, y, z), (bx, by, bz) = error.thread, error.block
        where = f"thread ({x}, {y}, {z}) of block ({bx}, {by}, {bz})"
        return f"{_line(error.text)} ({', '.join([where, *_place(error.loc)])})"
    if isinstance(error, KernelFault) and error.text:
        (x, y, z), (bx, by, bz) = error.thread, error.block
        where = f"thread ({x}, {y}, {z}) of block ({bx}, {by}, {bz})"
        return f"{error.text} ({', '.join([where, *_place(error.loc)])})"
    if isinstance(error, KernelFault):
        what = f"it used the address {error.address:#x}, which is outside of all memory"
        place = ", ".join(_place(error.loc)) or _one_of(error.candidates)
        return f"{what} ({place}); {FAULT_ADVICE}"
    if isinstance(error, KernelTimeout):
        place = ", ".join(_place(error.loc)) or "at an unknown line"
        return f"it ran longer than {error.limit:g} s ({place}); {TIMEOUT_ADVICE}"
    if isinstance(error, CompileError):
        locations = [*(loc for _, loc in error.related), error.loc]
        place = ", ".join(_place(locations[0]))
        return f"{_line(error.message)}{f' ({place})' if place else ''}"
    return _line(failure_of(error).what) or f"error {failure_of(error).number}"


_MOST_PLACES = 6
_SNIPPET = re.compile(r"\s*(?:\d+ )?\| ")


def _line(text: str) -> str:
    """A text in one line, without the lines of source in it."""
    lines = [each for each in text.splitlines() if not _SNIPPET.match(each)]
    return " ".join(" ".join(lines).split())


def _one_of(locations: tuple[Loc, ...]) -> str:
    """A few places, of which it is one."""
    named = [place for each in locations[:_MOST_PLACES] for place in _place(each)]
    more = ", ..." if len(locations) > _MOST_PLACES else ""
    return f"in one of {', '.join(named)}{more}" if named else "at an unknown line"


def _place(loc: Loc) -> list[str]:
    """The user's place, if it is known."""
    if not loc.line:
        return []
    known = users(loc)
    return [f"line {known.line} of its PTX" if known.file.startswith("<ptx") else str(known)]
