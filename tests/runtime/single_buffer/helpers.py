"""Devices for the tests, opened and ended."""

from __future__ import annotations

import itertools
import os
from dataclasses import replace

import pytest

from gridlane.runtime.drivers.single_buffer.arena import FIRST, SPARE

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

    monkeypatch.setattr(programs, "directory", lambda: folder)
    return opener(kind)()


def bounded(device, monkeypatch, largest: int) -> None:
    """As if the device had smaller buffers."""
    monkeypatch.setattr(device.engine, "facts", replace(device.engine.facts, largest=largest))


def spread(device, monkeypatch, count: int = 3, largest: int = 4 << 20) -> None:
    """As if the device's memory were so many buffers, of which each array takes the next."""
    bounded(device, monkeypatch, largest)
    arena = device.arena
    whole = [device.allocate(largest - FIRST - SPARE) for _ in range(count)]
    assert len(arena.segments) == count and whole
    turns = itertools.count()

    def in_turn():
        first = next(turns) % count
        return [*arena.segments[first:], *arena.segments[:first]]

    monkeypatch.setattr(arena, "_in_order", in_turn)
