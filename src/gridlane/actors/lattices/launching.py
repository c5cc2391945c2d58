"""The launch of a lattice: what it is given is verified, and its mode is chosen."""

from __future__ import annotations

from typing import Any

from gridlane.actors.lattices.lattice import Lattice
from gridlane.actors.lattices.ref import LatticeRef
from gridlane.actors.lattices.space import space_of
from gridlane.core.errors import ArgumentError, LaunchError

MODES = ("auto", "resident", "launches")


def launch_lattice(
    lattice: Lattice,
    device: Any,
    name: str | None,
    shape: tuple[int, ...],
    periodic: bool | tuple[bool, ...],
    boundary: str,
    args: tuple[Any, ...],
    state: Any,
    mode: str,
) -> LatticeRef:
    """Launch a lattice on a device; ``Runtime.lattice`` has the arguments."""
    if not isinstance(lattice, Lattice):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"{lattice!r:.60} is no lattice: decorate its function by @actors.lattice")
    if mode not in MODES:
        raise ValueError(f"mode={mode!r} is one of {', '.join(MODES)}")
    if len(args) != lattice.arguments:
        raise ArgumentError(
            f"{lattice.name} takes {lattice.arguments} arguments behind its fields, and the launch "
            f"gives {len(args)}"
        )
    space = space_of(lattice, tuple(shape), periodic, boundary)
    if mode == "resident":
        raise LaunchError(f"{device.name} has no resident lattices")
    made = LatticeRef(lattice, device, name or lattice.name, space, args)
    if state is not None:
        made.write_state(state)
    return made
