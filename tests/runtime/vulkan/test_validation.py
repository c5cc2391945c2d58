"""All of this folder, and the suite that it shares with other devices, again, with Khronos'
validation layer between us and the driver."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.effort import NIGHTLY
from tests.runtime.vulkan.conftest import LAYER

from gridlane.runtime.drivers.vulkan.api import bindings, listed, text

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
SHARED = HERE.parent / "host_driven"
AT_ONCE = "tests.runtime.vulkan.at_once"
"""Launches are submitted at once, so that the layer sees all ways to submit."""


def _there() -> bool:
    layers = listed(bindings().lib.vkEnumerateInstanceLayerProperties, "VkLayerProperties")
    return LAYER in [text(layer.layerName) for layer in layers]


def _run(*command: str) -> subprocess.CompletedProcess:
    if not _there():
        assert not os.environ.get("CI"), "no validation layer; .ci/run installs it"
        pytest.skip("no validation layer (Debian: vulkan-validationlayers)")
    return subprocess.run(
        [sys.executable, *command],
        env={**os.environ, "VK_INSTANCE_LAYERS": LAYER},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )


def test_the_layer_has_no_complaint():
    # A lost device leaves its objects behind, which the layer would tell at the end.
    others = ("lost_device", "cpu", "metal", "webgpu", "opengl", "handler")
    # spirv-val judges the code of programs by day (tests/codegen); their launches are as others.
    others += () if NIGHTLY else ("test_programs",)
    chosen = " and ".join(f"not {each}" for each in others)
    options = "-q", "-p", "no:cacheprovider", "-p", AT_ONCE, f"--ignore={__file__}", "-k", chosen
    done = _run("-m", "pytest", *options, str(HERE), str(SHARED))
    said = done.stdout + done.stderr
    assert done.returncode == 0 and "VUID" not in said and "Validation Error" not in said, said


WRONG = """
from gridlane.runtime.drivers.vulkan import open_device
device = open_device()
arena = device.allocate(256).arena
device.recorder.fill(device.default_stream, (arena, 0), 3, 0)
"""


def test_the_layer_would_complain():
    assert "VUID-vkCmdFillBuffer-size" in _run("-c", WRONG).stdout
