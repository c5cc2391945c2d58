"""Packages of numba that only contain others: ``numba.core``, ``numba.np`` …"""

from __future__ import annotations

from typing import Any

from gridlane.cuda import types
from gridlane.cuda.host import settings as config
from gridlane.cuda.names import missing
from gridlane.cuda.numba_compat import errors, numpy_support


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise missing(name, "numba.core")


__all__ = ["config", "errors", "numpy_support", "types"]
