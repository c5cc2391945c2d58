"""The vulkan target: passes, SPIR-V."""

from __future__ import annotations

import sys

from gridlane.codegen.spirv import KernelCode, disassembled, emit_kernel
from gridlane.compiler.layout import lay_out
from gridlane.compiler.nesting import check_nesting
from gridlane.compiler.sites import error_sites, print_sites
from gridlane.core.artifact import Artifact
from gridlane.core.config import config
from gridlane.core.errors import TargetError
from gridlane.core.options import KernelOptions, Target
from gridlane.ir.values import Module
from gridlane.passes import pipelines

DEFAULT = frozenset(
    [
        "int64",
        "float64",
        "int16",
        "int8",
        "float16",
        "atomic64",
        "folds_zeros",
        "flushes32",
        "folds_halves",
        "mixes_bytes",
    ]
)
"""What is compiled for when nobody says: what lavapipe and the drivers of desktop GPUs have, and
their defects."""

OPTIONAL = frozenset(
    [
        "subgroup32",
        "float32_atomic_add",
        "fma",
        "denorm16",
        "denorm32",
        "denorm64",
        "software",
        "short_loops",
        "swaps_selects",
        "lone_barriers",
        "fences_wait",
    ]
)
"""What code makes use of where it is there.

``folds_zeros``, among those above, is a defect: the device's compiler takes x / 0 as undefined and
0 + x as x, and compares a widened i32 with a constant wrongly. Mesa's lavapipe does; it costs an
instruction for some operands to hide them from it.
``flushes32`` is one as well: subnormal f32 pass for 0 where they are compared and converted, though
not in sums and products, and where the compiler sees that a sign is changed; NVIDIA's driver does
that. ``folds_halves``: an f32 that was rounded to f16 and extended again is taken for the f32;
NVIDIA's compiler does that. ``mixes_bytes``: writing a byte of a local array may change the one
beside it, so they are held in words.
``subgroup32``: subgroups are 32 consecutive threads, all of them full. ``lone_barriers``: a barrier
does not wait for threads that have ended or went another way, as in CUDA. ``fma``: Fma of
GLSL.std.450 rounds once. ``software``: threads are lanes of the CPU's vectors, where coarse code is
slower. ``short_loops``: the device ends loops; see passes/watch_loops.py. ``swaps_selects``: its
compiler chooses wrongly between a bit select and what that is of; see codegen/joined_bits.py.
``fences_wait``: a memory barrier waits for the block, as if it were one of control; lavapipe's
does, and gives up threads that come to more of them than others do. What it is given instead is too
weak for other devices.
``denorm32`` and the like: subnormal numbers of that width are kept when told.
"""


def features_of(target: Target) -> frozenset[str]:
    """The features that a target names, words with spaces between.

    Raises:
        TargetError: a word that is none.
    """
    named = frozenset(target.features.split())
    unknown = sorted(named - DEFAULT - OPTIONAL)
    if unknown:
        known = " ".join(sorted(DEFAULT | OPTIONAL))
        raise TargetError(f"{unknown[0]!r} is no feature of Vulkan devices; there are {known}")
    return named or DEFAULT


def generate(module: Module, target: Target, options: KernelOptions) -> Artifact:
    """SPIR-V for any block shape. Changes the module."""
    slots, size = lay_out(module.kernel)
    own = len(module.errors)
    code = _emit(module, target, options)
    if "asm" in config().dump:
        print(disassembled(code.words), file=sys.stderr)
    return Artifact(
        target="vulkan",
        format="spirv",
        code=code.words,
        entry=code.entry,
        params=slots,
        param_bytes=size,
        static_shared=code.static_shared,
        errors=error_sites(module, own),
        prints=print_sites(code.prints),
        uses_dynamic_shared=code.uses_dynamic_shared,
        coarse=module.coarse,
    )


def text(module: Module, target: Target, options: KernelOptions, stage: str) -> str:
    """The instructions of the module. Changes the module.

    Raises:
        TargetError: another stage than ``asm`` is asked for.
    """
    if stage != "asm":
        raise TargetError(f"target vulkan has no stage {stage!r}; it has ir and asm")
    return disassembled(_emit(module, target, options).words)


def _of_variant(target: Target, options: KernelOptions, features: frozenset[str]) -> str:
    """A debugged program may step outside its arrays, which narrowed indices take for granted."""
    if not target.variant.compact or options.debug:
        return "vulkan any"
    coarse = target.variant.coarse and "software" not in features
    return "vulkan coarse" if coarse else "vulkan compact"


def _emit(module: Module, target: Target, options: KernelOptions) -> KernelCode:
    features = features_of(target)
    slots, _ = lay_out(module.kernel)
    pipelines.run(module, "vulkan functions")
    if "fma" not in features:
        pipelines.run(module, "vulkan without fma")
    pipelines.run(module, "vulkan with warps" if "subgroup32" in features else "vulkan")
    if "subgroup32" in features and "lone_barriers" not in features:
        pipelines.run(module, "vulkan meeting")
    if options.opt:
        pipelines.run(module, _of_variant(target, options, features))
        if "software" in features:
            pipelines.run(module, "vulkan quads")
    if "short_loops" in features:
        pipelines.run(module, "short loops")
        check_nesting(module)
    return emit_kernel(module, slots, options, features)
