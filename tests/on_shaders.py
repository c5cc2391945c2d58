"""WebGPU and OpenGL among the devices that are compared with the interpreter."""

from __future__ import annotations

import os

import pytest


def found() -> list[str]:
    """Those of ``webgpu`` and ``opengl`` that this machine has.

    In continuous integration always both: without one the tests fail there, .ci/run installs them.
    """
    from gridlane.runtime.devices import device_count

    kinds = ["webgpu", "opengl"]
    return kinds if os.environ.get("CI") else [kind for kind in kinds if device_count(kind)]


def each() -> list:
    """Both, as parameters of a test that is skipped where there is no such device."""
    there = found()
    return [
        pytest.param(
            kind, marks=pytest.mark.skipif(kind not in there, reason=f"no device of {kind}")
        )
        for kind in ("webgpu", "opengl")
    ]


def _run(kind: str, module, grid, block, arrays, scalars, shared):
    from tests.devices import run_artifact

    from gridlane.compiler import generate
    from gridlane.ir.parser import parse_module
    from gridlane.ir.printer import print_module
    from gridlane.runtime.devices import get_device

    device = get_device(kind)
    artifact = generate(parse_module(print_module(module)), device.target(block))
    return run_artifact(device, artifact, grid, block, arrays, scalars, shared)


def run_webgpu(*launch):
    """As the other functions of this kind in tests/devices.py."""
    return _run("webgpu", *launch)


def run_opengl(*launch):
    """Likewise."""
    return _run("opengl", *launch)
