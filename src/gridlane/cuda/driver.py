"""CUDA's driver interface on gridlane's devices.

The calling convention is that of ``cuda.bindings.driver``: a function returns a tuple: its error,
then its results, or None for each after an error.

>>> from gridlane.cuda import driver
>>> error, = driver.cuInit(0)
>>> error
<CUresult.CUDA_SUCCESS: 0>
>>> driver.cuDeviceGet(0)
(<CUresult.CUDA_SUCCESS: 0>, <CUdevice 0x0>)

Names of numba's module ``numba.cuda.cudadrv.driver`` are here as well: ``host_to_device`` …
"""

from __future__ import annotations

from typing import Any

from gridlane.abi.python import names_of, resolve


def __getattr__(name: str) -> Any:
    """A function, class or number of CUDA's."""
    if name.startswith("__"):
        raise AttributeError(name)
    if name in names_of("driver"):
        member = resolve("driver", name)
    else:
        from gridlane.cuda.numba_compat import driver as numba

        member = vars(numba)[name] if name in numba.__all__ else resolve("driver", name)
    globals()[name] = member
    return member


def __dir__() -> list[str]:
    """The names of this interface."""
    return sorted(names_of("driver"))
