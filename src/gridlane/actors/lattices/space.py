"""The cells of a launched lattice in memory: extents, boundaries, padding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gridlane.actors.lattices.lattice import Lattice

Triple = tuple[int, int, int]
Flags = tuple[bool, bool, bool]


@dataclass(frozen=True, slots=True)
class Space:
    """The cells of a lattice. Two axes are the last two of three.

    A field in memory has ``halo`` cells more at both ends of each axis. They hold copies of the
    other end where the axis is periodic, and zeros elsewhere.

    Attributes:
        extents: cells along each axis.
        pads: cells of padding at each end of each axis.
        periodic: whether the last cell of an axis is a neighbour of the first.
        fixed: whether the outermost ``halo`` cells of an axis keep their values.
        halo: the largest offset.
        corners: whether cells in corners are read.
    """

    extents: Triple
    pads: Triple
    periodic: Flags
    fixed: Flags
    halo: int
    corners: bool

    @property
    def padded(self) -> Triple:
        """Extents with the padding."""
        z, y, x = (n + 2 * pad for n, pad in zip(self.extents, self.pads, strict=True))
        return z, y, x

    @property
    def steps(self) -> Triple:
        """Words between neighbours along each axis in memory."""
        _, y, x = self.padded
        return y * x, x, 1

    @property
    def size(self) -> int:
        """Words of a field in memory."""
        z, y, x = self.padded
        return z * y * x

    def margins(self, blocks: Triple) -> Triple:
        """Cells at each end of a tile's axes that are not inner ones: neighbours need them, or they
        may be fixed."""
        rows = zip(self.pads, self.periodic, self.fixed, blocks, strict=True)
        z, y, x = (pad if around or fixed or b > 1 else 0 for pad, around, fixed, b in rows)
        return z, y, x

    @property
    def inside(self) -> tuple[slice, slice, slice]:
        """The cells, in an array with padding."""
        z, y, x = (slice(p, p + n) for p, n in zip(self.pads, self.extents, strict=True))
        return z, y, x

    def with_padding(self, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """An array of the extents with the values of its padding."""
        padded = values
        for axis in range(3):
            width = [(0, 0)] * 3
            width[axis] = (self.pads[axis], self.pads[axis])
            padded = np.pad(padded, width, mode="wrap" if self.periodic[axis] else "constant")
        return np.ascontiguousarray(padded)

    def is_fixed(self) -> np.ndarray[Any, Any]:
        """Of each cell, whether it keeps its value: bools of the extents."""
        array = np.zeros(self.extents, bool)
        for axis, fixed in enumerate(self.fixed):
            if fixed:
                ends = np.moveaxis(array, axis, 0)
                ends[: self.halo] = True
                ends[-self.halo :] = True
        return array


def space_of(
    lattice: Lattice, shape: tuple[int, ...], periodic: bool | tuple[bool, ...], boundary: str
) -> Space:
    """The space of a launch.

    Raises:
        ValueError: a wrong number of axes, an axis that is too short, or an unknown word.
    """
    axes, halo = lattice.axes, lattice.halo
    if len(shape) != axes:
        raise ValueError(
            f"{lattice.name} has {lattice.neighbours} neighbours, so {axes} axes; shape={shape}"
        )
    given = (periodic,) * axes if isinstance(periodic, bool) else tuple(periodic)
    if len(given) != axes:
        raise ValueError(f"periodic={periodic!r} is a bool, or one for each of {axes} axes")
    if boundary not in ("zero", "fixed"):
        raise ValueError(f"boundary={boundary!r} is 'zero' or 'fixed'")
    for axis, (extent, around) in enumerate(zip(shape, given, strict=True)):
        least = 2 * halo if around else 1
        if not isinstance(extent, int) or extent < least:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(
                f"axis {axis} has {extent} cells; with halo={halo} and periodic={around} it has "
                f"{least} at least"
            )
    flat = axes == 2
    extents = (1, *shape) if flat else shape
    pads = (0 if flat else halo, halo, halo)
    around = (False, *given) if flat else given
    fixed = [boundary == "fixed" and not each for each in around]
    if flat:
        fixed[0] = False
    z, y, x = extents
    return Space(
        (z, y, x),
        pads,
        (around[0], around[1], around[2]),
        (fixed[0], fixed[1], fixed[2]),
        halo,
        lattice.corners,
    )
