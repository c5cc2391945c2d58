"""``@actors.lattice``: the function of a cell, the fields of the lattice, its messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gridlane.actors.lattices.reads import Reads, has_neighbours, reads_of
from gridlane.actors.values.actor import annotation_of, place_of, shape_at
from gridlane.actors.values.messages import Shape
from gridlane.core.argtypes import ScalarType
from gridlane.core.errors import TypingError
from gridlane.core.signatures import signature_of
from gridlane.core.source import Loc
from gridlane.frontends.python.device_function import DeviceFunction, device_function_of

AXES = {4: 2, 8: 2, 6: 3, 26: 3}
"""The axes of a lattice by the neighbours of a block."""
MOST_HALO = 8
_TYPES = (
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
)


@dataclass(frozen=True, slots=True, eq=False)
class Lattice:
    """A function of cells that can be launched as a lattice of blocks.

    Attributes:
        cell: ``(ctx, fields…, args…)`` in the dialect, with the state behind ``ctx`` if there is
            one. It returns a cell's new values in the order of the fields.
        fields: names and types.
        state: the class of the state that all blocks share; None for none.
        neighbours: of a block, 4 or 8 in two dimensions, 6 or 26 in three.
        halo: the distance in cells that the function reads.
        reads: the offsets that it reads.
        handlers: of messages, by their class.
    """

    cell: DeviceFunction
    fields: tuple[tuple[str, ScalarType], ...]
    state: Shape | None
    neighbours: int
    halo: int
    reads: Reads
    handlers: dict[type, DeviceFunction] = field(default_factory=dict[type, DeviceFunction])

    @property
    def name(self) -> str:
        """The function's name."""
        return self.cell.__name__

    @property
    def axes(self) -> int:
        """Two or three."""
        return AXES[self.neighbours]

    @property
    def corners(self) -> bool:
        """Whether halos have the cells of edges and corners."""
        return self.neighbours in (8, 26)

    @property
    def place(self) -> Loc:
        """The location of the function."""
        return place_of(self.cell.py_func)

    @property
    def arguments(self) -> int:
        """The number of arguments of a launch."""
        names = signature_of(self.cell.py_func).parameters
        return len(names) - len(self.fields) - 1 - (self.state is not None)

    def has_halo(self, name: str) -> bool:
        """Whether a field is read at other cells."""
        return has_neighbours(self.reads.offsets[name])

    def __call__(self, *args: Any) -> Any:
        raise TypeError(f"{self.name} is a lattice; launch it by Runtime.lattice({self.name}, …)")

    def on(self, function: Callable[..., Any]) -> DeviceFunction:
        """Make a function the handler of a class of messages: ``(ctx, state, message: Class)``. It
        changes the state between two steps.

        Raises:
            TypingError: the lattice has no state, or a parameter is missing; with the line.
        """
        known = device_function_of(function)
        handler = known or DeviceFunction(function)
        place = place_of(handler.py_func)
        parameters = list(signature_of(handler.py_func).parameters.values())
        if self.state is None:
            raise TypingError(
                f"{self.name} has no state that messages can change: write "
                "@actors.lattice(state=Class, …)",
                place,
            )
        if len(parameters) != 3:
            raise TypingError(f"{handler.__name__} takes (ctx, state, message: Class)", place)
        cls = annotation_of(handler.py_func, parameters[2])
        if cls is None:
            raise TypingError(f"annotate {parameters[2].name} with the class of messages", place)
        shape_at(cls, "message", place)
        self.handlers[cls] = handler
        return handler


def lattice(
    *,
    fields: Mapping[str, ScalarType],
    neighbours: int,
    halo: int = 1,
    state: type | None = None,
    fma: bool = False,
) -> Callable[[Any], Lattice]:
    """Make a function of one cell a lattice.

    The function is ``(ctx, fields…, args…)``, with the state behind ``ctx`` where there is one.
    ``u[0, 0, 0]`` is the cell's own value of the field ``u``, ``u[0, 0, -1]`` that of the cell
    before it on the last axis. It returns the cell's new value of each field, in the order of
    ``fields``. All cells take the step at once. ``ctx.z``, ``ctx.y``, ``ctx.x`` and ``ctx.step``
    say which cell and which step it is.

    Python's floats are float32 in it, unless a field is float64.

    Args:
        fields: the types of a cell's values by their names, such as ``{"u": float32}``.
        neighbours: of a block that exchange halos with it: 4 or 8 in two dimensions, 6 or 26 in
            three. With 4 or 6, a function reads along the axes alone.
        halo: the largest offset that it reads, 8 at most.
        state: a class of ``@actors.state`` that all cells read, and that messages change.
        fma: contract ``a * b + c`` to one rounding. Without, all devices give the same bits.

    Raises:
        TypingError: a parameter is missing, or an offset is not allowed, with the line.
        ValueError: a wrong number.

    >>> from gridlane import actors
    >>> from gridlane.cuda import float32
    >>> @actors.lattice(fields={"t": float32}, neighbours=4)
    ... def heat(ctx, t, c):
    ...     around = t[0, 1] + t[0, -1] + t[1, 0] + t[-1, 0]
    ...     return t[0, 0] + c * (around - 4 * t[0, 0])
    >>> heat.axes, sorted(heat.reads.offsets["t"])
    (2, [(-1, 0), (0, -1), (0, 0), (0, 1), (1, 0)])
    """
    if neighbours not in AXES:
        raise ValueError(f"neighbours={neighbours!r} is not 4, 8, 6 or 26")
    if not isinstance(halo, int) or not 1 <= halo <= MOST_HALO:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"halo={halo!r} is not a number between 1 and {MOST_HALO}")
    if not fields:
        raise ValueError("a lattice has one field at least: fields={'u': float32}")
    for name, kind in fields.items():
        if not isinstance(kind, ScalarType) or str(kind) not in _TYPES:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"the field {name} is a {kind}, not one of {', '.join(_TYPES)}")

    def decorate(function: Any) -> Lattice:
        return _lattice(function, tuple(fields.items()), neighbours, halo, state, fma)

    return decorate


def _lattice(
    function: Any,
    fields: tuple[tuple[str, ScalarType], ...],
    neighbours: int,
    halo: int,
    state: type | None,
    fma: bool,
) -> Lattice:
    known = device_function_of(function)
    cell = known or DeviceFunction(function)
    place = place_of(cell.py_func)
    names = list(signature_of(cell.py_func).parameters)
    wanted = ["ctx", *(["state"] if state is not None else []), *[name for name, _ in fields]]
    given = names[len(wanted) - len(fields) : len(wanted)]
    if given != wanted[-len(fields) :]:
        raise TypingError(
            f"{cell.__name__} takes ({', '.join(wanted)}, …) and the arguments of a launch, not "
            f"({', '.join(names)})",
            place,
        )
    plain = [name for name, _ in fields]
    corners = neighbours in (8, 26)
    reads = reads_of(cell.py_func, tuple(plain), AXES[neighbours], halo, corners)
    kinds = dict(fields)
    kept = {name: of for name, of in reads.kept.items() if kinds[name] == kinds[of]}
    floats = "float64" if any(str(kind) == "float64" for _, kind in fields) else "float32"
    options = replace(cell.options, fma=fma, floats=floats)
    return Lattice(
        DeviceFunction(cell.py_func, options, cell.signatures, floats),
        fields,
        None if state is None else shape_at(state, "state", place),
        neighbours,
        halo,
        replace(reads, kept=kept),
    )
