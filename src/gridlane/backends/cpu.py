"""The processor that Python runs on, or one that is named."""

from __future__ import annotations

from gridlane.backends import passes, reasons
from gridlane.backends.formats import ASM, IR, LLVM, OBJECT
from gridlane.backends.record import Backend, Fact
from gridlane.ir.stages import COMMON

BACKEND = Backend(
    name="cpu",
    title="CPUs",
    driver="gridlane.runtime.drivers.cpu",
    generator="gridlane.compiler.cpu",
    codegen="gridlane.codegen.llvm.cpu",
    identity="gridlane.compiler.identity.processor",
    pipeline=(
        # What it writes are functions, so it comes before calls are inlined. Code for machines
        # that fuse: the functions of f64 count on it.
        passes.FUNCTIONS_OF_CPU.when(Fact.FUSES).unless(Fact.VECTOR_LIBRARY),
        # The vectoriser works on one function; forwarding comes after inlining, which makes
        # variables.
        passes.INLINE,
        passes.COPY_AT_ONCE,
        passes.PROMOTE,
    ),
    legal=COMMON,
    reasons={**reasons.WITHOUT_GRIDS, **reasons.REPORT},
    formats=(IR, LLVM, ASM, OBJECT),
    shaped=True,
    on_host=True,
)
