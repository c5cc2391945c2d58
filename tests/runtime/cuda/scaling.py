"""A kernel of users on the device ``cuda``, and what the fake driver does in its place."""

from __future__ import annotations

import ctypes
import struct

import numpy as np
import pytest

from gridlane import cuda
from gridlane.cuda.kernels import dispatcher, launch
from gridlane.launch.launcher import PythonLauncher

try:
    from gridlane.launch._native import Launcher as NativeLauncher
except ImportError:  # no C compiler where this was installed
    NativeLauncher = None


def scale_on_host(x, out, factor):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] * factor


def emulate_scale(ran):
    """What the kernel does, by the bytes of its parameters."""
    source, count, _, target, size, _ = struct.unpack_from("<6q", ran.params)
    (factor,) = struct.unpack_from("<d", ran.params, 48)
    kind = ctypes.c_float * size
    out = np.frombuffer(kind.from_address(target), np.float32)
    out[:] = np.frombuffer(kind.from_address(source), np.float32)[:count] * factor


def variants():
    yield "python", PythonLauncher
    if NativeLauncher is not None:
        yield "native", NativeLauncher


@pytest.fixture(params=list(variants()), ids=lambda variant: variant[0])
def slow(request, monkeypatch):
    """The arguments of launches that went the slow way, with one launcher and with the other."""
    seen = []

    class Configured(launch.Launching, request.param[1]):
        __slots__ = launch.SLOTS

        def _launch_slowly(self, args):
            seen.append(args)
            super()._launch_slowly(args)

    monkeypatch.setattr(dispatcher, "Configured", Configured)
    return seen


@pytest.fixture
def scale(machine):
    """The kernel, compiled for the fake device."""
    machine.on_launch("*scale_on_host*", emulate_scale)
    machine.on_launch("*", emulate_scale)
    return cuda.jit(scale_on_host)
