"""Waiting for what actors do, and for their clock."""

from __future__ import annotations

from tests.waiting import until

from gridlane.actors import Runtime, _engine


def until_ways_are_open(runtime: Runtime) -> None:
    """Wait until actors with kernels that do not end send to each other without the host; where a
    sender was busy when its way was to be opened, they send by the host until then."""
    until(lambda: runtime._home.directory.channels.is_settled)


def until_later(seconds: float = 0.0) -> None:
    """Wait until the engine's clock has passed the present time by some seconds: messages that
    expire then have expired."""
    moment = _engine.now() + seconds * 1e9
    until(lambda: _engine.now() > moment)
