"""Compile kernels that are nested deeper than Python's default stack.

The frontend, the passes and the code generators recurse over expressions, regions and calls. A
kernel that overflows the stack is compiled again, on a thread with a large stack.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from gridlane.core.errors import UnsupportedError
from gridlane.core.source import Loc

STACK_BYTES = 512 << 20
"""Bytes of address space; memory is committed as far as the stack is used."""
FRAMES = 60_000
"""Python frames that this stack holds with a wide margin."""

P = ParamSpec("P")
R = TypeVar("R")


class _Thread(threading.local):
    deep = False


_thread = _Thread()
_lock = (
    threading.Lock()
)  # there is one limit of frames, and one size of new stacks, for all threads


def at_any_depth(
    name: str, loc: Loc, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs
) -> R:
    """Call a function with as much stack as it needs.

    Args:
        name, loc: the kernel's, for the error.

    Raises:
        UnsupportedError: it needs more than the largest stack.
    """
    if _thread.deep:
        return function(*args, **kwargs)
    try:
        return function(*args, **kwargs)
    except RecursionError:
        pass
    try:
        return _on_a_large_stack(lambda: function(*args, **kwargs))
    except RecursionError:
        raise UnsupportedError(
            f"{name} is nested too deeply to compile: its expressions, blocks and calls of device "
            f"functions within each other take more than {FRAMES} frames; take intermediate "
            "results into variables, or turn a chain of calls into a loop",
            loc,
        ) from None


def _on_a_large_stack(function: Callable[[], R]) -> R:
    """Call a function on a thread of its own, and reraise its exception here."""
    results: list[R] = []
    errors: list[BaseException] = []

    def run() -> None:
        _thread.deep = True
        try:
            results.append(function())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="gridlane-compiler", daemon=True)
    with _lock:
        limit = sys.getrecursionlimit()
        size = threading.stack_size(STACK_BYTES)
        try:
            sys.setrecursionlimit(max(limit, FRAMES))
            try:
                thread.start()
            except RuntimeError:  # not enough address space
                raise RecursionError from None
            finally:
                threading.stack_size(size)
            thread.join()
        finally:
            sys.setrecursionlimit(limit)
    if errors:
        raise errors[0]
    return results[0]
