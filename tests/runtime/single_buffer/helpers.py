"""Devices for the tests, opened and ended."""

from __future__ import annotations

import os

import pytest

KINDS = ("webgpu", "opengl", "opengl es")


def opener(kind: str):
    """A function that opens a device of a kind; fails or skips where there is none."""
    from gridlane.runtime.drivers import opengl, webgpu
    from gridlane.runtime.drivers.opengl import contexts
    from gridlane.runtime.drivers.opengl.engine import OpenGlEngine
    from gridlane.runtime.drivers.single_buffer.device import SingleBufferDevice

    try:
        if kind == "webgpu":
            webgpu.adapters.usable()
            return webgpu.open_device
        if kind == "opengl":
            contexts._desktop(0).end()
            return opengl.open_device
        contexts._embedded(0).end()
        return lambda: SingleBufferDevice("opengl", 0, lambda: OpenGlEngine(contexts._embedded(0)))
    except Exception as error:  # whatever the libraries raise
        if os.environ.get("CI"):
            pytest.fail(f"{kind}: {error}")  # .ci/run installs the drivers
        pytest.skip(f"no {kind}: {error}")


def opened(kind: str, monkeypatch, folder):
    """A device for a test, which ends it."""
    from gridlane.runtime.drivers.opengl import programs

    monkeypatch.setattr("gridlane.runtime.host_driven_device.at_end", lambda work: None)
    monkeypatch.setattr(programs, "directory", lambda: folder)
    return opener(kind)()
