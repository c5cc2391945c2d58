"""``numba_cuda_mlir.cuda``: the names of ``numba.cuda``, and those that only it has."""

from __future__ import annotations

from typing import Any

from gridlane import cuda
from gridlane.cuda.numba_compat.devicearray import DeviceNDArray
from gridlane.cuda.numba_compat.mlir import types
from gridlane.frontends.python.pointer_stubs import carray, farray
from gridlane.frontends.python.stubs import literal_unroll

HAS_NUMBA = False
"""Whether it builds on numba, which it never does."""


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted({*cuda.__all__, *_OWN} - {"HAS_NUMBA"})
    return getattr(cuda, name)


def __dir__() -> list[str]:
    return sorted({*dir(cuda), *_OWN})


_OWN = {
    "DeviceNDArray": DeviceNDArray,
    "carray": carray,
    "farray": farray,
    "literal_unroll": literal_unroll,
    "types": types,
}
