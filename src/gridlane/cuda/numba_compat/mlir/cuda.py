"""``numba_cuda_mlir.cuda``: the names of ``numba.cuda``, and those that only it has."""

from __future__ import annotations

from typing import Any

from gridlane import cuda
from gridlane.cuda.numba_compat.devicearray import DeviceNDArray
from gridlane.cuda.numba_compat.mlir import experimental, types, vector_types
from gridlane.cuda.numba_compat.mlir.jitting import jit
from gridlane.cuda.numba_compat.mlir.placeholder_modules import face
from gridlane.frontends.python.consteval_stubs import current_target_options, local_array_from
from gridlane.frontends.python.pointer_stubs import carray, farray
from gridlane.frontends.python.stubs import literal_unroll, local, shared

HAS_NUMBA = False
"""Whether it builds on numba, which it never does."""

_found = face("cuda", cuda)
local_array, shared_array = local.array, shared.array


def __getattr__(name: str) -> Any:
    if name == "__all__":  # not before the names are wanted: they load modules
        return sorted({*cuda.__all__, *_OWN} - {"HAS_NUMBA"})
    return _OWN[name] if name in _OWN else _found(name)


def __dir__() -> list[str]:
    return sorted({*dir(cuda), *_OWN})


_OWN = {
    "DeviceNDArray": DeviceNDArray,
    "carray": carray,
    "current_target_options": current_target_options,
    "experimental": experimental,
    "farray": farray,
    "jit": jit,
    "literal_unroll": literal_unroll,
    "local_array": local_array,
    "local_array_from": local_array_from,
    "shared_array": shared_array,
    "types": types,
    "vector_types": vector_types,
    **vector_types.HALVES,
}
