"""Tracebacks for a program under ``gridlane run``: without gridlane's own frames."""

from __future__ import annotations

import os
import sys
from types import TracebackType

import gridlane
from gridlane.core.errors import GridlaneError, KernelError, VerifyError

PACKAGE = os.path.join(os.path.dirname(gridlane.__file__), "")


def print_as_the_programs(error: BaseException) -> None:
    """Make Python, when ``error`` ends the process, print the program's frames only.

    Called where the error is caught last. Python's own exit path is kept: the program's excepthook,
    the exit status, death by SIGINT.
    """
    hook = sys.excepthook
    # Frames are added on the way out, so the program's traceback is taken now.
    traceback = _program_part(error.__traceback__)

    def shown(type_: type, value: BaseException, _: TracebackType | None) -> None:
        if value is not error:
            hook(type_, value, value.__traceback__)
            return
        value.__traceback__ = traceback
        strip_chain(value)
        hook(type_, value, value.__traceback__)

    sys.excepthook = shown


def strip_chain(error: BaseException | None) -> None:
    """Remove gridlane's frames from an error and from its causes and contexts.

    An exception that gridlane raised and caught itself on the way is dropped.
    """
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if _is_said_to_the_user(error):
            error.__traceback__ = without_ours(error.__traceback__)
            if error.__context__ is not None and _all_ours(error.__context__.__traceback__):
                error.__context__ = None
        error = error.__cause__ or error.__context__


def _is_said_to_the_user(error: BaseException) -> bool:
    """Whether the message suffices for the user; invalid IR is a defect of gridlane, and shows all
    frames."""
    if isinstance(error, VerifyError):
        return False
    # A kernel's raise arrives as the user's own class, caused by a KernelError.
    return isinstance(error, GridlaneError) or isinstance(error.__cause__, KernelError)


def _ours(traceback: TracebackType) -> bool:
    return traceback.tb_frame.f_code.co_filename.startswith(PACKAGE)


def _of_the_import_system(traceback: TracebackType) -> bool:
    return traceback.tb_frame.f_code.co_filename.startswith("<frozen ")


def _program_part(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback without the first frames, which loaded the program."""
    while traceback is not None and (_ours(traceback) or _of_the_import_system(traceback)):
        traceback = traceback.tb_next
    return traceback


def _all_ours(traceback: TracebackType | None) -> bool:
    while traceback is not None:
        if not _ours(traceback):
            return False
        traceback = traceback.tb_next
    return True


def without_ours(traceback: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames of the package."""
    kept = []
    while traceback is not None:
        if not _ours(traceback):
            kept.append(traceback)
        traceback = traceback.tb_next
    result = None
    for item in reversed(kept):
        result = TracebackType(result, item.tb_frame, item.tb_lasti, item.tb_lineno)
    return result


def shown_as_the_programs(error: BaseException) -> str:
    """The text of a caught error, without the frames that led to the program."""
    import traceback

    error.__traceback__ = _program_part(error.__traceback__)
    strip_chain(error)
    return "".join(traceback.format_exception(error)).rstrip()
