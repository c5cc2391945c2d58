"""WebGPU and OpenGL among the devices that are compared with the interpreter."""

from __future__ import annotations

import os

KINDS = ("webgpu", "opengl")


def found() -> list[str]:
    """Those of ``webgpu`` and ``opengl`` that this machine has.

    In continuous integration always both: without one the tests fail there, .ci/run installs them.
    """
    from gridlane.launch.devices import device_count

    return [kind for kind in KINDS if os.environ.get("CI") or device_count(kind)]
