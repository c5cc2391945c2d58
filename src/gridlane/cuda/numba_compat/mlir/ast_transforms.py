"""``numba_cuda_mlir.ast_transforms``: the error of what cannot be evaluated."""

from __future__ import annotations

from gridlane.cuda.numba_compat.mlir.placeholder_modules import face
from gridlane.frontends.python.consteval_stubs import ConstevalError

__getattr__ = face("ast_transforms")
__all__ = ["ConstevalError"]
