"""``numba.misc.special``: what kernels use of it."""

from __future__ import annotations

from typing import Any

from gridlane.cuda.names import missing
from gridlane.frontends.python.stubs import literal_unroll


def literally(obj: Any) -> Any:
    """The object, on the host. A kernel refuses the call: arguments have no literal types."""
    return obj


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise missing(name, "numba.misc.special")


__all__ = ["literal_unroll", "literally"]
