"""The passes of each target, in order."""

from __future__ import annotations

from collections.abc import Callable

from gridlane.core.config import config
from gridlane.ir.values import Module
from gridlane.passes.coarsen import coarsen_blocks
from gridlane.passes.inline import inline_calls
from gridlane.passes.narrow import narrow_integers
from gridlane.passes.promote import promote_variables
from gridlane.passes.unroll import wish_unrolling

Pass = Callable[[Module], None]


def _without_libdevice(module: Module) -> None:
    """Give NVIDIA GPUs our functions in the place of libdevice's."""
    # Most processes need none of them, and loading them takes some milliseconds.
    from gridlane.passes.legalize_math import NVPTX, legalize_math

    legalize_math(module, NVPTX)


PIPELINES: dict[str, tuple[Pass, ...]] = {
    # The vectoriser works on one function; forwarding comes after inlining, which makes variables.
    "cpu": (inline_calls, promote_variables),
    # What legalize_math writes are functions, so it comes before the others inline calls.
    "cuda without libdevice": (_without_libdevice,),
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
    "interp": (),
}


def run(module: Module, target: str) -> None:
    """Run a target's passes; with GRIDLANE_VERIFY=1 the IR is verified after each."""
    check = config().verify
    for pass_ in PIPELINES[target]:
        pass_(module)
        if check:
            from gridlane.ir.verifier import verify

            verify(module)
