"""The inexact functions of each device are as near to the interpreter's as they should be."""

from __future__ import annotations

import pytest
from tests.devices import DEVICES

from gridlane.conformance.functions import NAMES, allowed, compared
from gridlane.core.dtypes import FLOATS, DType


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_ulp(name: str, dtype: DType, device: str) -> None:
    ulp, columns = compared(name, dtype, device)
    worst = int(ulp.argmax())
    *operands, got, wanted = (values[worst] for values in columns)
    assert ulp[worst] <= allowed(device, name, dtype), (
        f"{name}{tuple(operands)}: {got!r}, not {wanted!r}"
    )
