"""``numba.cuda.cudadrv``: a package of five modules."""

from __future__ import annotations

from typing import Any

from gridlane.cuda.host import errors as error
from gridlane.cuda.kernels import linkable as linkable_code
from gridlane.cuda.names import missing
from gridlane.cuda.numba_compat import api as devices
from gridlane.cuda.numba_compat import devicearray, driver


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise missing(name, "cuda.cudadrv")


__all__ = ["devicearray", "devices", "driver", "error", "linkable_code"]
