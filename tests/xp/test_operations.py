"""The table of operations: every row, for each dtype, beside NumPy at a higher precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.xp.cases import DTYPES, measured, of_today, operands_of
from tests.xp.references import exactly
from tests.xp.together import results

from gridlane.xp.operations import ROWS
from gridlane.xp.operations.record import Operation

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def tried(device: str) -> list[np.dtype[Any]]:
    """The dtypes of a device: float64 takes drivers of shaders minutes to compile."""
    native = device in ("interp", "cpu", "cuda")
    return [each for each in DTYPES if native or each.char not in "dD"]


@pytest.mark.parametrize(
    ("dtype", "device"),
    [
        pytest.param(dtype, device, id=f"{dtype.name}-{device}")
        for device in ("interp", *DEVICES)
        for dtype in tried(device)
    ],
)
def test_rows_are_within_their_bounds(dtype: np.dtype[Any], device: str) -> None:
    rows = of_today(ROWS, device, lambda row: f"{row.name} {dtype.name}")
    calls = [(row, operands) for row in rows if (operands := operands_of(row, dtype)) is not None]
    assert calls
    wrong = [
        message
        for (row, operands), got in zip(calls, results(device, calls), strict=True)
        if (message := complaint(row, operands, got))
    ]
    assert not wrong, "\n".join(wrong)


def complaint(row: Operation, operands: tuple[np.ndarray, ...], got: tuple[np.ndarray, ...]) -> str:
    """What is wrong with results, or nothing."""
    exact = exactly(row, operands)
    for mine, want in zip(got, exact if isinstance(exact, tuple) else (exact,), strict=True):
        if mine.dtype.kind in "biu":
            if row.name == "reciprocal":
                want = np.where(operands[0] == 0, 0, want)  # NumPy's depends on the processor
            bad = mine != want
            bound = 0.0
        else:
            error, bound = measured(row, operands, mine, want)
            bad = error > bound
        if bad.any():
            place = int(np.argmax(bad if mine.dtype.kind in "biu" else error))
            values = ", ".join(repr(each[place]) for each in operands)
            return f"{row.name}({values}) is {mine[place]!r}, not {want[place]!r}: {bound} ulp"
    return ""
