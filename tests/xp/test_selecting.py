"""The first few elements by candidates: the results of a sort of all."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES

from gridlane import xp
from gridlane.xp.sorting import selecting, sorts

DTYPES = [np.float32, np.float64, np.float16, np.int32, np.uint32, np.int64, np.uint64, np.int8]


def special(dtype, count):
    """Elements of which many are equal, and those at the ends of the order."""
    generator = np.random.default_rng(count)
    if np.dtype(dtype).kind != "f":
        octets = generator.integers(0, 256, count * np.dtype(dtype).itemsize, np.uint8)
        return octets.view(dtype)
    x = generator.standard_normal(count).astype(dtype)
    for value in (np.nan, -0.0, 0.0, np.inf, -np.inf):
        x[generator.integers(0, count, count // 9)] = value
    return x


@pytest.mark.parametrize(
    ("device", "dtype"),
    [
        *((each, np.float32) for each in ("interp", *DEVICES)),
        *(("cpu", each) for each in DTYPES[1:]),
    ],
)
def test_the_results_of_a_sort(monkeypatch, device, dtype):
    monkeypatch.setattr(selecting, "LEAST", 64)
    found = []

    def noted(*arguments):
        found.append(selecting.candidates(*arguments))
        return found[-1]

    is_slow = device == "interp"
    x = xp.asarray(special(dtype, 300 if is_slow else 4000), device=device)
    for k in (1, 17)[is_slow:]:
        for mode in ("largest", "smallest")[is_slow:]:
            monkeypatch.setattr(sorts, "candidates", noted)
            one = xp.top_k(x, k, mode=mode)
            monkeypatch.setattr(sorts, "candidates", lambda *arguments: None)
            other = xp.top_k(x, k, mode=mode)
            for a, b in zip(one, other, strict=True):
                assert np.asarray(a).tobytes() == np.asarray(b).tobytes() and a.dtype == b.dtype
    assert any(each is not None for each in found)


def test_many_equal_elements_are_sorted():
    x = xp.zeros(1 << 17)
    values, places = xp.top_k(x, 3)
    assert np.asarray(places).tolist() == [0, 1, 2] and np.asarray(values).tolist() == [0, 0, 0]
