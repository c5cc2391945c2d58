"""With ``GRIDLANE_TEST_VIA=ir`` the tests of PTX and CUDA C++ go through the IR on NVIDIA GPUs."""

from __future__ import annotations

import os

import pytest

from gridlane.cuda.raw import code


@pytest.fixture(autouse=os.environ.get("GRIDLANE_TEST_VIA") == "ir")
def _through_the_ir(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = code.RawCode.goes_to_driver
    monkeypatch.setattr(
        code.RawCode,
        "goes_to_driver",
        lambda self, device: self._via == "driver" and usual(self, device),
    )
