"""What the tests share: arrays on the device, parameter blocks, devices."""

from __future__ import annotations

import os
import struct
from types import SimpleNamespace

import numpy as np
import pytest

KINDS = ("webgpu", "opengl", "opengl es")


def opener(kind: str):
    """A function that opens a device of a kind; fails or skips where there is none."""
    from gridlane.runtime.drivers import opengl, webgpu
    from gridlane.runtime.drivers.heap.device import HeapDevice
    from gridlane.runtime.drivers.opengl import contexts
    from gridlane.runtime.drivers.opengl.engine import OpenGlEngine

    try:
        if kind == "webgpu":
            webgpu.adapters.usable()
            return webgpu.open_device
        if kind == "opengl":
            contexts._desktop(0).end()
            return opengl.open_device
        contexts._embedded(0).end()
        return lambda: HeapDevice("opengl", 0, lambda: OpenGlEngine(contexts._embedded(0)))
    except Exception as error:  # whatever the libraries raise
        if os.environ.get("CI"):
            pytest.fail(f"{kind}: {error}")  # .ci/run installs the drivers
        pytest.skip(f"no {kind}: {error}")


def opened(kind: str, monkeypatch, folder):
    """A device for a test, which ends it."""
    from gridlane.runtime.drivers.heap import device as module
    from gridlane.runtime.drivers.opengl import programs

    monkeypatch.setattr(module, "atexit", SimpleNamespace(register=lambda function: None))
    monkeypatch.setattr(programs, "directory", lambda: folder)
    return opener(kind)()


def to_device(device, array):
    """A buffer with the bytes of an array."""
    buffer = device.allocate(array.nbytes)
    device.upload(buffer.address, octets(array))
    return buffer


def octets(array):
    """The bytes of an array, not copied."""
    return array.view(np.uint8).reshape(-1).data


def words(device, buffer, dtype=np.uint32):
    """What a buffer holds."""
    out = np.empty(buffer.size, np.uint8)
    device.download(out.data, buffer.address)
    return out.view(dtype)


def params(artifact, *values):
    """The parameter block."""
    block = bytearray(artifact.param_bytes)
    for slot, value in zip(artifact.params, values, strict=True):
        code = "Q" if slot.dtype is None else {"f32": "f"}.get(str(slot.dtype), "I")
        value = getattr(value, "address", value)
        struct.pack_into(f"<{code}", block, slot.offset, value)
    return bytes(block)
