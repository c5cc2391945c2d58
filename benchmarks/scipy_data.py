"""Compare functions of ``gridlane.xp`` with the data of SciPy's tests, which its wheel has.

    python benchmarks/scipy_data.py [--device NAME] [--step N] [--record]

Each set of rows is one that SciPy's ``special/tests/test_data.py`` checks for a function that the
table of operations has too, with SciPy's tolerance. Needs scipy.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))

from benchmarks import results

from gridlane import xp

EPSILON = float(np.finfo(np.float64).eps)
TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Rows:
    """Rows of one of SciPy's files for a function.

    Attributes:
        argument, result: the columns; two of a complex number.
        tolerance: relative to the result.
    """

    function: str
    file: str
    name: str
    argument: tuple[int, ...]
    result: tuple[int, ...]
    tolerance: float = 5 * EPSILON


def _boost(
    function: str, name: str, argument: int, result: int, tolerance: float = 5 * EPSILON
) -> Rows:
    return Rows(function, "boost", f"{name}_ipp-{name}", (argument,), (result,), tolerance)


def _gamma(function: str, name: str, result: int, tolerance: float = 5 * EPSILON) -> Rows:
    return Rows(function, "boost", f"test_gamma_data_ipp-{name}", (0,), (result,), tolerance)


SETS = (
    _boost("cbrt", "cbrt_data", 1, 0),
    _boost("erf", "erf_data", 0, 1),
    _boost("erf", "erf_large_data", 0, 1),
    _boost("erf", "erf_small_data", 0, 1),
    _boost("erfc", "erf_data", 0, 2, 6e-15),
    _boost("erfc", "erf_large_data", 0, 2, 4e-14),
    _boost("erfc", "erf_small_data", 0, 2),
    _gamma("gamma", "near_0", 1),
    _gamma("gamma", "near_1", 1),
    _gamma("gamma", "near_2", 1),
    _gamma("gamma", "near_m10", 1),
    _gamma("gamma", "near_m55", 1, 7e-12),
    _gamma("gamma", "factorials", 1, 4e-14),
    _gamma("gammaln", "near_0", 2, 5e-11),
    _gamma("gammaln", "near_1", 2, 5e-11),
    _gamma("gammaln", "near_2", 2, 2e-10),
    _gamma("gammaln", "near_m10", 2, 5e-11),
    _gamma("gammaln", "near_m55", 2, 5e-11),
    _gamma("gammaln", "factorials", 2),
    _boost("log1p", "log1p_expm1_data", 0, 1),
    _boost("expm1", "log1p_expm1_data", 0, 2),
    Rows("log1p", "local", "log1p_expm1_complex", (0, 1), (2, 3), 1e-14),
    Rows("expm1", "local", "log1p_expm1_complex", (0, 1), (4, 5), 1e-14),
)


@cache
def folder() -> Path | None:
    """Where SciPy's data are; None without SciPy or its tests."""
    found = importlib.util.find_spec("scipy")
    if found is None or found.origin is None:
        return None
    path = Path(found.origin).parent / "special" / "tests" / "data"
    return path if path.is_dir() else None


def column(table: np.ndarray, numbers: tuple[int, ...]) -> np.ndarray:
    """A column, or two as complex numbers."""
    if len(numbers) == 1:
        return np.ascontiguousarray(table[:, numbers[0]])
    result = np.empty(len(table), np.complex128)
    result.real, result.imag = table[:, numbers[0]], table[:, numbers[1]]
    return result


@dataclass(frozen=True)
class Outcome:
    """The rows of a set: how many, the arguments of those beyond the tolerance, and the largest
    error relative to the tolerance."""

    count: int
    wrong: tuple[Any, ...]
    worst: float


def compared(rows: Rows, device: str, step: int = 1) -> Outcome:
    """Compute every ``step``-th row on a device."""
    at = folder()
    assert at is not None
    with np.load(at / f"{rows.file}.npz") as sets:
        table = sets[rows.name][::step]
    argument, wanted = column(table, rows.argument), column(table, rows.result)
    got = np.asarray(getattr(xp, rows.function)(xp.asarray(argument, device=device)))
    return judged(rows.tolerance, argument, got, wanted)


def judged(tolerance: float, argument: np.ndarray, got: np.ndarray, wanted: np.ndarray) -> Outcome:
    """Compare as SciPy does: infinities and NaN stand where they are wanted."""
    with np.errstate(all="ignore"):
        size = np.abs(wanted)
        size[~np.isfinite(size)] = 0
        distance = np.abs(got - wanted)
        distance[~np.isfinite(distance)] = 0
        relative = distance / (5 * TINY + tolerance * size)
    same = (np.isnan(got) == np.isnan(wanted)) & (np.isinf(got) == np.isinf(wanted))
    if got.dtype.kind != "c":
        same &= ~np.isinf(got) | (got == wanted)
    relative[~same] = np.inf
    return Outcome(len(got), tuple(argument[relative > 1].tolist()), float(relative.max()))


def main() -> None:
    """Print a line for each set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--step", type=int, default=1, help="of N rows compute one")
    results.option(parser)
    chosen = parser.parse_args()
    if folder() is None:
        sys.exit("SciPy's wheel with its tests is needed: pip install scipy")
    for rows in SETS:
        outcome = compared(rows, chosen.device, chosen.step)
        name = rows.name.rpartition("-")[2]
        results.add(f"{rows.function}, {name}", "compared", outcome.count, "rows")
        results.add(f"{rows.function}, {name}", "beyond the tolerance", len(outcome.wrong), "rows")
        results.add(f"{rows.function}, {name}", "worst", outcome.worst, "of the tolerance")
        few = ", ".join(repr(each) for each in outcome.wrong[:5])
        print(
            f"{rows.function:9}{name:22}{outcome.count:7} rows {len(outcome.wrong):5} wrong"
            f"  worst {outcome.worst:9.3f}  {few}",
            flush=True,
        )
    results.write("scipy_data", chosen.record)


if __name__ == "__main__":
    main()
