"""The two ways of PTX to a device: through the IR, and to its driver as it came."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridlane import cuda
from gridlane.core.errors import ArgumentError, TargetError
from gridlane.launch import current
from gridlane.launch.devices import get_device

TEXT = Path(__file__).with_name("triple.ptx").read_text()


def test_a_device_whose_driver_compiles_no_ptx():
    current.choose(get_device("cpu"))
    module = cuda.RawModule(code=TEXT, via="driver")
    with pytest.raises(
        TargetError, match="driver of the device cpu compiles no PTX: leave out via"
    ):
        module.get_global("anything")


def test_there_is_no_third_way():
    with pytest.raises(ArgumentError, match='via is "ir" or "driver", not \'ptxas\''):
        cuda.RawModule(code=TEXT, via="ptxas")
