"""``kernel.explain()``: what the compiler made of a tile program, by its lines."""

from __future__ import annotations

from gridlane.core.forks import fork_waits
from gridlane.cuda.kernels.explaining import explained as explained_kernel
from gridlane.cuda.kernels.explaining import target_of
from gridlane.launch import current
from gridlane.tiles.programs import Program
from gridlane.tiles.signatures import shown


def explained(program: Program) -> str:
    """The decisions about a program on the current device."""
    device = current.device()
    block = program.block(device)
    with fork_waits():
        module, options = program.kernel.module, program.kernel.options
        title = f"{program.name}({', '.join(shown(program))})"
        text = explained_kernel(title, block, module, target_of(device, block), options)
    if program.alone is not None:
        size = program.options.cluster
        text += f"\n\nlaunches whose grid along x is no multiple of {size} were without clusters"
    return text
