"""The host's processor, or a named one."""

from __future__ import annotations

from gridlane.backends import passes, reasons
from gridlane.backends.formats import ASM, IR, LLVM, OBJECT
from gridlane.backends.record import Backend, Fact
from gridlane.ir.families import (
    CHECKS,
    MACHINE,
    MEMORY_PRODUCTS,
    PAIRS,
    PEERS,
    PRODUCTS,
    WARPGROUP_PRODUCTS,
)

BACKEND = Backend(
    name="cpu",
    title="CPUs",
    driver="gridlane.runtime.drivers.cpu",
    generator="gridlane.compiler.cpu",
    codegen="gridlane.codegen.llvm.cpu",
    identity="gridlane.compiler.identity.processor",
    pipeline=(
        passes.LOWER_TILES,
        # By accesses that are checked.
        passes.EXPAND_WARPGROUPS.when(Fact.CHECKED),
        # First of the others, as other passes make ops of these.
        passes.FLUSH_BY_MODE.when(Fact.FLUSHES),
        passes.EXPAND_FLUSHING.unless(Fact.FLUSHES),
        # These emit functions, so they precede the inlining of calls. The functions of f64 need a
        # machine that fuses.
        passes.FUNCTIONS_OF_BITS,
        passes.FUNCTIONS_OF_CPU.when(Fact.FUSES).unless(Fact.VECTOR_LIBRARY),
        passes.FUNCTIONS_OF_CPU.when(Fact.FUSES, Fact.OWN_FUNCTIONS),
        passes.SINGLE_FUNCTIONS_OF_CPU.when(Fact.FUSES, Fact.TILES),
        # The vectoriser works on one function; forwarding follows inlining, which makes
        # variables.
        passes.INLINE,
        passes.MATRIX_ACCESSES.when(Fact.CHECKED),
        passes.MEMORY_PRODUCTS.when(Fact.CHECKED),
        passes.STOP_AT_ERRORS.when(Fact.CHECKED),
        passes.FRAGMENTS,
        passes.BARRIERS_BY_TURNS,
        passes.TAKE_TURNS,
        passes.END_SPINS,
        passes.RELEASE_FIRST,
        passes.COPY_AT_ONCE,
        passes.WHOLE_BARRIERS,
        passes.PROMOTE,
        passes.DIVIDE_WHOLE,
        passes.RETURN_LAST,
        # The passes before it make accesses, and see what their addresses are made of.
        passes.CHECK_ACCESSES.when(Fact.CHECKED),
        passes.GUARDS_OF_VECTORS,
    ),
    legal=MACHINE | PAIRS | PEERS | PRODUCTS | MEMORY_PRODUCTS | CHECKS | WARPGROUP_PRODUCTS,
    reasons={**reasons.WITHOUT_GRIDS, **reasons.REPORT},
    formats=(IR, LLVM, ASM, OBJECT),
    shaped=True,
    # A block is one vector program, and its shared memory is the worker's.
    program_warps=1,
    program_shared=4 << 20,
    on_host=True,
    passes_by_value=True,
    rank=10,
)
