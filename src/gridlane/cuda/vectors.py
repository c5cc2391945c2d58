"""Short vectors by their names: ``float32x4``, CUDA's ``float4``, and its ``make_float4``.

A kernel calls the type to make a vector. On the host it makes a numpy record, and
``numpy.zeros(n, cuda.float32x4)`` an array of vectors.
"""

from __future__ import annotations

from gridlane.core.argtypes import VECTORS, VectorType
from gridlane.core.vector_names import NAMES


def __getattr__(name: str) -> VectorType:
    try:
        return VECTORS[NAMES[name]]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
