"""The Vulkan driver, on Debian's lavapipe or whatever driver this machine has.

Where the variable VK_INSTANCE_LAYERS names the validation layer, what it complains about fails the
test; see test_validation.py.
"""

from __future__ import annotations

import gc
import os
import re
import shutil
from collections import Counter

import pytest

from gridlane.core.errors import DeviceError
from gridlane.runtime.drivers.vulkan import adapters, api

TOOLS = ("glslangValidator", "spirv-val")
_MADE = re.compile(r"vk(?:Create|Allocate)(\w+?)s?$")
_GONE = re.compile(r"vk(?:Destroy|Free)(\w+?)s?$")
# Several at once are made by one call, or they go with their pool.
_APART = {"CommandBuffer", "Device"}
_KINDS = {"ComputePipeline": "Pipeline"}

LAYER = "VK_LAYER_KHRONOS_validation"
LAYERED = LAYER in os.environ.get("VK_INSTANCE_LAYERS", "")


def _missing() -> str:
    for tool in TOOLS:
        if shutil.which(tool) is None:
            return f"no {tool} (Debian: glslang-tools, spirv-tools)"
    try:
        adapters.usable()
    except DeviceError as error:
        return f"no device of Vulkan: {error}"
    return ""


def require():
    """Skip where there is no Vulkan, or a tool is missing; fail where there has to be."""
    missing = _missing()
    if missing and os.environ.get("CI"):
        pytest.fail(missing)  # .ci/run installs them
    if missing:
        pytest.skip(missing)


@pytest.fixture(scope="session", autouse=True)
def _vulkan():
    require()


@pytest.fixture
def living(monkeypatch):
    """Counts the objects of the driver that are alive, by kind."""
    counts: Counter[str] = Counter()
    original = api.Functions.__getattr__

    def counted(self, name):
        function = original(self, name)
        made, gone = _MADE.match(name), _GONE.match(name)
        kind = (made or gone)[1] if made or gone else ""
        kind = _KINDS.get(kind, kind)
        if not kind or kind in _APART:
            return function

        def wrapped(*args):
            result = function(*args)
            if gone or not result:
                counts[kind] += 1 if made else -1
            return result

        setattr(self, name, wrapped)
        return wrapped

    monkeypatch.setattr(api.Functions, "__getattr__", counted)
    return counts


@pytest.fixture
def device(request, living, tmp_path, monkeypatch, capfd):
    """A device, opened for the test. At the end nothing may be left of what the test has made."""
    from gridlane.runtime.drivers.vulkan import open_device, pipelines

    monkeypatch.setattr(pipelines, "directory", lambda: tmp_path / "vulkan")
    opened = open_device()
    yield opened
    request.node.funcargs.clear()
    gc.collect()
    opened.close()
    left = {kind: count for kind, count in living.items() if count}
    if opened.context.fault is None:
        assert opened.context.closed and not left
    if LAYERED:
        said = "".join(capfd.readouterr())
        assert "VUID" not in said and "Validation" not in said, said
