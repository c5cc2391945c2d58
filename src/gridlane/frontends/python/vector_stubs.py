"""``cuda.vector.load`` and ``store`` of numba-cuda-mlir: several elements of an array at once."""

from __future__ import annotations

from gridlane.frontends.python.stubs import Stub

load = Stub(
    "vector.load",
    "array, indices, shape, alignment=",
    "The elements from an index on, as a vector of as many components as the constant ``shape`` "
    "has items: along the last axes, or with an ``alignment`` those that follow each other in "
    "memory. One index counts all elements of an array without gaps.",
)
store = Stub(
    "vector.store",
    "array, index, vector, alignment=",
    "Store the components of a vector from an index on, as ``load`` reads them.",
)
