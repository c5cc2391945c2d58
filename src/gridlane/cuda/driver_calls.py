"""CUDA's driver interface alone, without the names of numba's module that ``cuda.driver`` has."""

from __future__ import annotations

from typing import Any

from gridlane.abi.python import names_of, resolve


def __getattr__(name: str) -> Any:
    """A function, class or number of CUDA's."""
    if name.startswith("__"):
        raise AttributeError(name)
    member = globals()[name] = resolve("driver", name)
    return member


def __dir__() -> list[str]:
    """The names of this interface."""
    return sorted(names_of("driver"))
