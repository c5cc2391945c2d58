"""The passes of each target, in order."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass

from gridlane.core.config import config
from gridlane.core.dtypes import bf16, f32, f64
from gridlane.core.errors import TargetError
from gridlane.core.options import KernelOptions
from gridlane.ir.stages import MATRIX, STAGES
from gridlane.ir.values import Module
from gridlane.passes.branch_out_of_scopes import branch_out_of_scopes
from gridlane.passes.coarsen import coarsen_blocks
from gridlane.passes.copy_at_once import copy_at_once
from gridlane.passes.inline import inline_calls, inline_others
from gridlane.passes.join_loads import join_loads
from gridlane.passes.narrow import narrow_integers
from gridlane.passes.promote import promote_variables
from gridlane.passes.reciprocal_roots import reciprocal_roots
from gridlane.passes.unroll import wish_unrolling

Pass = Callable[[Module], None]


@dataclass(frozen=True, slots=True)
class Asked:
    """A pass that does what the user's options ask for, and says what the user should know."""

    run: Callable[[Module, KernelOptions], tuple[str, ...]]


def _without_libdevice(module: Module) -> None:
    """Give NVIDIA GPUs our functions in the place of libdevice's."""
    # Most processes need none of them, and loading them takes some milliseconds.
    from gridlane.passes.legalize_math import NVPTX, legalize_math

    legalize_math(module, NVPTX)


def _without_libmvec(module: Module) -> None:
    """Give CPUs our functions, which run on whole vectors, in the place of libm's."""
    from gridlane.passes.legalize_math import CPU, legalize_math

    legalize_math(module, CPU)


def _own_functions(module: Module) -> None:
    """Give shaders our functions: those of their languages are far off, and differ."""
    from gridlane.passes.legalize_math import NOTHING, legalize_math

    legalize_math(module, NOTHING)


def _with_exact_sums(module: Module) -> None:
    """Write f64's fused multiply-add in integers."""
    from gridlane.passes.fuse_exactly import fuse_exactly

    fuse_exactly(module, f64)


def _with_exact_sums_of_f32(module: Module) -> None:
    """Write f32's fused multiply-add in integers."""
    from gridlane.passes.fuse_exactly import fuse_exactly

    fuse_exactly(module, f32)


def _with_exact_sums_of_bf16(module: Module) -> None:
    """Write bf16's fused multiply-add in f32 and integers."""
    from gridlane.passes.fuse_exactly import fuse_exactly

    fuse_exactly(module, bf16)


def _without_warps(module: Module) -> None:
    """Let threads of a block do together what those of a warp do."""
    from gridlane.passes.warps_by_blocks import warps_by_blocks

    warps_by_blocks(module)


def _without_lone_barriers(module: Module) -> None:
    """Let all threads of a block come to its barriers, on devices with warps."""
    from gridlane.passes.warps_by_blocks import barriers_by_blocks

    barriers_by_blocks(module)


# What shaders need is loaded for them alone, as is what NVIDIA GPUs need at times.


def _round_right(module: Module) -> None:
    from gridlane.passes.round_right import round_right

    round_right(module)


def _index_words(module: Module) -> None:
    from gridlane.passes.index_words import index_words

    index_words(module)


def _settle_spaces(module: Module) -> None:
    from gridlane.passes.settle_spaces import settle_spaces

    settle_spaces(module)


def _split_aggregates(module: Module) -> None:
    from gridlane.passes.split_aggregates import split_aggregates

    split_aggregates(module)


def _legalize_fp64(module: Module, options: KernelOptions) -> tuple[str, ...]:
    from gridlane.passes.legalize_fp64 import legalize_fp64

    return legalize_fp64(module, options.fp64)


def _halve_atomics(module: Module) -> None:
    from gridlane.passes.halve_atomics import halve_atomics

    halve_atomics(module)


def _legalize_int64(module: Module) -> None:
    from gridlane.passes.legalize_int64 import legalize_int64

    legalize_int64(module)


def _legalize_small(module: Module) -> None:
    from gridlane.passes.legalize_small import legalize_small

    legalize_small(module)


def _legalize_atomics(module: Module) -> None:
    from gridlane.passes.legalize_atomics import legalize_atomics

    legalize_atomics(module)


def _watch_loops(module: Module) -> None:
    from gridlane.passes.watch_loops import watch_loops

    watch_loops(module)


FP64 = Asked(_legalize_fp64)

WORDS: tuple[Pass | Asked, ...] = (
    inline_calls,
    copy_at_once,
    promote_variables,
    # Most of the wide integers are indices: what this makes narrow need not be done in pairs.
    _index_words,
    # Scalars alone, each pointer with its memory: what the others rewrite.
    _split_aggregates,
    _settle_spaces,
    # What f64 becomes is of u64 and f32; its functions are written in binary64 before that.
    FP64,
    _with_exact_sums_of_f32,
    _own_functions,
    # Words before bytes: an address is a pair of words when an element is looked for in one.
    _halve_atomics,
    _legalize_int64,
    _legalize_small,
    _legalize_atomics,
    # Library functions stay: written once, each is a text that the next kernel finds made.
    inline_others,
    promote_variables,
    # Threads that meet in a block last: lanes tell each other words alone.
    _without_warps,
    promote_variables,
)
"""For languages of 32-bit scalars whose memory is an array of words."""

# Behind inlining, as library functions stay; f64's functions come later, and do with rough ones.
ROUGH_WORDS = (inline_calls, _round_right, *WORDS[1:])

PIPELINES: dict[str, tuple[Pass | Asked, ...]] = {
    # The vectoriser works on one function; forwarding comes after inlining, which makes variables.
    "cpu": (inline_calls, copy_at_once, promote_variables),
    # What legalize_math writes are functions, so it comes before the others inline calls.
    "cuda without libdevice": (_without_libdevice,),
    # Likewise. Code for machines that fuse: the functions of f64 count on it.
    "cpu without libmvec": (_without_libmvec,),
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
    # Behind that, where threads that wait at a barrier wait for all of the block.
    "vulkan meeting": (_without_lone_barriers, promote_variables),
    # Behind one of the two above.
    "vulkan any": (reciprocal_roots,),
    "vulkan compact": (reciprocal_roots, narrow_integers),
    "vulkan coarse": (reciprocal_roots, narrow_integers, coarsen_blocks),
    # Behind one of those, where threads are lanes of the processor's vectors.
    "vulkan quads": (join_loads,),
    # Behind all others of a target, for devices that end loops.
    "short loops": (_watch_loops, promote_variables),
    # Behind that, for languages whose compilers take long for blocks that are left.
    "plain branches": (branch_out_of_scopes,),
    "interp": (),
    "metal": (
        inline_calls,
        copy_at_once,
        promote_variables,
        _split_aggregates,
        _settle_spaces,
        FP64,
        _with_exact_sums_of_bf16,
        _own_functions,
        _halve_atomics,
        inline_others,
        promote_variables,
        _without_lone_barriers,
        promote_variables,
    ),
    "opengl": WORDS,
    "webgpu": WORDS,
    # For devices whose quotients and roots may be some ulp off.
    "opengl rough": ROUGH_WORDS,
    "webgpu rough": ROUGH_WORDS,
}


LACKS: dict[str, str] = {
    "grid_sync": "its blocks need not all run at the same time; split the kernel where the grid "
    "synchronises, and launch the parts one after the other",
    "report": "threads that raise end there",
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


SAME_LAW = {
    "cuda compact": "cuda",
    "cuda coarse": "cuda",
    "opengl rough": "opengl",
    "webgpu rough": "webgpu",
}
"""Pipelines by the target whose ops are legal behind them."""


def run(
    module: Module,
    target: str,
    options: KernelOptions = KernelOptions(),  # noqa: B008  # frozen
) -> tuple[str, ...]:
    """Run a target's passes; with GRIDLANE_VERIFY=1 the IR is verified after each.

    Returns:
        Notes for the user on what is done in another way than written.

    Raises:
        TargetError: an op that the target lacks is left.
    """
    # Before passes meet what no pass can make legal.
    _require_legal(module, target, LACKS)
    try:
        notes = _run(module, target, options)
    except TargetError as error:
        raise _named(error, target) from None
    _require_legal(module, target)
    return notes


def _run(module: Module, target: str, options: KernelOptions) -> tuple[str, ...]:
    check = config().verify
    notes: tuple[str, ...] = ()
    for pass_ in PIPELINES[target]:
        if isinstance(pass_, Asked):
            notes += pass_.run(module, options)
        else:
            pass_(module)
        if check:
            from gridlane.ir.verifier import verify

            verify(module)
    return notes


def _named(error: TargetError, target: str) -> TargetError:
    """An error of a pass, which says only "the target" at most, with the target's name."""
    message = error.message.replace("the target", f"the {_shown(target)} target")
    if _shown(target) not in message:
        message = f"{_shown(target)}: {message}"
    return TargetError(message, error.loc, error.related)


def _shown(target: str) -> str:
    """The target's name without what is special about a pipeline."""
    return target.partition(" ")[0]


def _require_legal(module: Module, target: str, only: Container[str] | None = None) -> None:
    """See that a target has the ops of a module; of those in ``only``, if that is given."""
    target = SAME_LAW.get(target, target)
    legal = STAGES.get(f"legal({target})")
    if legal is None:
        return
    ops = (op for function in module.functions.values() for op in function.body.walk())
    for op in ops:
        if op.name not in legal and (only is None or op.name in only):
            shown = _shown(target)
            reasons = LACKS | LACKS_ON.get(shown, {})
            why = f": {reasons[op.name]}" if op.name in reasons else ""
            raise TargetError(f"the {shown} target has no {op.name}{why}", op.loc)
