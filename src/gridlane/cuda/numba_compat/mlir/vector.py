"""``numba_cuda_mlir.cuda.vector``: several elements of an array at once."""

from __future__ import annotations

from gridlane.frontends.python.vector_stubs import load, store

__all__ = ["load", "store"]
