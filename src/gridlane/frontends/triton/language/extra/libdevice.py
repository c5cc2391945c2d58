"""``triton.language.extra.libdevice``."""

from __future__ import annotations

from typing import Any

from gridlane.frontends.triton.libdevice import NAMES


def __getattr__(name: str) -> Any:
    if name in NAMES:
        return NAMES[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*NAMES]
