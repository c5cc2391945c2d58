"""Rounding to whole numbers, of numbers of any size with any fraction, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES, run_on

from gridlane.conformance.kernels import elementwise
from gridlane.core.dtypes import DType, f32, f64
from gridlane.core.errors import TargetError
from gridlane.ir.ops import math

ROUNDED = {math.Trunc: np.trunc, math.Rint: np.rint, math.Floor: np.floor, math.Ceil: np.ceil}
COUNT = 1 << 10


def numbers(dtype: DType) -> np.ndarray:
    """A fraction, and halves exactly, at each size up to where there is none."""
    random = np.random.default_rng(5)
    sizes = 2.0 ** random.integers(-3, 60 if dtype is f64 else 30, COUNT)
    made = random.normal(size=COUNT) * sizes
    made[::4] = np.trunc(made[::4]) + 0.5
    made[:4] = 0.0, -0.0, -0.25, -0.5
    return made.astype(dtype.numpy)


@pytest.mark.parametrize("device", ["interp", *DEVICES])
@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
def test_whole_numbers(dtype, device):
    given = numbers(dtype)
    module, _ = elementwise([dtype], lambda b, x: [b.value(op(x)) for op in ROUNDED], threads=COUNT)
    results = [np.zeros(COUNT, dtype.numpy) for _ in ROUNDED]
    try:
        got = run_on(device, module, (COUNT // 64, 1, 1), (64, 1, 1), [given, *results]).arrays
    except TargetError as error:
        pytest.skip(str(error))
    for (op, model), made in zip(ROUNDED.items(), got[1:], strict=True):
        wanted = model(given)
        different = (made != wanted) | (np.signbit(made) != np.signbit(wanted))
        assert not different.any(), (op.name, given[different][:4], made[different][:4])
