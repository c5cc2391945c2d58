"""The functions of CUDA that gridlane has, by their exported names.

A function takes one value for each parameter that the table does not list as given back: numbers
for integers, enumerators, handles and pointers, a ``Struct`` for a pointer to a structure (None for
a null one). It returns what is given back: a number, bytes, a ``Struct``, a ``Typed`` behind a
``void *``, or a tuple of these; or raises ``Failure`` or any error of gridlane's.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

from gridlane.abi.table.functions import Api, functions

Call = Callable[..., Any]
F = TypeVar("F", bound=Call)

_ROOMS: dict[Api, tuple[str, ...]] = {
    "driver": (
        "initialisation",
        "entry_points",
        "devices",
        "contexts",
        "profiler",
        "memory",
        "copies",
        "batches",
        "streams",
        "attributes",
        "events",
        "modules",
        "links",
        "libraries",
        "functions",
        "occupancy",
        "launches",
        "peer_boxes",
        "older",
        "old_launches",
        "pools",
        "arrays",
        "array_copies",
        "textures",
        "pointers",
        "ranges",
        "peers",
        "stream_memory",
    ),
    "runtime": (
        "runtime.initialisation",
        "entry_points",
        "runtime.devices",
        "runtime.contexts",
        "profiler",
        "runtime.memory",
        "runtime.copies",
        "batches",
        "runtime.boxes",
        "runtime.fills",
        "runtime.symbols",
        "runtime.streams",
        "attributes",
        "libraries",
        "functions",
        "occupancy",
        "pools",
        "arrays",
        "array_copies",
        "textures",
        "pointers",
        "ranges",
        "peers",
        "runtime.launches",
    ),
    "nvrtc": ("programs",),
}
"""The modules of this package with the functions of each library."""

_calls: dict[str, Call] = {}
_loaded: set[Api] = set()


def implements(*names: str) -> Callable[[F], F]:
    """Declare a function of CUDA's under its exported names."""

    def declare(function: F) -> F:
        for name in names:
            assert name not in _calls, f"{name} is there twice"
            _calls[name] = function
        return function

    return declare


def calls(api: Api) -> dict[str, Call]:
    """The functions of a library that gridlane has."""
    if api not in _loaded:
        for room in _ROOMS[api]:
            import_module(f"gridlane.abi.calls.{room}")
        _loaded.add(api)
    known = functions(api)
    return {name: call for name, call in _calls.items() if name in known}
