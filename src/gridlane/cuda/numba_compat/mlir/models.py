"""``numba_cuda_mlir.models``: the members of types that programs add."""

from __future__ import annotations

from gridlane.cuda.extending import models
from gridlane.cuda.numba_compat.mlir.placeholder_modules import face

__getattr__ = face("models", models)
