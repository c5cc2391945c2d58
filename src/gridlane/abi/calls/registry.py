"""The functions of CUDA that gridlane has, by their exported names.

A function takes one value for each parameter that the table does not list as given back: numbers
for integers, enumerators, handles and pointers, a ``Struct`` for a pointer to a structure (None for
a null one). It returns what is given back: a number, bytes, a ``Struct``, a ``Typed`` behind a
``void *``, or a tuple of these; or raises ``Failure`` or any error of gridlane's.

Arrays whose length the caller tells by a count that goes in and comes back ("&" in the table): the
call takes the room, the number of elements that the caller's array has; 0 asks for the number
alone. It returns a list of as many elements as there is room, null behind the last, and the number:
of all if there is no room, else of those in the list. An array that the library owns is a list too;
callers from C own its memory.

An older function that differs from a newer one of the same name is ``NAME@12``, as in the table.
What is given back of one that Python does not know is that of the newer one, as far as it has it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

from gridlane.core.cuda_table.functions import Api, functions

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
        "tensor_maps",
        "pointers",
        "ranges",
        "peers",
        "processes",
        "stream_memory",
        "graphs",
        "graph_nodes",
        "graph_memory",
        "graph_attributes",
        "executables",
        "captures",
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
        "processes",
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
        "graphs",
        "graph_memory",
        "runtime_graphs",
        "graph_attributes",
        "captures",
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
