"""Scalar types."""

from __future__ import annotations

from functools import cached_property

import pytest

from gridlane.core.dtypes import ALL, DType


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_a_use_computes_nothing(dtype):
    # A cached_property that a thread computes at a fork is locked in the child, before Python 3.12.
    facts = {name for name, value in vars(DType).items() if isinstance(value, cached_property)}
    assert facts and facts <= vars(dtype).keys()
