"""``numba_cuda_mlir.cuda.experimental``: what is evaluated when a kernel is compiled."""

from __future__ import annotations

from typing import Any

from gridlane.cuda.names import missing
from gridlane.frontends.python.consteval_stubs import (
    consteval,
    current_target_options,
    local_array_from,
)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise missing(name, "numba_cuda_mlir.cuda.experimental")


__all__ = ["consteval", "current_target_options", "local_array_from"]
