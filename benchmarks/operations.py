"""Measure the errors of gridlane.xp's operations on floats, in ulp.

    python benchmarks/operations.py [--device NAME] [--samples N] [--record]

Exact results are those of NumPy, mpmath and definitions at a higher precision (tests/xp). The
arguments are those of the tests, and more; "NumPy's set" has the rows of its validation set.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))

from benchmarks import results
from tests.xp.cases import measured, operands_of
from tests.xp.references import errors, exactly
from tests.xp.together import results as computed
from tests.xp.validation_sets import padded, sets

from gridlane.xp.operations import OPERATIONS, ROWS
from gridlane.xp.operations.loops import BFLOAT16

ON_HOST = ("interp", "cpu", "cuda")
"""Devices with float64; the drivers of others take minutes to compile it in words of 32 bits."""
FLOATS = [np.dtype("e"), BFLOAT16, np.dtype("f"), np.dtype("d")]


def main() -> None:
    """Print and record the worst error of each operation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--samples", type=int, default=2000)
    results.option(parser)
    chosen = parser.parse_args()
    with np.errstate(all="ignore"):
        kinds = [each for each in FLOATS if each.char != "d" or chosen.device in ON_HOST]
        for dtype in kinds:
            _own(chosen.device, dtype, chosen.samples)
        for dtype in kinds[2:]:
            _sets(chosen.device, dtype.name)
    results.write("operations", chosen.record, chosen.device)


def _own(device: str, dtype: np.dtype, samples: int) -> None:
    """The errors on the arguments of the tests, of the operations that are not exact."""
    inexact = [row for row in ROWS if row.bound is not None]
    calls = [(row, each) for row in inexact if (each := operands_of(row, dtype, samples))]
    for (row, operands), got in zip(calls, computed(device, calls), strict=True):
        exact = exactly(row, operands)
        wanted = exact if isinstance(exact, tuple) else (exact,)
        pairs = zip(got, wanted, strict=True)
        worst = max(float(measured(row, operands, *pair)[0].max()) for pair in pairs)
        _note(row.name, dtype.name, worst)


def _sets(device: str, dtype: str) -> None:
    """The errors on NumPy's validation set."""
    mine = {name: columns for (name, kind), columns in sets().items() if kind == dtype}
    most = max(len(arguments) for arguments, _ in mine.values())
    calls = [(OPERATIONS[name], (padded(each, most),)) for name, (each, _) in mine.items()]
    for (row, _), (got,), (arguments, wanted) in zip(
        calls, computed(device, calls), mine.values(), strict=True
    ):
        error = errors(got[: len(arguments)], wanted.astype(np.longdouble))
        _note(row.name, f"{dtype}, NumPy's set", float(error.max()))


def _note(name: str, of: str, error: float) -> None:
    print(f"{name:20} {of:24} {error:8.2f}")
    results.add(name, of, error, "ulp")


if __name__ == "__main__":
    main()
