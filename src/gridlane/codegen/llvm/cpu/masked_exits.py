"""Finds the loops and scopes round barriers that only some lanes may leave at an exit."""

from __future__ import annotations

from gridlane.analysis.op_positions import Places
from gridlane.analysis.uniformity import WayOut
from gridlane.codegen.llvm.cpu.plan import Planner
from gridlane.ir.ops import control


def masked_exits(places: Places, planner: Planner) -> set[WayOut]:
    """The exits of a construct that some lanes may take under a mask.

    An exit is masked in a branch on a condition that may differ between the lanes, inside a
    construct that lanes leave under a mask and at whose end they wait, and in a loop where they
    wait at the step.
    """
    exits = [op for op in places.order if isinstance(op, _EXITS) and op not in planner.segment_of]
    masked: set[WayOut] = set()
    size = -1
    while size != len(masked):
        size = len(masked)
        for op in exits:
            target, depth = places.target(op)
            inside = [container for container, _ in places.path[op][depth:]]
            held = {(c, name) for c in inside for name in ("breaks", "continues")}
            if (
                any(isinstance(c, control.If) and not planner.agrees(c) for c in inside)
                or not masked.isdisjoint(held)
                or (target, "continues") in masked
            ):
                name = "continues" if isinstance(op, control.Continue) else "breaks"
                masked.add((target, name))
    return masked


_EXITS = (control.Break, control.Continue, control.Leave)
