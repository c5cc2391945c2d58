"""CUDA kernels on any device: numba.cuda programs run on the CPU's vector units."""

from __future__ import annotations

from typing import Any

from gridlane.core.endings import begin

begin()  # before a program registers what it does at its end

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name == "cuda":
        from importlib import import_module

        return import_module("gridlane.cuda")
    raise AttributeError(f"module 'gridlane' has no attribute {name!r}")
