"""The launch of a lattice: verifies its arguments, and chooses its mode."""

from __future__ import annotations

from typing import Any

from gridlane.actors.device.using import using
from gridlane.actors.lattices.lattice import Lattice
from gridlane.actors.lattices.ref import LatticeRef
from gridlane.actors.lattices.resident import Resident
from gridlane.actors.lattices.space import Space, Triple, space_of
from gridlane.core.errors import ArgumentError, LaunchError
from gridlane.launch.grid_parts import holds_whole_grids

MODES = ("auto", "resident", "launches")


def launch_lattice(
    lattice: Lattice,
    device: Any,
    name: str,
    shape: tuple[int, ...],
    periodic: bool | tuple[bool, ...],
    boundary: str,
    args: tuple[Any, ...],
    state: Any,
    mode: str,
    blocks: tuple[int, ...] | None,
    number: int,
    watchdog: float | None,
) -> LatticeRef:
    """Launch a lattice on a device.

    Args:
        name: its name.
        shape: the cells along each of its axes.
        periodic: whether the last cell of an axis is a neighbour of the first; one for all axes, or
            one for each.
        boundary: what lies beyond the ends of other axes: ``"zero"``, cells of zeros, or
            ``"fixed"``: the outermost ``halo`` cells keep their values.
        args: numbers and arrays for the function, behind the fields.
        state: its first state, of zeros by default.
        mode: ``"resident"``, ``"launches"``, or the better of those that the device has.
        blocks: along each axis, for a resident lattice; the quickest cut by default.
        number: among the actors of its runtime.
        watchdog: seconds that a step may take; None for any time.
    """
    if mode not in MODES:
        raise ValueError(f"mode={mode!r} is one of {', '.join(MODES)}")
    if len(args) != lattice.arguments:
        raise ArgumentError(
            f"{lattice.name} takes {lattice.arguments} arguments behind its fields, and the launch "
            f"gives {len(args)}"
        )
    space = space_of(lattice, tuple(shape), periodic, boundary)
    resident = _resident(lattice, device, space, mode, blocks)
    lattice_ref = LatticeRef(lattice, device, name, space, args, resident, mode, number, watchdog)
    if state is not None:
        lattice_ref.write_state(state)
    return lattice_ref


def _resident(
    lattice: Lattice, device: Any, space: Space, mode: str, blocks: tuple[int, ...] | None
) -> Resident | None:
    """The resident blocks, where the device supports them and the mode wants them."""
    kind = device.name.partition(":")[0]
    if mode == "launches" or (mode == "auto" and kind != "cuda"):
        if blocks is not None:
            raise ValueError(f"blocks={blocks} is for mode='resident'; this one has no blocks")
        return None
    if not holds_whole_grids(device):
        raise LaunchError(
            f"the device {device.name} runs blocks one after the other, so that none waits for the "
            "halos of others: launch the lattice with mode='launches'"
        )
    with using(device):
        try:
            return Resident(lattice, space, device, _blocks(lattice, blocks))
        except LaunchError:
            if mode == "auto" and blocks is None:
                return None
            raise


def _blocks(lattice: Lattice, blocks: tuple[int, ...] | None) -> Triple | None:
    if blocks is None:
        return None
    if len(blocks) != lattice.axes or any(type(each) is not int or each < 1 for each in blocks):
        raise ValueError(f"blocks={blocks} is a number for each of {lattice.axes} axes")
    z, y, x = (1, *blocks) if lattice.axes == 2 else blocks
    return z, y, x
