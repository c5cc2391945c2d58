"""``numba_cuda_mlir.cuda.experimental``: what is evaluated when a kernel is compiled."""

from __future__ import annotations

from gridlane.cuda.numba_compat.mlir.placeholder_modules import face
from gridlane.frontends.python.consteval_stubs import (
    consteval,
    current_target_options,
    local_array_from,
)

__getattr__ = face("cuda.experimental")
__all__ = ["consteval", "current_target_options", "local_array_from"]
