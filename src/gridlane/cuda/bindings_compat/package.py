"""``cuda.bindings`` where it is not installed: three of its modules."""

from __future__ import annotations

__version__ = "13.0.0"
"""Of the bindings whose functions these are."""


def __getattr__(name: str) -> object:
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(
        f"cuda.bindings has no {name!r} in gridlane, which has driver, runtime and nvrtc"
    )
