"""``numba_cuda_mlir.compiler``: functions that compile."""

from __future__ import annotations

from gridlane.cuda.host import compilation
from gridlane.cuda.kernels import linkable
from gridlane.cuda.numba_compat.mlir.placeholder_modules import face

__getattr__ = face("compiler", compilation, linkable)
