"""Calls of CUDA's interface in tests."""

from __future__ import annotations

import ctypes
import importlib
import os
from typing import Any

import numpy as np
import pytest

from gridlane.abi.calls.registry import calls
from gridlane.abi.errors import called
from gridlane.core.cuda_table.functions import Api, functions

# With NVIDIA's own bindings the same calls come through libcuda; see test_library.py.
NVIDIA = os.environ.get("GRIDLANE_TEST_BINDINGS") == "nvidia"
cu = importlib.import_module("cuda.bindings.driver" if NVIDIA else "gridlane.cuda.driver")
nvrtc = importlib.import_module("cuda.bindings.nvrtc" if NVIDIA else "gridlane.cuda.nvrtc")
in_python = pytest.mark.skipif(NVIDIA, reason="NVIDIA's bindings do not take these values")
"""Of tests that call the runtime, or give what gridlane's own functions in Python take."""

OK, BAD = cu.CUresult.CUDA_SUCCESS, cu.CUresult.CUDA_ERROR_INVALID_VALUE
REFUSED = cu.CUresult.CUDA_ERROR_NOT_SUPPORTED
NO_HANDLE = cu.CUresult.CUDA_ERROR_INVALID_HANDLE


def good(result: tuple[Any, ...]) -> Any:
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


def by_row(api: Api, name: str, *values: Any) -> int:
    """The error of a function that Python does not know: of another version."""
    return called(functions(api)[name], calls(api)[name], values)[0]


def uploaded(values: np.ndarray) -> Any:
    """The address of a copy on the device."""
    address = good(cu.cuMemAlloc(values.nbytes))
    good(cu.cuMemcpyHtoD(address, np.ascontiguousarray(values), values.nbytes))
    return address


def downloaded(address: Any, like: np.ndarray) -> np.ndarray:
    """A copy of memory of the device."""
    made = np.empty_like(like)
    good(cu.cuMemcpyDtoH(made, address, made.nbytes))
    return made


def host_function(call: Any) -> tuple[Any, int]:
    """A function of the host for a stream: what keeps it alive, and its address."""
    made = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: call())
    return made, ctypes.cast(made, ctypes.c_void_p).value or 0
