"""Lattices in checkpoints: their fields, state and steps, on any kind of device, in any cut."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from gridlane.actors.checkpoint.snapshot import SavedArray
from gridlane.actors.errors import CheckpointError
from gridlane.actors.lattices.lattice import Lattice
from gridlane.actors.lattices.ref import LatticeRef
from gridlane.actors.values.states import State
from gridlane.cuda.arrays.devicearray import DeviceNDArray

Number = tuple[str, Any]
"""The type of a number, ``int``, ``float``, ``bool`` or numpy's, and its value."""
_KINDS: dict[str, Any] = {"int": int, "float": float, "bool": bool}


@dataclass(frozen=True, slots=True)
class SavedLattice:
    """A lattice.

    Attributes:
        handler: the name of its function.
        fields: names and types; ``values`` has their bytes.
        state: the type_id of its class, 0 for none; ``now`` has the bytes.
        neighbours, halo: of the decorator.
        shape, periodic, boundary: of the launch.
        args: numbers and arrays for the function.
        posted: messages so far; all are handled.
        epoch: how often its blocks have been launched.
    """

    name: str
    number: int
    handler: str
    fields: tuple[tuple[str, str], ...]
    values: tuple[bytes, ...]
    state: int
    now: bytes
    neighbours: int
    halo: int
    shape: tuple[int, ...]
    periodic: tuple[bool, ...]
    boundary: str
    args: tuple[SavedArray | Number, ...]
    steps: int
    posted: int
    epoch: int
    lifecycle: str


def take_lattice(
    ref: LatticeRef, array_of: Callable[[DeviceNDArray], SavedArray], state: int
) -> SavedLattice:
    """A lattice that is held, after all steps and messages so far."""
    lattice, space = ref.lattice, ref.space
    fields, now = ref.settled()
    return SavedLattice(
        name=ref.name,
        number=ref.id,
        handler=lattice.name,
        fields=tuple([(name, str(kind)) for name, kind in lattice.fields]),
        values=tuple([fields[name].tobytes() for name, _ in lattice.fields]),
        state=state,
        now=now,
        neighbours=lattice.neighbours,
        halo=lattice.halo,
        shape=ref.shape,
        periodic=space.periodic[3 - lattice.axes :],
        boundary="fixed" if any(space.fixed) else "zero",
        args=tuple(
            [array_of(a) if isinstance(a, DeviceNDArray) else _number(a) for a in ref.arguments]
        ),
        steps=ref.steps,
        posted=ref.posted,
        epoch=ref.epoch,
        lifecycle=ref.state.name,
    )


def _number(value: Any) -> Number:
    if type(value) in _KINDS.values():
        return type(value).__name__, value
    return value.dtype.str, value.item()


def number_of(saved: Number) -> Any:
    """The number to save; TypeError or ValueError where it is none."""
    kind, value = saved
    if not isinstance(value, (bool, int, float)):
        raise TypeError(f"{value!r} is no number")
    return _KINDS[kind](value) if kind in _KINDS else np.dtype(kind).type(value)


class GivenLattices:
    """The lattices of a caller, compared with those of a checkpoint.

    Raises:
        CheckpointError: one is missing, or differs.
        TypeError: one is no lattice.
    """

    def __init__(self, saved: Iterable[SavedLattice], given: Iterable[Lattice]) -> None:
        self._given: dict[str, Lattice] = {}
        for each in given:
            if not isinstance(each, Lattice):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"{each!r:.60} is no lattice: decorate it by @actors.lattice")
            if each.name in self._given:
                raise CheckpointError(f"two lattices of the name {each.name} are given")
            self._given[each.name] = each
        for each in saved:
            self._verify(each)

    def of(self, saved: SavedLattice) -> Lattice:
        """The lattice of which a saved one was launched."""
        return self._given[saved.handler]

    def _verify(self, saved: SavedLattice) -> None:
        lattice = self._given.get(saved.handler)
        if lattice is None:
            raise CheckpointError(
                f"the checkpoint has the lattice {saved.name}, whose function is {saved.handler}: "
                "give it in lattices="
            )
        for what, there, here in (
            ("fields", saved.fields, tuple([(name, str(kind)) for name, kind in lattice.fields])),
            ("class of the state", saved.state, lattice.state.number if lattice.state else 0),
            ("neighbours", saved.neighbours, lattice.neighbours),
            ("halo", saved.halo, lattice.halo),
            ("number of arguments", len(saved.args), lattice.arguments),
        ):
            if there != here:
                raise CheckpointError(
                    f"the {what} of {saved.name} is {there} in the checkpoint, and {here} in the "
                    "lattice that is given"
                )
        cells = prod(saved.shape)
        for (name, kind), data in zip(lattice.fields, saved.values, strict=True):
            if len(data) != cells * kind.numpy.itemsize:
                raise CheckpointError(f"the field {name} of {saved.name} has another size")


def put_lattice(ref: LatticeRef, saved: SavedLattice) -> None:
    """Restore a saved lattice to a new one."""
    kinds = dict(ref.lattice.fields)
    values = {
        name: np.frombuffer(data, kinds[name].numpy).reshape(saved.shape)
        for (name, _), data in zip(saved.fields, saved.values, strict=True)
    }
    ref.adopt(values, saved.now, saved.steps, saved.posted, saved.epoch, State[saved.lifecycle])
