"""NumPy's validation sets of its functions, from its wheel: arguments with results that are rounded
correctly."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import numpy as np

FOLDER = Path(np.__file__).parent / "_core" / "tests" / "data"
PREFIX = "umath-validation-set-"


@cache
def sets() -> dict[tuple[str, str], tuple[np.ndarray, np.ndarray]]:
    """The arguments and results of each function and dtype."""
    columns: dict[tuple[str, str], tuple[list[int], list[int]]] = {}
    for file in sorted(FOLDER.glob(f"{PREFIX}*.csv")):
        name = file.stem.removeprefix(PREFIX)
        for row in csv.reader(file.read_text().splitlines()[1:]):
            if len(row) < 4 or row[0].startswith("#"):
                continue
            arguments, results = columns.setdefault((name, row[0].split(".")[1]), ([], []))
            arguments.append(int(row[1], 16))
            results.append(int(row[2], 16))
    return {
        (name, dtype): (bits(arguments, dtype), bits(results, dtype))
        for (name, dtype), (arguments, results) in columns.items()
    }


def bits(numbers: list[int], dtype: str) -> np.ndarray:
    """Floats of their bits."""
    whole = np.array(numbers, np.uint32 if dtype == "float32" else np.uint64)
    return whole.view(dtype)


def padded(array: np.ndarray, count: int) -> np.ndarray:
    """An array, repeated to a length."""
    return np.resize(array, count)
