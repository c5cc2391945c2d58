"""A plugin of pytest for CuPy's tests: ``cupy`` is gridlane.xp, and ``cupy.testing`` CuPy's own.

``CUPY`` names the checkout. Modules of CuPy's inside that tests name only to choose among CuPy's
kernels are empty.
"""

from __future__ import annotations

import os
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from tests.peers.clients.xp_alias import Alias

from gridlane import xp

_COMPUTE_TYPES = [
    f"COMPUTE_TYPE_{each}"
    for each in ("DEFAULT", "TBD", "FP16", "FP32", "FP64", "BF16", "TF32", "PEDANTIC")
]
ROOT = Path(os.environ["CUPY"])


class Absent:
    """The class of objects of CuPy's that gridlane.xp lacks: nothing is one."""


def _module(name: str, kind: type[ModuleType] = ModuleType, **names: Any) -> ModuleType:
    module = kind(name)
    vars(module).update(names, __path__=[])
    sys.modules[name] = module
    parent, _, last = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], last, module)
    return module


def _testing() -> None:
    folder = ROOT / "cupy/testing"
    spec = spec_from_file_location("cupy.testing", folder / "__init__.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    module.__path__ = [str(folder)]
    sys.modules["cupy.testing"] = sys.modules["cupy"].testing = module  # type: ignore[attr-defined]
    spec.loader.exec_module(module)


def _asnumpy(array: Any, *args: Any, **kwargs: Any) -> np.ndarray:
    return np.asarray(array)


def _array(obj: Any, dtype: Any = None, copy: Any = True, order: str = "K", **named: Any) -> Any:
    """An array in the order of C or Fortran: of the latter the transposed one is in C's."""
    lists = isinstance(obj, (list, tuple)) and any(isinstance(each, xp.Array) for each in obj)
    found = xp.stack([xp.asarray(each) for each in obj]) if lists else xp.asarray(obj)
    found = found if dtype is None else found.astype(dtype, copy=False)
    if order == "F" and found.ndim > 1:
        return found.T.copy().T
    return found.copy() if copy else found


def _asarray(obj: Any, dtype: Any = None, order: str = "K", **named: Any) -> Any:
    return _array(obj, dtype, copy=not isinstance(obj, xp.Array), order=order)


def _product(numbers: Any) -> int:
    return int(np.prod(list(numbers), dtype=np.int64))


def _install() -> None:
    _module(
        "cupy",
        Alias,
        array=_array,
        asarray=_asarray,
        asnumpy=_asnumpy,
        get_array_module=_array_module,
        poly1d=Absent,
    )
    _module("cupy.exceptions", **vars(np.exceptions))
    for name in ("linalg", "fft", "random"):
        sys.modules[f"cupy.{name}"] = getattr(xp, name)
    _module("cupy.cuda")
    _module("cupy.cuda.runtime", is_hip=False, runtimeGetVersion=lambda: 13000)
    _module("cupy.cuda.driver")
    _module("cupy.cuda.cutensor", available=False)
    _module("cupy.cuda.cub", available=False)
    _module("cupy._core")
    _module("cupy._core.internal", prod=_product)
    nothing = {"get_routine_accelerators": list, "get_reduction_accelerators": list}
    setters = {name.replace("get", "set"): lambda chosen: None for name in nothing}
    _module("cupy._core._accelerator", **nothing, **setters)
    _module("cupy._core._cub_reduction", _CUB_REDUCE_SIZE_THRESHOLD=0)
    _module("cupy._core._routines_linalg", **dict.fromkeys(_COMPUTE_TYPES, 0))
    _module("cupyx")
    _module("cupyx.scipy")
    _module("cupyx.scipy.sparse", issparse=lambda each: False)
    _testing()


def _array_module(*arrays: Any) -> ModuleType:
    return sys.modules["cupy"] if any(isinstance(each, xp.Array) for each in arrays) else np


_install()
