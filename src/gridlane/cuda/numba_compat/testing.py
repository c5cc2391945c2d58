"""``numba.cuda.testing``: the base class and the conditions of numba-cuda's tests."""

from __future__ import annotations

import os
import platform
import unittest
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from gridlane.cuda.host import settings as config
from gridlane.cuda.host.device import get_current_device
from gridlane.cuda.names import missing
from gridlane.cuda.numba_compat.support import (
    TestCase,
    captured_stderr,
    captured_stdout,
    override_config,
)

Decorator = Callable[[Any], Any]


def _data_folder() -> Path:
    package = find_spec("numba_cuda")
    folder = package and package.submodule_search_locations
    return Path(folder[0] if folder else ".", "numba", "cuda", "tests", "data")


test_data_dir = _data_folder()
numba_cuda_dir = test_data_dir.parent.parent


class CUDATestCase(TestCase):
    """A test that uses the device."""

    __test__ = False
    FLOAT16_RTOL = np.finfo(np.float16).eps

    def assertFileCheckAsm(self, *args: Any, **kwargs: Any) -> None:
        """Skip the test: the patterns are for PTX."""
        self.skipTest("the FileCheck patterns are for PTX, and this device has machine code")

    def assertFileCheckLLVM(self, *args: Any, **kwargs: Any) -> None:
        """Skip the test: the patterns are for numba's LLVM IR."""
        self.skipTest("the FileCheck patterns are for numba's LLVM IR, not gridlane's")

    def assertFileCheckMatches(self, *args: Any, **kwargs: Any) -> None:
        """Skip the test: the patterns are for numba's compiler."""
        self.skipTest("the FileCheck patterns are for the output of numba's compiler")


class ForeignArray:
    """Another library's array: it has the CUDA array interface, and nothing else."""

    def __init__(self, arr: Any) -> None:
        self._arr = arr
        self.__cuda_array_interface__ = arr.__cuda_array_interface__


def _skip_if(condition: Any) -> Callable[[str], Decorator]:
    """A decorator with a reason, for a condition that is known here."""
    return lambda reason: unittest.skipIf(condition, reason)


def _needs(condition: bool, reason: str) -> Decorator:
    """A decorator without arguments."""
    return unittest.skipUnless(condition, reason)


skip_on_cudasim = _skip_if(config.ENABLE_CUDASIM)
skip_unless_cudasim = _skip_if(not config.ENABLE_CUDASIM)
skip_if_external_memmgr = _skip_if(False)
skip_under_cuda_memcheck = _skip_if("CUDA_MEMCHECK" in os.environ)
skip_without_nvdisasm = _skip_if(True)
skip_with_nvdisasm = _skip_if(False)
skip_unless_conda_cudatoolkit = _skip_if(True)
skip_if_nvjitlink_missing = _skip_if(True)
skip_on_nvjitlink_13_1_sm_120 = _skip_if(False)
skip_on_arm = _skip_if(platform.machine().lower().startswith(("arm", "aarch")))
skip_on_wsl2 = _skip_if("wsl2" in platform.release().lower())

skip_on_standalone_numba_cuda = _needs(False, "requires base numba install")
skip_if_cuda_includes_missing = _needs(False, "CUDA include dir not available on this system")
skip_if_curand_kernel_missing = _needs(False, "curand_kernel.h not available on this system")
skip_if_cudadevrt_missing = _needs(True, "cudadevrt missing")
"""No device needs NVIDIA's library of device code, of which grids that meet are a part."""
skip_if_mvc_enabled = skip_if_mvc_libraries_unavailable = _skip_if(False)


def cc_X_or_above(major: int, minor: int) -> bool:
    """Whether the device has a compute capability."""
    return get_current_device().compute_capability >= (major, minor)


def _get_device_compute_capability() -> tuple[int, int]:  # pyright: ignore[reportUnusedFunction]
    """As numba's private name, which its tests import."""
    major, minor = get_current_device().compute_capability
    return major, minor


def _needs_capability(major: int, minor: int) -> Decorator:
    return lambda test: _needs(cc_X_or_above(major, minor), f"requires cc >= {major}.{minor}")(test)


skip_unless_cc_50 = _needs_capability(5, 0)
skip_unless_cc_53 = _needs_capability(5, 3)
skip_unless_cc_60 = _needs_capability(6, 0)
skip_unless_cc_75 = _needs_capability(7, 5)
skip_unless_cc_90 = _needs_capability(9, 0)


def xfail_unless_cudasim(test: Any) -> Any:
    """Mark a test that real CUDA devices fail."""
    return test if config.ENABLE_CUDASIM else unittest.expectedFailure(test)


def cudadevrt_missing() -> bool:
    """Return False: nothing needs CUDA's device runtime library."""
    return False


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise missing(name, "cuda.testing")


__all__ = [
    "CUDATestCase", "ForeignArray", "captured_stderr", "captured_stdout", "override_config",
    "skip_on_cudasim", "skip_unless_cudasim", "unittest",
]  # fmt: skip
