"""What a runtime does with lattices."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from gridlane.actors.lattices.lattice import Lattice
from gridlane.actors.lattices.launching import launch_lattice
from gridlane.actors.lattices.ref import LatticeRef, end_lattices

if TYPE_CHECKING:
    from gridlane.actors.home import Home


class Lattices:
    """The part of ``Runtime`` that launches lattices of cells."""

    _home: Home
    _lattices: list[weakref.ref[LatticeRef]]

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
            name: its name; the function's by default.
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
        self._home.require_open()
        made = launch_lattice(
            *(lattice, self._home.device, name, shape, periodic, boundary, args, state),
            *(mode, blocks),
        )
        self._lattices.append(weakref.ref(made))
        return made

    def _end_lattices(self) -> None:
        end_lattices(self._lattices)
