"""The host device in C: its thread pool, the queues of streams, and memory. It knows nothing of
Python but a table of functions."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NoReturn

from gridlane.core.errors import CompileError

INTERFACE = 10
"""As in queue.h: a compiled module of other sources is refused."""


def compiled() -> Any:
    """The compiled module of this package; None in an install without a C compiler.

    Raises:
        CompileError: the module was built from other sources.
    """
    try:
        module = import_module("gridlane.native._pool")
    except ImportError:
        return None
    number = getattr(module, "INTERFACE", 0)
    if number != INTERFACE:
        refuse(f"its interface has the number {number} in place of {INTERFACE}")
    return module


def refuse(difference: str) -> NoReturn:
    """Refuse a compiled module of other sources.

    Raises:
        CompileError: always.
    """
    raise CompileError(
        "the compiled module gridlane.native._pool was built from another version of its source"
        f" ({difference}): build it again by `pip install -e .`, or install gridlane again, and the"
        " CUDA libraries by `gridlane install --force`"
    )
