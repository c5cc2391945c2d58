"""``numba_cuda_mlir.extending``: functions and types that programs add to kernels."""

from __future__ import annotations

from gridlane.cuda import extending, types
from gridlane.cuda.numba_compat.mlir.faces import face

__getattr__ = face("extending", extending)
__all__ = ["types"]
