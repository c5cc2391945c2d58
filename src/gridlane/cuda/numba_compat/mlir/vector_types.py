"""``numba_cuda_mlir.cuda.vector_types``: short vectors, those of float16 among them."""

from __future__ import annotations

from gridlane.core.argtypes import VECTORS
from gridlane.core.vector_names import ALIASES, LENGTHS
from gridlane.cuda import vectors
from gridlane.cuda.numba_compat.mlir.placeholder_modules import face

HALVES = {f"half{count}": VECTORS[f"float16x{count}"] for count in LENGTHS}
"""CUDA's names of the vectors of float16."""
vector_types_by_name = dict(VECTORS)
vector_types_by_alias = {alias: VECTORS[name] for alias, name in ALIASES.items()} | HALVES
globals().update(HALVES)

__getattr__ = face("cuda.vector_types", vectors)
