"""``gridlane run --device auto``: the best device that is verified on this machine."""

from __future__ import annotations

import sys

from gridlane.cli.doctor import climb
from gridlane.core.errors import DeviceError
from gridlane.launch.devices import device_count

_PREFERRED = ("cuda", "metal", "vulkan", "webgpu", "opengl", "cpu")
_SOFTWARE = "software on the CPU", "CPU emulation"
"""Said by a driver that runs shaders on the CPU, where the device cpu is faster."""


def best_device() -> str:
    """The first kind, of GPUs and then the CPU, on which a kernel has numpy's result; its name and
    what it is go to stderr."""
    for name in _PREFERRED:
        if not _is_there(name):
            continue
        steps = climb(name)
        facts = next((step.detail for step in steps if step.ok and step.name == "initialised"), "")
        if steps[-1].ok and not any(words in facts for words in _SOFTWARE):
            print(f"gridlane: --device auto: {name}: {facts}", file=sys.stderr, flush=True)
            return name
    print(
        "gridlane: --device auto: no device is verified here (gridlane doctor says why): interp",
        file=sys.stderr,
        flush=True,
    )
    return "interp"


def _is_there(name: str) -> bool:
    try:
        return bool(device_count(name))
    except (ImportError, OSError, DeviceError):
        return False
