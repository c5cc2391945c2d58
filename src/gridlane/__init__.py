"""CUDA kernels on any device: numba.cuda programs run on the CPU's vector units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gridlane.core.endings import begin
from gridlane.core.version import VERSION

if TYPE_CHECKING:
    from gridlane.launch.current import using as device

__all__ = ["device"]
__version__ = VERSION

begin()  # before a program registers what it does at its end


def __getattr__(name: str) -> Any:
    if name == "cuda":
        from importlib import import_module

        return import_module("gridlane.cuda")
    if name == "device":
        from gridlane.launch.current import using

        return using
    raise AttributeError(f"module 'gridlane' has no attribute {name!r}")
