"""Calls of CUDA's driver in tests, and what they give back."""

from __future__ import annotations

import importlib
import os

import numpy as np
import pytest

# With NVIDIA's own bindings the same calls come through libcuda; see test_library.py.
NVIDIA = os.environ.get("GRIDLANE_TEST_BINDINGS") == "nvidia"
cu = importlib.import_module("cuda.bindings.driver" if NVIDIA else "gridlane.cuda.driver")
in_python = pytest.mark.skipif(NVIDIA, reason="NVIDIA's bindings do not take these values")
"""Of tests that call the runtime, or give what gridlane's own functions in Python take."""


def good(result):
    """What a call gives back, if it succeeded."""
    assert result[0] == 0, result
    return result[1] if len(result) == 2 else result[1:] or None


def name(result):
    """The name of a call's error."""
    return result[0].name


def device_array(values):
    """The address of a copy on the device."""
    data = np.ascontiguousarray(values)
    address = int(good(cu.cuMemAlloc(data.nbytes)))
    good(cu.cuMemcpyHtoD(address, data, data.nbytes))
    return address


def host_array(address, like):
    """A copy on the host, after all work."""
    made = np.empty_like(like)
    good(cu.cuCtxSynchronize())
    good(cu.cuMemcpyDtoH(made, address, made.nbytes))
    return made
