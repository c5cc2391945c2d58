"""The engines of this process: loaded with an error message, abandoned after a fork, closed at the
exit."""

from __future__ import annotations

import atexit
import os
import weakref
from typing import TYPE_CHECKING, Any

from gridlane.actors.errors import ActorError
from gridlane.core.weak import live

if TYPE_CHECKING:
    from gridlane.actors._engine import Engine

live_homes: weakref.WeakSet[Any] = weakref.WeakSet()
"""The runtimes that may be open."""


def new_engine(*arguments: int) -> Engine:
    """An engine; ActorError where gridlane was built without a C compiler."""
    try:
        from gridlane.actors._engine import Engine
    except ImportError as error:
        raise ActorError(
            f"actors need gridlane's compiled engine ({error}); install a wheel of gridlane, or a "
            "C compiler and gridlane again"
        ) from None
    return Engine(*arguments)


def _after_fork() -> None:
    for home in live(live_homes):
        home.abandon()
    live_homes.clear()


def _at_exit() -> None:
    for home in live(live_homes):
        home.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)
