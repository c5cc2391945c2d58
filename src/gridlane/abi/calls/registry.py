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

The functions of one statement are no functions here: their row of the table has what they do, in
words (``rows.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TypeVar

from gridlane.abi.calls.rows import Call, call_of
from gridlane.core.cuda_table.functions import Api, functions

F = TypeVar("F", bound=Call)

ROOMS: dict[Api, tuple[str, ...]] = {
    "driver": (
        "initialisation", "entry_points", "devices", "contexts", "memory", "copies", "batches",
        "streams", "attributes", "events", "modules", "libraries", "functions",
        "occupancy", "launches", "older", "old_launches", "pools", "arrays", "array_copies",
        "textures", "tensor_maps", "pointers", "ranges", "peers", "processes", "stream_memory",
        "graphs", "graph_nodes", "graph_memory", "graph_attributes", "executables", "captures",
        "links",
    ),
    "runtime": (
        "runtime.initialisation", "entry_points", "runtime.devices", "runtime.contexts",
        "runtime.memory", "runtime.copies", "batches", "processes", "runtime.boxes",
        "runtime.fills", "runtime.symbols", "attributes", "libraries", "functions", "occupancy",
        "pools", "arrays", "array_copies", "textures", "pointers", "ranges", "peers", "graphs",
        "graph_nodes", "graph_memory", "runtime_graphs", "graph_attributes", "executables",
        "captures", "runtime.launches",
    ),
    "nvrtc": ("programs",),
}  # fmt: skip
"""The modules of this package with the functions of each library."""

written: dict[str, Call] = {}
_compiled: dict[str, Call] = {}
"""The functions of rows that were used."""


def implements(*names: str) -> Callable[[F], F]:
    """Declare a function of CUDA's under its exported names."""

    def declare(function: F) -> F:
        for name in names:
            assert name not in written, f"{name} is there twice"
            written[name] = function
        return function

    return declare


class _Calls(Mapping[str, Call]):
    """The functions of a library. Those that rows describe are compiled at their first use, and
    the modules with the others are imported in turn until one is found: most programs need few."""

    def __init__(self, api: Api) -> None:
        self._api: Api = api
        self._rows = functions(api)

    def __getitem__(self, name: str) -> Call:
        row = self._rows[name]
        if not row.does:
            return self._found(name)
        if name in _compiled:
            return _compiled[name]
        return _compiled.setdefault(name, call_of(name, row, _other))

    def _found(self, name: str) -> Call:
        for room in ROOMS[self._api]:
            if name in written:
                break
            _import(room)
        return written[name]

    def __iter__(self) -> Iterator[str]:
        for room in ROOMS[self._api]:
            _import(room)
        return (name for name, row in self._rows.items() if row.does or name in written)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _import(room: str) -> None:
    import_module(f"gridlane.abi.calls.{room}")


def _other(name: str) -> Call | None:
    """A function that the row of another one names."""
    return calls("runtime" if name.startswith("cuda") else "driver").get(name)


@cache
def calls(api: Api) -> Mapping[str, Call]:
    """The functions of a library that gridlane has."""
    return _Calls(api)
