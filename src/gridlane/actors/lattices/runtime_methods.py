"""The methods of a runtime for lattices."""

from __future__ import annotations

import itertools
from typing import Any

from gridlane.actors.errors import ActorError
from gridlane.actors.lattices.lattice import Lattice
from gridlane.actors.lattices.launching import launch_lattice
from gridlane.actors.lattices.ref import LatticeRef, end_lattices
from gridlane.actors.local.home import Home
from gridlane.core.forks import fork_waits


class Lattices:
    """The part of ``Runtime`` that launches lattices of cells."""

    _home: Home

    def lattice(
        self,
        lattice: Lattice,
        shape: tuple[int, ...],
        *,
        name: str | None = None,
        periodic: bool | tuple[bool, ...] = False,
        boundary: str = "zero",
        args: tuple[Any, ...] = (),
        state: Any = None,
        mode: str = "auto",
        blocks: tuple[int, ...] | None = None,
    ) -> LatticeRef:
        """Launch a lattice of cells, whose fields are zeros; see docs/lattices.md.

        Args:
            shape: the cells along each of its axes.
            name: its name, which no actor has; the function's by default, with a number where there
                is one already.
            periodic: whether the last cell of an axis is a neighbour of the first; one for all
                axes, or one for each.
            boundary: what lies beyond the ends of other axes: ``"zero"``, cells of zeros, or
                ``"fixed"``: the outermost ``halo`` cells keep their values.
            args: numbers and arrays for the function, behind the fields.
            state: its first state, of zeros by default.
            mode: ``"resident"``, ``"launches"``, or the better of those that the device has.
            blocks: along each axis, for a resident lattice; the quickest cut by default.

        Raises:
            ValueError: a wrong shape, number or word.
            ArgumentError: wrong arguments of the function.
            LaunchError: the device cannot keep the lattice resident, with the numbers.
        """
        return self._launch_lattice(
            lattice, name, shape, periodic, boundary, args, state, mode, blocks
        )

    def _launch_lattice(
        self,
        lattice: Lattice,
        name: str | None,
        shape: tuple[int, ...],
        periodic: bool | tuple[bool, ...],
        boundary: str,
        args: tuple[Any, ...],
        state: Any,
        mode: str,
        blocks: tuple[int, ...] | None,
        keep: bool = False,
        number: int = 0,
    ) -> LatticeRef:
        home = self._home
        home.require_open()
        if not isinstance(lattice, Lattice):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                f"{lattice!r:.60} is no lattice: decorate its function by @actors.lattice"
            )
        with fork_waits(), home.directory.lock:
            name = self._free_name(lattice, name)
            number = number or home.numbers.take()
        lattice_ref = launch_lattice(
            lattice,
            home.device,
            name,
            shape,
            periodic,
            boundary,
            args,
            state,
            mode,
            blocks,
            number,
            home.supervisor.limit,
        )
        home.lattices.add(lattice_ref, keep)
        return lattice_ref

    def _free_name(self, lattice: Lattice, wanted: str | None) -> str:
        taken = {each.name for each in self._home.lattices.all()} | {*self._home.directory.by_name}
        if wanted is not None and wanted in taken:
            raise ActorError(f"there is an actor {wanted!r} already")
        names = (f"{lattice.name}{n}" for n in itertools.count(2))
        first = wanted or lattice.name
        return first if first not in taken else next(each for each in names if each not in taken)

    def _end_lattices(self) -> None:
        end_lattices(self._home.lattices)
