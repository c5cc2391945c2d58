"""Functions of kernels whose blocks exchange data while they run; not of numba.cuda, and not
exported by the cuda package."""

from __future__ import annotations

from gridlane.frontends.python.stubs import Stub

load_volatile = Stub(
    "load_volatile",
    "array, index",
    "``array[index]``, a number, by one access of memory at each call: what another block has "
    "stored with ``store_volatile`` arrives at some time. Nothing orders it with other accesses.",
)
store_volatile = Stub(
    "store_volatile",
    "array, index, value",
    "``array[index] = value``, a number, by one access of memory.",
)
bits_of = Stub("bits_of", "number", "The bits of a number as an unsigned integer of its size.")
from_bits = Stub(
    "from_bits", "bits, dtype", "The number of a type of the same size that has these bits."
)
