"""``numba_cuda_mlir.errors``: numba's errors, and those of its own compiler's defects."""

from __future__ import annotations

from gridlane.core.errors import CompileError
from gridlane.cuda.numba_compat import errors
from gridlane.cuda.numba_compat.mlir.placeholder_modules import face

__getattr__ = face("errors", errors)


class ExtensionError(Exception):
    """Two extensions contradict each other."""


InternalCompilerError = UserFacingInternalCompilerError = CompileError
__all__ = ["ExtensionError", "InternalCompilerError", "UserFacingInternalCompilerError"]
