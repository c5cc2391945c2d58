"""Detect Python code that interrupts other code on the same thread, and what it raises there:
signal handlers, and finalizers of objects."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from inspect import CO_VARARGS
from types import CodeType, FrameType
from typing import NoReturn, cast

from gridlane.core.device_errors import NOT_PERMITTED, fail


class _Thread(threading.local):
    waits = False
    """Whether the thread waits while it holds locks that others need."""


here = _Thread()
"""The state of the calling thread."""


@contextmanager
def locked_wait() -> Generator[None]:
    """Mark this thread, in the with block, as waiting for the device with locks, perhaps a
    library's, that other threads need: a handler that waits then could wait for ever."""
    before, here.waits = here.waits, True
    try:
        yield
    finally:
        here.waits = before


def is_reentry(lock: threading.RLock) -> bool:
    """Whether this thread holds the lock, or waits with locks that others need: it was interrupted
    there."""
    # As threading.Condition asks.
    return lock._is_owned() or here.waits  # type: ignore[attr-defined]


def refuse_reentry() -> NoReturn:
    """Refuse to continue in reentrant code.

    Raises:
        DeviceError: NOT_PERMITTED.
    """
    fail(
        NOT_PERMITTED,
        "a signal handler or a finalizer uses the device while this thread does so",
        "let the handler set a flag, and launch behind it",
    )


def left_a_handler(error: BaseException) -> bool:
    """Whether an exception left a signal handler: it is unrelated to the interrupted code."""
    step = error.__traceback__
    while step is not None:
        if _is_handler(step.tb_frame):
            return True
        step = step.tb_next
    return False


def _is_handler(frame: FrameType) -> bool:
    """Whether a frame is a signal handler's: an argument is the frame that it interrupted.

    Other functions have their caller's frame in variables, as wgpu-py's that raise errors.
    """
    before, code = frame.f_back, frame.f_code
    for value in map(frame.f_locals.get, _parameters(code)):
        several = cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)
        if any(each is before for each in several):
            return before is not None
    return False


def _parameters(code: CodeType) -> tuple[str, ...]:
    """Names of positional parameters; ``*args`` follows the keyword-only ones."""
    names = code.co_varnames[: code.co_argcount]
    if not code.co_flags & CO_VARARGS:
        return names
    return (*names, code.co_varnames[code.co_argcount + code.co_kwonlyargcount])
