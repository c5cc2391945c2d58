"""Devices of Vulkan 1.3, by SPIR-V."""

from __future__ import annotations

from gridlane.backends import passes, reasons
from gridlane.backends.formats import IR, SPIRV
from gridlane.backends.record import Backend, Fact, Subnormals
from gridlane.core.compact import Variant
from gridlane.core.extras import install
from gridlane.core.features import Feature
from gridlane.ir.families import LANES, MATRIX, REPORTS

# Features of lavapipe and of the drivers of desktop GPUs, and their defects.
_USUAL = frozenset((
    Feature.INT64, Feature.FLOAT64, Feature.INT16, Feature.INT8, Feature.FLOAT16,
    Feature.ATOMIC64, Feature.FOLDS_ZEROS, Feature.FLUSHES32, Feature.FOLDS_HALVES,
    Feature.MIXES_BYTES, Feature.KEEPS_UPPER_BITS, Feature.FOLDS_WIDE,
    Feature.LOSES_MINUS_ZERO,
))  # fmt: skip
_OTHERS = frozenset((
    Feature.SUBGROUP32, Feature.FLOAT32_ATOMIC_ADD, Feature.FMA,
    Feature.MATRIX_HALVES, Feature.MATRIX_BFLOATS,
    Feature.DENORM16, Feature.DENORM32, Feature.DENORM64,
    Feature.SOFTWARE, Feature.SHORT_LOOPS, Feature.SWAPS_SELECTS,
    Feature.LONE_BARRIERS, Feature.FENCES_WAIT, Feature.MISREADS_UNITS,
))  # fmt: skip

BACKEND = Backend(
    name="vulkan",
    title="Vulkan devices",
    driver="gridlane.runtime.drivers.vulkan",
    generator="gridlane.compiler.vulkan",
    stack=1024,
    codegen="gridlane.codegen.spirv",
    pipeline=(
        passes.LOWER_TILES.unless(Feature.MATRIX_HALVES),
        passes.LOWER_TILES_TO_SUBGROUPS.when(Feature.MATRIX_HALVES).unless(Feature.MATRIX_BFLOATS),
        passes.LOWER_TILES_TO_SUBGROUPS_WITH_BFLOATS.when(Feature.MATRIX_BFLOATS),
        passes.FRAGMENTS_BY_LOOPS.unless(Feature.MATRIX_HALVES),
        passes.FRAGMENTS_BY_SUBGROUPS.when(Feature.MATRIX_HALVES).unless(Feature.MATRIX_BFLOATS),
        passes.FRAGMENTS_BY_SUBGROUPS_WITH_BFLOATS.when(Feature.MATRIX_BFLOATS),
        passes.PRODUCTS,
        passes.FUNCTIONS,
        passes.FUSE_F64.unless(Feature.FMA),
        passes.INLINE,
        passes.MATRIX_ACCESSES,
        passes.MEMORY_PRODUCTS,
        passes.COUNT_SPINS.unless(Feature.SHORT_LOOPS),
        passes.RELEASE_FIRST,
        passes.COPY_AT_ONCE,
        passes.WHOLE_BARRIERS.unless(Feature.LONE_BARRIERS),
        passes.WHOLE_BARRIERS_TOGETHER.when(Feature.LONE_BARRIERS),
        passes.PROMOTE,
        # Threads that meet in a block: the variables that this makes are forwarded again.
        passes.WARPS_BY_BLOCKS.unless(Feature.SUBGROUP32),
        passes.PROMOTE.unless(Feature.SUBGROUP32),
        # Where a barrier waits for all threads of the block.
        passes.BARRIERS_BY_BLOCKS.when(Feature.SUBGROUP32).unless(Feature.LONE_BARRIERS),
        passes.PROMOTE.when(Feature.SUBGROUP32).unless(Feature.LONE_BARRIERS),
        passes.RECIPROCAL_ROOTS.when(Fact.OPTIMISED),
        passes.COMPACT,
        passes.COARSE.unless(Feature.SOFTWARE),
        # Where threads are lanes of the processor's vectors.
        passes.JOIN_LOADS.when(Fact.OPTIMISED, Feature.SOFTWARE),
        passes.HOLD_SMALL_INTEGERS.when(Feature.KEEPS_UPPER_BITS),
        # After all others.
        passes.WATCH_LOOPS.when(Feature.SHORT_LOOPS),
        passes.PROMOTE.when(Feature.SHORT_LOOPS),
        passes.GUARDS_OF_SHADERS,
    ),
    legal=REPORTS,
    absent=LANES,
    legal_with={Feature.SUBGROUP32: LANES, Feature.MATRIX_HALVES: MATRIX},
    reasons={
        **reasons.WITHOUT_GRIDS,
        **reasons.WITHOUT_CLUSTERS,
        **reasons.SHADERS,
        **reasons.CHECKS,
    },
    formats=(IR, SPIRV),
    features=_USUAL | _OTHERS,
    usual=_USUAL,
    # The interpreter is compared with the compact code; the other has more tests.
    compared=(Variant(compact=True),),
    subnormals=Subnormals.IN_ATOMICS,
    rank=40,
    extra="vulkan",
    bindings="vulkan",
    advice={
        "available": "it takes Vulkan's loader (Debian: libvulkan1), a driver of Vulkan 1.3 (the "
        "GPU's own, or Mesa's: mesa-vulkan-drivers, which runs on the CPU as well) and the package "
        f"vulkan, {install('vulkan')}; vulkaninfo --summary shows what the loader sees, and "
        "VK_DRIVER_FILES names the drivers that it may take; in a container, /dev/dri has to be "
        "handed in",
        "initialised": "free memory of the device; vulkaninfo --summary shows which other devices "
        "there are, and GRIDLANE_DEVICE=vulkan:1 takes the second one",
        "executed": "update the driver, which compiles the kernels; VK_INSTANCE_LAYERS="
        "VK_LAYER_KHRONOS_validation says what it is given that it may not take, and --device "
        "interp runs the same kernel without it",
    },
)
