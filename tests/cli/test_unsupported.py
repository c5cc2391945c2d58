"""Names of devices that cannot be: refused by what they lack, wherever a device is named."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from gridlane.core.errors import GridlaneError, UnsupportedBackend
from gridlane.launch.devices import device_count, get_device

TOLD = "WebGL 2 has no compute shaders; use webgpu or opengl"


@pytest.mark.parametrize("name", ["webgl2", "webgl2:1"])
def test_webgl2(name: str) -> None:
    with pytest.raises(UnsupportedBackend, match=TOLD) as caught:
        get_device(name)
    assert isinstance(caught.value, GridlaneError) and isinstance(caught.value, NotImplementedError)
    assert device_count("cpu") == 1


@pytest.mark.parametrize(
    "command", [["run", "--device", "webgl2", "x.py"], ["devices"], ["doctor"]]
)
def test_on_the_command_line(command: list[str]) -> None:
    environment = {**os.environ, "GRIDLANE_DEVICE": "webgl2"}
    done = subprocess.run(
        [sys.executable, "-m", "gridlane", *command],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and TOLD in done.stderr


def test_in_a_program() -> None:
    source = "import numpy as np; from gridlane import cuda; cuda.to_device(np.zeros(3))"
    environment = {**os.environ, "GRIDLANE_DEVICE": "webgl2"}
    done = subprocess.run(
        [sys.executable, "-c", source], env=environment, capture_output=True, text=True
    )
    assert f"UnsupportedBackend: {TOLD}" in done.stderr
