"""The passes of each target, in order."""

from __future__ import annotations

from collections.abc import Callable

from gridlane.core.config import config
from gridlane.core.errors import TargetError
from gridlane.ir.stages import MATRIX, STAGES
from gridlane.ir.values import Module
from gridlane.passes.coarsen import coarsen_blocks
from gridlane.passes.copy_at_once import copy_at_once
from gridlane.passes.index_words import index_words
from gridlane.passes.inline import inline_calls
from gridlane.passes.narrow import narrow_integers
from gridlane.passes.promote import promote_variables
from gridlane.passes.reciprocal_roots import reciprocal_roots
from gridlane.passes.refuse_fused import refuse_fused
from gridlane.passes.unroll import wish_unrolling

Pass = Callable[[Module], None]


def _without_libdevice(module: Module) -> None:
    """Give NVIDIA GPUs our functions in the place of libdevice's."""
    # Most processes need none of them, and loading them takes some milliseconds.
    from gridlane.passes.legalize_math import NVPTX, legalize_math

    legalize_math(module, NVPTX)


def _own_functions(module: Module) -> None:
    """Give shaders our functions: those of their languages are far off, and differ."""
    from gridlane.passes.legalize_math import NOTHING, legalize_math

    legalize_math(module, NOTHING)


WORDS: tuple[Pass, ...] = (
    refuse_fused,
    _own_functions,
    inline_calls,
    copy_at_once,
    promote_variables,
    # The passes that write 64-bit and small integers in 32 bits come behind: most of the wide ones
    # are indices.
    index_words,
)
"""For languages whose memory is an array of words."""


def _with_exact_sums(module: Module) -> None:
    """Write f64's fused multiply-add in integers."""
    from gridlane.passes.fuse_exactly import fuse_exactly

    fuse_exactly(module)


def _without_warps(module: Module) -> None:
    """Let threads of a block do together what those of a warp do."""
    from gridlane.passes.warps_by_blocks import warps_by_blocks

    warps_by_blocks(module)


PIPELINES: dict[str, tuple[Pass, ...]] = {
    # The vectoriser works on one function; forwarding comes after inlining, which makes variables.
    "cpu": (inline_calls, copy_at_once, promote_variables),
    # What legalize_math writes are functions, so it comes before the others inline calls.
    "cuda without libdevice": (_without_libdevice,),
    "cuda before 8.0": (inline_calls, copy_at_once),
    "cuda": (inline_calls, promote_variables, wish_unrolling),
    # Narrowing sees values, not variables, once they are forwarded.
    "cuda compact": (inline_calls, promote_variables, narrow_integers, wish_unrolling),
    # Coarsening hides from the range analysis what a global index is, so it comes behind.
    "cuda coarse": (
        inline_calls,
        promote_variables,
        narrow_integers,
        coarsen_blocks,
        wish_unrolling,
    ),
    "vulkan functions": (_own_functions,),
    "vulkan without fma": (_with_exact_sums,),
    # Threads that meet in a block first: what becomes variables then is forwarded again.
    "vulkan": (inline_calls, copy_at_once, promote_variables, _without_warps, promote_variables),
    "vulkan with warps": (inline_calls, copy_at_once, promote_variables),
    # Behind one of the two above.
    "vulkan any": (reciprocal_roots,),
    "vulkan compact": (reciprocal_roots, narrow_integers),
    "vulkan coarse": (reciprocal_roots, narrow_integers, coarsen_blocks),
    "interp": (),
    "metal": (_own_functions, inline_calls, copy_at_once, promote_variables),
    "opengl": WORDS,
    "webgpu": WORDS,
}


LACKS: dict[str, str] = {
    "grid_sync": "its blocks need not all run at the same time; split the kernel where the grid "
    "synchronises, and launch the parts one after the other",
    **dict.fromkeys(MATRIX, "tensor cores are a GPU's; multiply the elements of arrays instead"),
}
"""Why a target lacks an op, and what to do."""

LACKS_ON: dict[str, dict[str, str]] = {
    "vulkan": {
        "grid_sync": "Vulkan promises no two blocks to run at a time; split the kernel where the "
        "grid synchronises, and launch the parts one after the other",
        **dict.fromkeys(MATRIX, "multiply the elements of arrays instead"),
    },
}
"""The same, where a target has reasons of its own."""


SAME_LAW = {"cuda compact": "cuda", "cuda coarse": "cuda"}
"""Pipelines by the target whose ops are legal behind them."""


def run(module: Module, target: str) -> None:
    """Run a target's passes; with GRIDLANE_VERIFY=1 the IR is verified after each.

    Raises:
        TargetError: an op that the target lacks is left.
    """
    check = config().verify
    for pass_ in PIPELINES[target]:
        pass_(module)
        if check:
            from gridlane.ir.verifier import verify

            verify(module)
    _require_legal(module, target)


def _require_legal(module: Module, target: str) -> None:
    target = SAME_LAW.get(target, target)
    legal = STAGES.get(f"legal({target})")
    if legal is None:
        return
    for op in module.kernel.body.walk():
        if op.name not in legal:
            shown = target.partition(" with ")[0]
            reasons = LACKS | LACKS_ON.get(shown, {})
            why = f": {reasons[op.name]}" if op.name in reasons else ""
            raise TargetError(f"the {shown} target has no {op.name}{why}", op.loc)
