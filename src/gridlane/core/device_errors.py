"""Failures of devices and of running kernels: one table, raised in one place.

The table is ``error_table``'s; CUDA's driver and runtime share their numbers. What is made here is
in the history of errors (``error_history``), which the first error imports.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from copy import copy
from functools import cache
from types import ModuleType
from typing import NoReturn, TypeVar

from gridlane.core import endings
from gridlane.core.artifact import KernelErrorSite
from gridlane.core.error_table import NAMES, TABLE, Row
from gridlane.core.errors import MARK, DeviceError, KernelError
from gridlane.core.kernel_names import readable
from gridlane.core.source import UNKNOWN, Loc, describe, is_own, users

NOT_INITIALIZED = NAMES["CUDA_ERROR_NOT_INITIALIZED"]
MAP_FAILED = NAMES["CUDA_ERROR_MAP_FAILED"]
UNKNOWN_FAILURE = NAMES["CUDA_ERROR_UNKNOWN"]
INVALID_VALUE = NAMES["CUDA_ERROR_INVALID_VALUE"]
OUT_OF_MEMORY = NAMES["CUDA_ERROR_OUT_OF_MEMORY"]
NEWER_DRIVER = NAMES["CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER"]
DEVICES_UNAVAILABLE = NAMES["CUDA_ERROR_DEVICE_UNAVAILABLE"]
NO_DEVICE = NAMES["CUDA_ERROR_NO_DEVICE"]
INVALID_DEVICE = NAMES["CUDA_ERROR_INVALID_DEVICE"]
INVALID_IMAGE = NAMES["CUDA_ERROR_INVALID_IMAGE"]
INVALID_HANDLE = NAMES["CUDA_ERROR_INVALID_HANDLE"]
ILLEGAL_STATE = NAMES["CUDA_ERROR_ILLEGAL_STATE"]
PEER_UNSUPPORTED = NAMES["CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"]
NOT_FOUND = NAMES["CUDA_ERROR_NOT_FOUND"]
NOT_READY = NAMES["CUDA_ERROR_NOT_READY"]
ILLEGAL_ADDRESS = NAMES["CUDA_ERROR_ILLEGAL_ADDRESS"]
OUT_OF_RESOURCES = NAMES["CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"]
LAUNCH_TIMEOUT = NAMES["CUDA_ERROR_LAUNCH_TIMEOUT"]
LAUNCH_FAILED = NAMES["CUDA_ERROR_LAUNCH_FAILED"]
COOPERATIVE_TOO_LARGE = NAMES["CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"]
CONTEXT_DESTROYED = NAMES["CUDA_ERROR_CONTEXT_IS_DESTROYED"]
NOT_PERMITTED = NAMES["CUDA_ERROR_NOT_PERMITTED"]
NOT_SUPPORTED = NAMES["CUDA_ERROR_NOT_SUPPORTED"]
NOT_CAPTURED = NAMES["CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"]
CAPTURE_IMPLICIT = NAMES["CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"]
INVALID_CLUSTER_SIZE = NAMES["CUDA_ERROR_INVALID_CLUSTER_SIZE"]

FAULT_ADVICE = "GRIDLANE_CHECK=1 (--check) checks each access, and names the thread"
NAMED_ADVICE = "run it on the device cpu with GRIDLANE_CHECK=1, which names the line"
_LOST_ADVICE = (
    "an index out of bounds may be the reason, or a kernel that ran longer than the system allows: "
    f"{NAMED_ADVICE}, as GRIDLANE_TIMEOUT=60 names that of a loop without an end; cuda.close() "
    "opens the device again, without the memory that it had"
)
CHECK_ADVICE = "test indices and sizes in front of the access"
_MOST_PLACES = 6
TIMEOUT_ADVICE = "if it ends at all, set a longer time: GRIDLANE_TIMEOUT=60, or 0 for any"
_UNKNOWN = Row(
    "CUDA_ERROR_UNKNOWN",
    "",
    "system",
    "a failure that gridlane has no words for",
    "update gridlane",
)


E = TypeVar("E", bound=BaseException)


def _no_device() -> str:
    return ""


_of_thread: Callable[[], str] = _no_device


def name_devices_by(name: Callable[[], str]) -> None:
    """Name the devices of errors whose driver does not name them.

    Args:
        name: returns the name of this thread's device. It opens none and never raises.
    """
    global _of_thread
    _of_thread = name


def noted(error: E, category: str = "", device: str = "", kernel: str = "") -> E:
    """Note an error in the history, unless it is there, and return it.

    Args:
        category: where it is not that of the error's number or class.
        device: its name; "" for the current one of the thread.
        kernel: the name, or those of the suspects.
    """
    if not endings.over():  # imports fail then, and no program reads the history any more
        _history().note(error, category, device, kernel, _of_thread)
    return error


@cache
def _history() -> ModuleType:
    from gridlane.core import error_history  # errors alone need it

    return error_history


def handled(error: BaseException) -> None:
    """Remove an error from the history: gridlane tried something, and does without it, or it raises
    a better error instead."""
    if not endings.over():
        _history().take_back(error)


def again(fault: DeviceError, device: str = "") -> DeviceError:
    """A copy, to raise, of the error of a lost device. The history has the error once, and keeps it
    if the copy is handled."""
    raised = copy(noted(fault, device=device))
    mark = vars(fault).get(MARK)
    if mark is not None:
        vars(raised)[MARK] = mark[0], -1
    return raised


def device_error(
    number: int, what: str = "", advice: str = "", device: str = "", category: str = ""
) -> DeviceError:
    """The exception of a CUDA error number; ``what`` describes the failed request.

    >>> print(device_error(2, "400 bytes"))
    CUDA_ERROR_OUT_OF_MEMORY (2): not enough memory on the device: 400 bytes
      free arrays that are no longer used, or work in smaller pieces
    """
    return noted(described(number, what, advice), category, device)


def described(number: int, what: str = "", advice: str = "") -> DeviceError:
    """``device_error`` for one that may never be raised: the history does not have it yet."""
    row = TABLE.get(number, _UNKNOWN)
    text = f"{row.meaning}: {what}" if what else row.meaning
    return DeviceError(row.name, number, text, advice or row.advice)


def lost_device(what: str, kernels: str, device: str) -> DeviceError:
    """The exception of a lost device.

    Args:
        what: the device, and its driver's message.
        kernels: the names of those that may have caused it; "" if none ran.
        device: the name of the device.
    """
    text = f"{what}, in {kernels}" if kernels else what
    return noted(described(LAUNCH_FAILED, text, _LOST_ADVICE), "lost", device, kernels)


def fail(number: int, what: str = "", advice: str = "") -> NoReturn:
    """Raise ``device_error``, without the traceback of a library's error that led to it."""
    raise device_error(number, what, advice) from None


def no_device(kind: str, what: str, advice: str = "") -> NoReturn:
    """Raise that there is no device of a kind, by the kind's name: CUDA has no part in it. The
    history has it if a device is to be opened, and not if devices are counted.

    Raises:
        DeviceError: with CUDA's number for it, 100.
    """
    row = TABLE[NO_DEVICE]
    name = f"{kind.upper()}_NO_DEVICE" if kind else "NO_DEVICE"
    # What a library raised is in the words; its traceback is of no use to the program.
    raise DeviceError(name, NO_DEVICE, f"{row.meaning}: {what}", advice or row.advice) from None


ILLEGAL_ACCESS = "illegal access"
"""The exception of an error table's row that stands for ``kernel_access``."""

THROUGH = "through"
"""In the detail of such a row, in front of a parameter: the access is meant for its allocation."""


class KernelEnded(DeviceError):
    """A kernel was ended from outside. ``kernel`` is its name, ``loc`` the place, in the user's
    files if any is."""

    kernel: str = ""
    loc: Loc = UNKNOWN


class KernelFault(KernelEnded):
    """A kernel used memory that its process does not have; ``address`` is what it used. If the
    place is one of several, they are ``candidates``. ``text`` is the message of a check about an
    access by ``thread`` of ``block``."""

    address: int = 0
    candidates: tuple[Loc, ...] = ()
    text: str = ""
    thread: tuple[int, int, int] = (0, 0, 0)
    block: tuple[int, int, int] = (0, 0, 0)


class KernelTimeout(KernelEnded):
    """A kernel ran longer than ``limit`` seconds, those of GRIDLANE_TIMEOUT."""

    limit: float = 0.0


def kernel_fault(kernel: str, locations: tuple[Loc, ...], address: int, device: str) -> KernelFault:
    """The exception of a fault of a kernel on a device, at one of the places."""
    row, known = TABLE[ILLEGAL_ADDRESS], tuple(each for each in map(users, locations) if each.line)
    text = f"{row.meaning}: {readable(kernel)} used the address {address:#x}"
    place = known[0] if len(known) == 1 else UNKNOWN
    if place.line:
        text += f"\n{describe(place)}"
    elif known:
        text += f" in one of {_short(known)}"
    error = KernelFault(row.name, ILLEGAL_ADDRESS, text, FAULT_ADVICE)
    error.kernel, error.loc, error.address = kernel, place, address
    error.candidates = known if len(known) > 1 else ()
    return noted(error, device=device)


def _short(locations: tuple[Loc, ...]) -> str:
    """A few places in one line."""
    named = [f"{each.file}:{each.line}" for each in locations[:_MOST_PLACES]]
    return ", ".join([*named, "..."] if len(locations) > _MOST_PLACES else named)


def kernel_timeout(kernel: str, loc: Loc, limit: float, device: str) -> KernelTimeout:
    """The exception of a kernel whose time is over. ``loc``: where a thread of it was."""
    row, place = TABLE[LAUNCH_TIMEOUT], users(loc)
    lines = [f"{readable(kernel)} ran longer than GRIDLANE_TIMEOUT allows, {limit:g} s"]
    if place.line:
        lines += ["a thread of it was here, or near:", describe(place)]
    error = KernelTimeout(row.name, LAUNCH_TIMEOUT, "\n".join(lines), TIMEOUT_ADVICE)
    error.kernel, error.loc, error.limit = kernel, place, limit
    return noted(error, device=device)


def kernel_access(
    site: KernelErrorSite,
    thread: tuple[int, int, int],
    block: tuple[int, int, int],
    kernel: str,
    text: str,
    device: str,
) -> KernelFault:
    """The exception of an access that a check stopped; ``text`` describes the access."""
    row, place = TABLE[ILLEGAL_ADDRESS], users(site.loc)
    lines = [
        f"{row.meaning}: {readable(kernel)}: {text}",
        f"  in thread {thread} of block {block}",
    ]
    if place.line:
        lines.append(describe(place))
    error = KernelFault(row.name, ILLEGAL_ADDRESS, "\n".join(lines), CHECK_ADVICE)
    error.kernel, error.loc, error.text = kernel, place, text
    error.thread, error.block = thread, block
    return noted(error, device=device)


class KernelStop(KernelError):
    """A kernel stopped itself. ``exception`` is the name of the exception; ``thread`` and ``block``
    are the indices of the first thread that reported, (x, y, z) each; ``late``: the device did not
    finish the kernel; ``kernel``: its name; ``loc``: the place, in the user's files if any is."""

    exception: str = ""
    text: str = ""
    thread: tuple[int, int, int] = (0, 0, 0)
    block: tuple[int, int, int] = (0, 0, 0)
    late: bool = False
    kernel: str = ""
    loc: Loc = UNKNOWN

    def __reduce__(self) -> tuple[object, ...]:
        # The class may be made at run time for a builtin's name; no import finds it.
        state = {**vars(self)}
        return _stopped, (type(self).__name__, self.args, state)


def _stopped(name: str, args: tuple[object, ...], state: dict[str, object]) -> KernelStop:
    """The unpickled exception."""
    error = _stop_class(name)(*args)
    vars(error).update(state)
    return error


@cache
def _stop_class(name: str) -> type[KernelStop]:
    """The subclass of KernelStop and of the builtin exception called ``name``, if there is one."""
    builtin = getattr(builtins, name, None)
    if not (isinstance(builtin, type) and issubclass(builtin, Exception)):
        return KernelStop
    try:
        return type(name, (KernelStop, builtin), {"__module__": "gridlane"})
    except TypeError:  # a builtin with a memory layout of its own, such as OSError
        return KernelStop


def kernel_exception(
    site: KernelErrorSite,
    thread: tuple[int, int, int] = (0, 0, 0),
    block: tuple[int, int, int] = (0, 0, 0),
    kernel: str = "",
    numbers: tuple[int, ...] = (),
    device: str = "",
) -> KernelStop:
    """The host exception for a kernel's error report, with the numbers of its detail if any."""
    loc = users(site.loc)
    if is_own(loc):  # a function of gridlane's headers that was not inlined
        loc = UNKNOWN
    text = site.detail.format(*numbers) if numbers else site.message
    where = f"tid={list(thread)} ctaid={list(block)}: {text}"
    lines = [where]
    if loc.line:
        if loc.function:
            lines.append(f"In function {loc.function!r}, file {loc.file}, line {loc.line}")
        lines.append(describe(loc))
    error = _stop_class(site.exception)("\n".join(lines))
    error.exception, error.text, error.late = site.exception, text, site.late
    error.thread, error.block = thread, block
    error.kernel, error.loc = kernel, loc
    return noted(error, device=device)
