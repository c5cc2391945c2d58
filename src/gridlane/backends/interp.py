"""The interpreter of IR, which defines the results of all other targets."""

from __future__ import annotations

from gridlane.backends import passes
from gridlane.backends.formats import IR
from gridlane.backends.record import Backend

BACKEND = Backend(
    name="interp",
    title="the interpreter",
    driver="gridlane.runtime.drivers.interp",
    generator="gridlane.compiler.interp",
    pipeline=(
        passes.EXPAND_WAITS,
        passes.BARRIERS_BY_TURNS,
        passes.TAKE_TURNS,
        passes.END_SPINS,
        passes.RELEASE_FIRST,
    ),
    stage="gridlane.ir.stages.TILE",
    formats=(IR,),
    shaped=True,
    executes_ir=True,
    on_host=True,
    passes_by_value=True,
    reads_as="cpu",
)
