"""CUDA's runtime interface on gridlane's devices.

The calling convention is that of ``cuda.bindings.runtime``: a function returns a tuple: its error,
then its results, or None for each after an error. Nothing has to be initialised: the first call on
a thread makes the primary context of its device current.

>>> from gridlane.cuda import runtime
>>> error, address = runtime.cudaMalloc(1024)
>>> error
<cudaError_t.cudaSuccess: 0>
>>> runtime.cudaFree(address)
(<cudaError_t.cudaSuccess: 0>,)
"""

from __future__ import annotations

from typing import Any

from gridlane.abi.python import names_of, resolve


def make_cudaExtent(w: int, h: int, d: int) -> Any:
    """A ``cudaExtent`` of its width, height and depth."""
    result = resolve("runtime", "cudaExtent")()
    result.width, result.height, result.depth = w, h, d
    return result


def make_cudaPos(x: int, y: int, z: int) -> Any:
    """A ``cudaPos`` of its coordinates."""
    result = resolve("runtime", "cudaPos")()
    result.x, result.y, result.z = x, y, z
    return result


def make_cudaPitchedPtr(d: Any, p: int, xsz: int, ysz: int) -> Any:
    """A ``cudaPitchedPtr`` of an address, the bytes from row to row, and the size of a plane."""
    result = resolve("runtime", "cudaPitchedPtr")()
    result.ptr, result.pitch, result.xsize, result.ysize = d, p, xsz, ysz
    return result


def __getattr__(name: str) -> Any:
    """A function, class or number of CUDA's."""
    if name.startswith("__"):
        raise AttributeError(name)
    attribute = globals()[name] = resolve("runtime", name)
    return attribute


def __dir__() -> list[str]:
    """The names of this interface."""
    names = {"make_cudaExtent", "make_cudaPitchedPtr", "make_cudaPos"}
    return sorted(names_of("runtime") | names)
