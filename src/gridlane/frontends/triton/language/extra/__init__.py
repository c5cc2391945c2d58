"""``triton.language.extra``: what the language has beside its own functions."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from gridlane.frontends.triton.language.extra import libdevice

__all__ = ["libdevice"]


def __getattr__(name: str) -> Any:
    if name == "cuda":
        return import_module(f"{__name__}.cuda")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
