"""Modules that have the names of others, and refuse those of the compiler by name."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from gridlane.core.errors import MissingError
from gridlane.cuda.names import missing
from gridlane.cuda.numba_compat.internals import ROOT, reaches_into_compiler
from gridlane.cuda.numba_compat.modules import MODULES

_NARROW = "kernels have no floats of 8 bits or fewer; take uint8, and CUDA C++ with cuda_fp8.h"
_LINK = "link CUDA C++ or PTX by cuda.declare_device"
_NARROW_NAMES = """
    fp8_e5m2 fp8_e4m3 fp8_e8m0 _type_fp8_e5m2 _type_fp8_e4m3 _type_fp8_e8m0 cvt_e8m0_to_bf16raw
    bfloat16_raw_type bfloat16_raw_class nvfp4 f4E2M1FN f6E2M3FN f6E3M2FN f8E3M4 f8E4M3B11FNUZ
    f8E4M3FN f8E4M3FNUZ f8E4M3 f8E5M2FNUZ f8E5M2 f8E8M0FNU NVFP4Type Float4E2M1FNType
    Float6E2M3FNType Float6E3M2FNType Float8E3M4Type Float8E4M3B11FNUZType Float8E4M3FNType
    Float8E4M3FNUZType Float8E4M3Type Float8E5M2FNUZType Float8E5M2Type Float8E8M0FNUType
"""
_TENSORS = "kernels have no tensor maps; copy with cuda.shared.array, or link CUDA C++"

# What the package has and gridlane does not: what to write instead.
REFUSED: dict[str, str] = {
    **dict.fromkeys(_NARROW_NAMES.split(), f"{_NARROW}, which cuda.declare_device links"),
    **dict.fromkeys(
        ("tensor_map", "tcgen05_descriptors", "CUTensorMap", "CUTensorMapStorage"), _TENSORS
    ),
    **dict.fromkeys(("tf32", "FloatTF32Type"), "take float32; gridlane.cuda.wmma rounds to tf32"),
    "inline_ptx": _LINK,
    "struct": "a numpy record is a structure of a kernel, and a namedtuple one by value",
    "union": "two views of one array have other types, as in x.view(np.int32)",
    "AggregateType": "a numpy record dtype is a structure",
    **dict.fromkeys(("ByValPointerType", "byval_ptr"), "pass a record, or an array"),
}


def face(name: str, *sources: ModuleType) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module of the package, whose names are those of other modules."""
    module = f"{ROOT}.{name}"

    def found(wanted: str) -> Any:
        if wanted.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {wanted!r}")
        if f"{module}.{wanted}" in MODULES:
            return import_module(MODULES[f"{module}.{wanted}"])
        for source in sources:
            if hasattr(source, wanted):
                return getattr(source, wanted)
        refused = reaches_into_compiler(f"{module}.{wanted}")
        if refused is not None:
            raise MissingError(refused)
        error = missing(wanted, module)
        instead = REFUSED.get(wanted)
        raise error if instead is None else MissingError(f"{error}: {instead}")

    return found
