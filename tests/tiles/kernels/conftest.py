from __future__ import annotations

import numpy as np
import pytest

import gridlane


@pytest.fixture(params=["interp", "cpu"])
def device(request):
    with gridlane.device(request.param):
        yield request.param


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)
