"""A step of a lattice as one launch, one thread for each cell; for all devices."""

from __future__ import annotations

from typing import Any

from gridlane import cuda
from gridlane.actors.lattices.cells import Context2, Context3, cells_class
from gridlane.actors.lattices.compiled import Compiled
from gridlane.actors.lattices.lattice import Lattice
from gridlane.actors.lattices.space import Space
from gridlane.core.generated_text import indented

THREADS = 256


class Stepping:
    """The kernel of a step and its launch.

    Args:
        lattice: that it steps.
        space: its cells.
        device: on which it runs.
    """

    def __init__(self, lattice: Lattice, space: Space, device: Any) -> None:
        x = min(THREADS // 2, -(-space.extents[2] // 32) * 32)
        y = max(1, THREADS // x)
        self.block = x, y, 1
        nz, ny, nx = space.extents
        self.grid = -(-nx // x), -(-ny // y), nz
        around = {
            "cuda": cuda,
            "cell": lattice.cell,
            "Cells": cells_class(lattice.axes, *space.steps[:2], lattice.halo),
            "Context": Context2 if lattice.axes == 2 else Context3,
        }
        text = step_text(lattice, space, self.block)
        self._kernel = Compiled(text, "lattice_step", around, lattice, device, self.block)

    def raises(
        self, buffers: list[tuple[Any, Any]], state: tuple[Any, ...], args: tuple[Any, ...]
    ) -> bool:
        """Whether a cell's function may raise an error.

        Raises:
            CompileError: the function is outside the dialect, with the line.
        """
        given = (*[each for pair in buffers for each in pair], *state, 0, args)
        return bool(self._kernel.kernel(given).module.errors)

    def launch(
        self, buffers: list[tuple[Any, Any]], state: tuple[Any, ...], step: int, args: Any
    ) -> None:
        """Launch a step on the current device.

        Args:
            buffers: of each field, the one that is read and the one that is written.
            state: the state's memory, if there is one.
        """
        flat = [each for pair in buffers for each in pair]
        self._kernel.launch(self.grid, (*flat, *state, step, args))


def step_text(lattice: Lattice, space: Space, block: tuple[int, int, int]) -> str:
    """The kernel: (old and new of each field, state, step, args)."""
    names = [name for name, _ in lattice.fields]
    given = [f"{side}_{name}" for name in names for side in ("old", "new")]
    state = ["state"] if lattice.state is not None else []
    (_, ny, nx), (plane, row, _) = space.extents, space.steps
    pz, py, px = space.pads
    inside = [f"x < {nx}", f"y < {ny}"]
    for axis, extent, fixed in zip("zyx", space.extents, space.fixed, strict=True):
        if fixed:
            inside.append(f"{space.halo} <= {axis} < {extent - space.halo}")
    body = [
        f"corner = z * {plane} + y * {row} + x",
        f"base = corner + {pz * plane + py * row + px}",
        *cell_call(lattice, ["old_" + name for name in names]),
    ]
    for name in names:
        if name not in lattice.reads.kept:
            body.append(f"new_{name}[cuda.uint32(base)] = n_{name}")
            if lattice.has_halo(name):
                body += copies_of(space, name)
    lines = [
        f"def lattice_step({', '.join([*given, *state, 'step', 'args'])}):",
        f"    x = cuda.blockIdx.x * {block[0]} + cuda.threadIdx.x",
        f"    y = cuda.blockIdx.y * {block[1]} + cuda.threadIdx.y",
        "    z = cuda.blockIdx.z",
        f"    if {' and '.join(inside)}:",
        *indented(body, 2),
    ]
    return "\n".join(lines) + "\n"


def cell_call(lattice: Lattice, arrays: list[str], mark: str = "") -> list[str]:
    """Lines that compute ``n_NAME`` of each field, at ``base``, of cell (z, y, x)."""
    place = "y, x, step" if lattice.axes == 2 else "z, y, x, step"
    given = [f"Context({place})", *(["state[0]"] if lattice.state is not None else [])]
    given += [f"Cells({array}, corner{mark})" for array in arrays]
    targets = ", ".join(f"n_{name}{mark}" for name, _ in lattice.fields)
    return [f"{targets} = cell({', '.join(given)}, *args)"]


def copies_of(space: Space, name: str) -> list[str]:
    """Write a new value to the padding at the other ends of periodic axes."""
    lines: list[str] = []
    known: list[str] = []
    for axis in range(3):
        if not space.periodic[axis]:
            continue
        letter, extent, pad = "zyx"[axis], space.extents[axis], space.pads[axis]
        far = extent * space.steps[axis]
        by = f"by_{letter}"
        lines.append(
            f"{by} = {far} if {letter} < {pad} else (-{far} if {letter} >= {extent - pad} else 0)"
        )
        lines.append(f"if {by} != 0:")
        lines.append(f"    new_{name}[cuda.uint32(base + {by})] = n_{name}")
        for others in _sums(known) if space.corners else []:
            there = " and ".join(f"{other} != 0" for other in others)
            far_there = " + ".join([by, *others])
            lines.append(f"    if {there}:")
            lines.append(f"        new_{name}[cuda.uint32(base + {far_there})] = n_{name}")
        known.append(by)
    return lines


def _sums(known: list[str]) -> list[list[str]]:
    """All non-empty subsets."""
    masks = range(1, 1 << len(known))
    return [[each for n, each in enumerate(known) if mask >> n & 1] for mask in masks]
