"""The inexact functions of each device are as near to the interpreter's as they should be."""

from __future__ import annotations

import pytest
from tests.devices import DEVICES

from gridlane.conformance.functions import NAMES, allowed, compared, types_of
from gridlane.core.dtypes import DType

TRIED = [
    pytest.param(name, dtype, device, id=f"{name}-{dtype}-{device}")
    for name in NAMES
    for device in DEVICES
    for dtype in types_of(name, device)
]


@pytest.mark.parametrize("name, dtype, device", TRIED)
def test_ulp(name: str, dtype: DType, device: str) -> None:
    ulp, columns = compared(name, dtype, device)
    worst = int(ulp.argmax())
    *operands, got, wanted = (values[worst] for values in columns)
    assert ulp[worst] <= allowed(device, name, dtype), (
        f"{name}{tuple(operands)}: {got!r}, not {wanted!r}"
    )
