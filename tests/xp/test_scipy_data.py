"""Special functions on every 7th row of SciPy's data, within SciPy's tolerances."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import scipy_data

needs_data = pytest.mark.skipif(scipy_data.folder() is None, reason="SciPy's tests are not here")


@needs_data
@pytest.mark.parametrize(
    "rows", scipy_data.SETS, ids=lambda rows: f"{rows.function}-{rows.name.rpartition('-')[2]}"
)
def test_rows_are_within_the_tolerances(rows):
    outcome = scipy_data.compared(rows, "cpu", step=7)
    assert outcome.count > 5
    assert not outcome.wrong, outcome.worst


@pytest.mark.parametrize("got", [1 + 1e-13, np.nan, np.inf])
def test_what_is_beyond_a_tolerance_is_wrong(got):
    ones = np.ones(2)
    assert scipy_data.judged(1e-14, ones, np.array([1.0, got]), ones).wrong == (1.0,)


def test_an_infinity_of_the_other_sign_is_wrong():
    infinite = np.array([np.inf])
    assert scipy_data.judged(1.0, infinite, -infinite, infinite).wrong
    assert not scipy_data.judged(1.0, infinite, infinite, infinite).wrong
