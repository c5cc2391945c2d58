"""GPUs of macOS, by the Metal Shading Language."""

from __future__ import annotations

from gridlane.backends import passes, reasons
from gridlane.backends.formats import IR, MSL
from gridlane.backends.record import Backend, Pass, Subnormals
from gridlane.core.extras import install
from gridlane.ir.families import CALLS, MATRIX, REPORTS

BACKEND = Backend(
    name="metal",
    title="Metal devices",
    driver="gridlane.runtime.drivers.metal",
    generator="gridlane.compiler.clike",
    stack=1024,
    codegen="gridlane.codegen.clike",
    dialects=(Pass("gridlane.codegen.clike.msl.Metal"),),
    pipeline=(
        passes.LOWER_TILES_TO_SIMDGROUPS,
        passes.INLINE,
        passes.MATRIX_ACCESSES,
        passes.MEMORY_PRODUCTS,
        passes.COUNT_SPINS,
        passes.RELEASE_FIRST,
        passes.COPY_AT_ONCE,
        passes.FRAGMENTS_BY_SIMDGROUPS,
        # After inlining, as its sums are library functions.
        passes.PRODUCTS_WITHOUT_F64,
        passes.WHOLE_BARRIERS,
        passes.PROMOTE,
        passes.SPLIT_AGGREGATES,
        passes.SETTLE_SPACES,
        passes.FLOAT64,
        passes.FUSE_BF16,
        passes.FUNCTIONS,
        passes.HALVE_ATOMICS,
        passes.INLINE_OTHERS,
        passes.PROMOTE,
        passes.BARRIERS_BY_BLOCKS,
        passes.PROMOTE,
        passes.GUARDS_OF_SHADERS,
    ),
    legal=REPORTS | CALLS | MATRIX,
    reasons={
        **reasons.WITHOUT_GRIDS,
        **reasons.WITHOUT_CLUSTERS,
        **reasons.SHADERS,
        **reasons.CHECKS,
        **reasons.SHARED_MATRICES,
    },
    refused=(
        ("fence", ".*", "the host sees what a kernel wrote when it is done"),
        *reasons.WORD_ATOMICS,
    ),
    formats=(IR, MSL),
    float64=False,
    subnormals=Subnormals.LEFT_OPEN,
    rank=50,
    extra="metal",
    bindings="pyobjc-framework-Metal",
    system="darwin",
    advice={
        "available": "it takes macOS 15 or newer on an Apple M1 or newer, and "
        f"pyobjc-framework-Metal, {install('metal')}; elsewhere GRIDLANE_METAL=emulated, with g++, "
        "makes it a stand-in on the CPU, to try programs with",
        "executed": "the message is Metal's compiler's or its queue's; --device interp runs the "
        "same kernel without them, and gridlane selftest tells which kernels work",
    },
)
