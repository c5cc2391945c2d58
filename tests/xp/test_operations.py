"""The table of operations: every row, for each dtype, beside NumPy at a higher precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.xp.references import errors, exactly, special, wider
from tests.xp.together import results

from gridlane.xp.operations import ROWS
from gridlane.xp.operations.loops import BFLOAT16
from gridlane.xp.operations.record import Operation

COUNT = 500
DTYPES = [*map(np.dtype, "?bBhHiIlLefdFD"), BFLOAT16]

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def tried(device: str) -> list[np.dtype[Any]]:
    """The dtypes of a device: float64 takes drivers of shaders minutes to compile."""
    native = device in ("interp", "cpu", "cuda")
    return [each for each in DTYPES if native or each.char not in "dD"]


def operands_of(row: Operation, dtype: np.dtype[Any]) -> tuple[np.ndarray, ...] | None:
    """Operands of a dtype, where the row has a loop that keeps it."""
    kinds = (dtype,) * row.arity
    if row.name == "ldexp":
        kinds = (dtype, np.dtype(np.int32))
    elif row.name == "where":
        kinds = (np.dtype(bool), dtype, dtype)
    try:
        loop = row.types(kinds)
    except TypeError:
        return None
    if loop.inputs != kinds:
        return None
    arrays = [ARRAYS[kind, place] for place, kind in enumerate(kinds)]
    if row.name == "power" and dtype.kind == "i":
        arrays[1] = POWERS[dtype]
    return tuple(arrays)


ARRAYS = {
    (dtype, place): special(dtype, COUNT, 10 + place) for dtype in DTYPES for place in range(5)
}
POWERS = {dtype: np.abs(ARRAYS[dtype, 1] // 2) for dtype in DTYPES if dtype.kind == "i"}


@pytest.mark.parametrize(
    ("dtype", "device"),
    [
        pytest.param(dtype, device, id=f"{dtype.name}-{device}")
        for device in ("interp", *DEVICES)
        for dtype in tried(device)
    ],
)
def test_rows_are_within_their_bounds(dtype: np.dtype[Any], device: str) -> None:
    calls = [(row, operands) for row in ROWS if (operands := operands_of(row, dtype)) is not None]
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


def measured(
    row: Operation, operands: tuple[np.ndarray, ...], got: np.ndarray, exact: np.ndarray
) -> tuple[np.ndarray, float]:
    """The errors of float or complex results, and the row's bound."""
    scale = None
    if row.bound is not None and row.bound.of_operands:
        scale = np.nanmax([np.abs(wider(each)) for each in operands], axis=0)
    error = errors(got, exact, scale)
    if operands[-1].dtype.kind == "c":
        usual = np.isfinite(error) & typical(operands)
        # Each part is rounded to nearest by 0.5 ulp at most.
        return np.where(usual, error, 0.0), row.complex_bound or 0.7072
    bound = 0.5001 if row.bound is None else getattr(row.bound, got.dtype.name)
    zeros = (got == 0) & (exact == 0) & (np.signbit(got) != np.signbit(exact))
    if row.name not in ("maximum", "minimum", "fmax", "fmin", "clip"):
        error = np.where(zeros, np.inf, error)
    return error, bound


def typical(operands: tuple[np.ndarray, ...]) -> np.ndarray:
    """Where complex operands are in the range of the stated bound."""
    sizes = [np.abs(each) for each in operands]
    return np.all([(size < 20) & (size > 0.05) for size in sizes], axis=0)
