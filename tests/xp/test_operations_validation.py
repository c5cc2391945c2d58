"""The functions of floats on all rows of NumPy's validation sets."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.xp.references import errors
from tests.xp.together import results
from tests.xp.validation_sets import padded, sets

from gridlane.xp.operations import OPERATIONS

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def test_the_sets_are_whole():
    assert sum(len(arguments) for arguments, _ in sets().values()) == 26610
    assert len({name for name, _ in sets()}) == 20


@pytest.mark.parametrize(
    ("dtype", "device"),
    [
        pytest.param(dtype, device, id=f"{dtype}-{device}")
        for device in ("interp", *DEVICES)
        for dtype in ("float32", "float64")
        if dtype == "float32" or device in ("interp", "cpu", "cuda")
    ],
)
def test_all_rows_are_within_the_bounds(dtype: str, device: str) -> None:
    mine = {name: columns for (name, kind), columns in sets().items() if kind == dtype}
    most = max(len(arguments) for arguments, _ in mine.values())
    calls = [(OPERATIONS[name], (padded(each, most),)) for name, (each, _) in mine.items()]
    wrong: list[str] = []
    for (row, _), (got,) in zip(calls, results(device, calls), strict=True):
        name = next(each for each in mine if OPERATIONS[each] is row)
        arguments, wanted = mine[name]
        assert row.bound is not None
        # The results of the sets are rounded themselves.
        error = errors(got[: len(arguments)], wanted.astype(np.longdouble))
        worst = int(np.argmax(error))
        if error[worst] > getattr(row.bound, dtype):
            wrong.append(f"{name}({arguments[worst]!r}) is {got[worst]!r}, not {wanted[worst]!r}")
    assert not wrong, "\n".join(wrong)
