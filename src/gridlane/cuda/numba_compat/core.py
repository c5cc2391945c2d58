"""Packages of numba that only contain others: ``numba.core``, ``numba.np`` …"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from gridlane.cuda import types
from gridlane.cuda.host import settings as config
from gridlane.cuda.names import missing
from gridlane.cuda.numba_compat import errors, numpy_support

_EXTENDING = {
    "cgutils": "cgutils",
    "datamodel": "models",
    "extending": "",
    "imputils": "imputils",
    "models": "models",
}
"""The modules of ``cuda.extending`` by numba's names, loaded when they are used."""


def __getattr__(name: str) -> Any:
    if name in _EXTENDING:
        return import_module(f"gridlane.cuda.extending.{_EXTENDING[name]}".removesuffix("."))
    if name in ("special", "typing"):
        return import_module(f"gridlane.cuda.numba_compat.{name}")
    if name.startswith("__"):
        raise AttributeError(name)
    raise missing(name, "numba.core")


__all__ = ["config", "errors", "numpy_support", "types"]
