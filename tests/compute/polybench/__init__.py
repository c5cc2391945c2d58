"""PolyBench/C 4.2's 30 programs as loop nests, from the mathematics of its specification."""

from __future__ import annotations

from tests.compute.polybench import linear, solvers, stencils, sums
from tests.compute.polybench.inputs import Program

PROGRAMS: dict[str, Program] = {
    **sums.PROGRAMS, **linear.PROGRAMS, **solvers.PROGRAMS, **stencils.PROGRAMS
}  # fmt: skip
"""The programs by their names."""
