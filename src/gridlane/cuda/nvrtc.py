"""NVRTC, CUDA's run-time compiler, in gridlane.

The calling convention is that of ``cuda.bindings.nvrtc``: a function returns a tuple: its error,
then its results, or None for each after an error.
"""

from __future__ import annotations

from typing import Any

from gridlane.abi.python import names_of, resolve


def __getattr__(name: str) -> Any:
    """A function, class or number of CUDA's."""
    if name.startswith("__"):
        raise AttributeError(name)
    attribute = globals()[name] = resolve("nvrtc", name)
    return attribute


def __dir__() -> list[str]:
    """The names of this interface."""
    return sorted(names_of("nvrtc"))
