"""Why targets lack an op, and what to do instead, in words that several share."""

from __future__ import annotations

from gridlane.ir.stages import MATRIX

REPORT = {"report": "threads that raise end there"}

WITHOUT_GRIDS = {
    "grid_sync": "its blocks need not all run at the same time; split the kernel where the grid "
    "synchronises, and launch the parts one after the other",
    **dict.fromkeys(MATRIX, "tensor cores are a GPU's; multiply the elements of arrays instead"),
}

WORD_ATOMICS = (
    ("atomic", r"\w+-[iuf]64-apart|(nan)?(min|max)-[iu]64-together", "atomics have 32 bits"),
    ("atomic_cas", "[iuf]64", "atomics have 32 bits"),
)
"""Of ``Backend.refused``: atomics of 64 bits, but sums that nobody uses the old value of."""
