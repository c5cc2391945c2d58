"""numba's configuration variables, by their names and defaults, for programs to read and set.

``FROM_ENVIRONMENT`` lists those that the environment sets as well. The others have no effect unless
a comment states one: gridlane's own settings are in core/config.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridlane.core.config import beginning_with
from gridlane.core.processors import available_processors

CACHE_DIR = ""  # to read: core/config.py reads the variable
ENABLE_CUDASIM = 0
CUDA_LOW_OCCUPANCY_WARNINGS = 0  # there is no occupancy on this device
CUDA_WARN_ON_IMPLICIT_COPY = 0  # host arrays need no copies on this device
CUDA_ARRAY_INTERFACE_SYNC = 1
CUDA_DUMP_NVVM = ""
CUDA_DEBUGINFO_DEFAULT = 0  # debug= of kernels without the option
CUDA_DEALLOCS_COUNT = 0  # frees do not wait, but in defer_cleanup
CUDA_DEALLOCS_RATIO = 0.0
CUDA_DEFAULT_PTX_CC = (8, 0)
CUDA_ENABLE_MINOR_VERSION_COMPATIBILITY = 0
CUDA_ENABLE_PYNVJITLINK = 0
CUDA_ENABLE_NRT = 0
CUDA_NRT_STATS = 0
CUDA_FORTRAN_CALLCONV = 0
CUDA_LOG_LEVEL = ""
FORCE_CUDA_CC: tuple[Any, ...] | None = None  # read by cudadrv.nvrtc.get_arch_option alone
CUDA_NVRTC_EXTRA_SEARCH_PATHS = ""  # folders of headers for CUDA C++ that kernels are linked with
CUDA_MEMORY_MANAGER = "default"
CUDA_PER_THREAD_DEFAULT_STREAM = 0
CUDA_USE_NVIDIA_BINDING = 0
DEBUG = 0
DISABLE_JIT = 0
DISABLE_PERFORMANCE_WARNINGS = 0
BOUNDSCHECK = None
OPT = 3
CAPTURED_ERRORS = "new_style"
DEVELOPER_MODE = 0
FULL_TRACEBACKS = 0
IS_OSX = False
IS_WIN32 = False
MACHINE_BITS = 64
NUMBA_DEFAULT_NUM_THREADS = available_processors()
NUMBA_NUM_THREADS = NUMBA_DEFAULT_NUM_THREADS  # the bound of numba.set_num_threads


def _capability(text: str) -> tuple[int, int]:
    major, minor = text.split(".")
    return int(major), int(minor)


FROM_ENVIRONMENT: dict[str, tuple[str, Callable[[str], Any]]] = {
    "NUMBA_CACHE_DIR": ("CACHE_DIR", str),
    "NUMBA_FULL_TRACEBACKS": ("FULL_TRACEBACKS", int),
    "NUMBA_CUDA_ARRAY_INTERFACE_SYNC": ("CUDA_ARRAY_INTERFACE_SYNC", int),
    "NUMBA_CUDA_DEBUGINFO": ("CUDA_DEBUGINFO_DEFAULT", int),
    "NUMBA_CUDA_DEFAULT_PTX_CC": ("CUDA_DEFAULT_PTX_CC", _capability),
    "NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS": ("CUDA_LOW_OCCUPANCY_WARNINGS", int),
    "NUMBA_NUM_THREADS": ("NUMBA_NUM_THREADS", int),
    "NUMBA_CUDA_NVRTC_EXTRA_SEARCH_PATHS": ("CUDA_NVRTC_EXTRA_SEARCH_PATHS", str),
}
"""Variables of the environment, each with its name here and how its text is read."""
_ELSEWHERE = {"NUMBA_CUDA_MEMORY_MANAGER", "NUMBA_CUDA_MLIR_ICE_FULL_TB"}
"""Those that core/config.py reads, or that concern defects of another compiler alone."""


def read_environment() -> list[str]:
    """Set the variables from the environment; return the names of numba's variables that have no
    effect.

    Raises:
        ValueError: a value that cannot be read.
    """
    ignored = list[str]()
    for name, text in beginning_with("NUMBA_").items():
        known = FROM_ENVIRONMENT.get(name)
        if known is not None:
            try:
                globals()[known[0]] = known[1](text)
            except ValueError:
                raise ValueError(f"{name}={text!r} cannot be read: numba has {known[0]}") from None
        elif name not in _ELSEWHERE:
            ignored.append(name)
    return sorted(ignored)
