"""The compiled module of this package, where there is one, of these sources."""

from __future__ import annotations

from typing import Any, NoReturn

from gridlane.core.errors import CompileError
from gridlane.native import INTERFACE


def compiled() -> Any:
    """The compiled module; None in an install without a C compiler.

    Raises:
        CompileError: the module was built from other sources.
    """
    try:
        from gridlane.native import _pool
    except ImportError:
        return None
    number = getattr(_pool, "INTERFACE", 0)
    if number != INTERFACE:
        refuse(f"its interface has the number {number} in place of {INTERFACE}")
    return _pool


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
