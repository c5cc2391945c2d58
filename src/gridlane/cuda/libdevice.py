"""``cuda.libdevice``: NVIDIA's device functions by their names, for kernels."""

from __future__ import annotations

from typing import Any

from gridlane.frontends.python.libdevice_stubs import SIGNATURES, libdevice

__all__ = list(SIGNATURES)  # pyright: ignore[reportUnsupportedDunderAll]

globals().update({name: getattr(libdevice, name) for name in SIGNATURES})


def __getattr__(name: str) -> Any:
    return getattr(libdevice, name)
