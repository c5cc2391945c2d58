"""Threads of a block that wait at a barrier of the grid while others of it have not ended.

Lockstep continues with the others first. When all of these have ended or wait too, the waiting ones
resume behind the barrier: control reenters the constructs around it, from the outermost.
"""

from __future__ import annotations

from gridlane.core.errors import KernelError
from gridlane.core.source import describe
from gridlane.interp.control import finish_call, next_iterations
from gridlane.interp.state import Block, Exits, Frame, Parted, Step
from gridlane.interp.values import Array
from gridlane.ir.op import Op
from gridlane.ir.ops import control
from gridlane.ir.values import Region


def part(frame: Frame, op: Op, mask: Array) -> None:
    """Make lanes wait at a barrier of the grid.

    Raises:
        KernelError: others of the block wait at another one.
    """
    block = frame.block
    steps = [
        step
        for each in block.frames
        for step in _steps(each, op if each is frame else each.calling)
    ]
    for each in block.parted:
        if [step.op for step in each.steps] != [step.op for step in steps]:
            raise wait_apart(block, op, each.op)
        if each.steps[-1].frame is frame:
            each.lanes = each.lanes | mask
            return
    block.parted.append(Parted(steps, mask))


def wait_apart(block: Block, op: Op, other: Op) -> KernelError:
    """The error where threads of a block wait at several barriers."""
    text = (
        f"{op.name}: not all threads of block {block.index} come to the same barrier: some wait at "
        f"that at {other.loc}, others at this one (at {op.loc})"
    )
    return KernelError("\n".join(filter(None, (text, describe(op.loc), describe(other.loc)))))


def resume_all(block: Block) -> None:
    """Run the lanes that wait to their ends, when no others of the block are left."""
    launch = block.launch
    while block.parted:
        waiting, block.parted = block.parted, []
        if launch.error is None:
            block.meet(waiting[0].op)
        for each in waiting:
            if launch.error is None:
                _resume(each.steps, each.lanes)
            else:
                block.end(each.lanes)


def _steps(frame: Frame, op: Op | None) -> list[Step]:
    """The way in a function to an op."""

    def find(region: Region) -> list[Step]:
        for position, each in enumerate(region.ops):
            if each is op:
                return [Step(frame, region, position)]
            for inner in each.regions():
                if steps := find(inner):
                    return [Step(frame, region, position), *steps]
        return []

    return find(frame.function.body)


def _resume(steps: list[Step], mask: Array) -> Array:
    """Run what lies behind the last step, then behind those around it; return the lanes that reach
    the end of the first step's region."""
    (frame, region, position), *inner = steps
    if inner:
        mask = _inside(frame, steps[0].op, inner, mask)
    return frame.run_region(frame, Region(region.ops[position + 1 :]), mask)


def _inside(frame: Frame, op: Op, inner: list[Step], mask: Array) -> Array:
    """Resume in the construct around a step, or in the function that it calls."""
    match op:
        case control.Loop():
            exits = Exits(frame.block.lanes)
            if inner[0].region is op.body:
                frame.loops.append(exits)
                mask = _resume(inner, mask) | exits.to_step
                frame.loops.pop()
                mask = frame.run_region(frame, op.step, mask)
            else:
                mask = _resume(inner, mask)
            return next_iterations(frame, op, mask, exits.behind)
        case control.ScopeOp():
            exits = Exits(frame.block.lanes, op.label)
            frame.scopes.append(exits)
            mask = _resume(inner, mask)
            frame.scopes.pop()
            return mask | exits.behind
        case control.Call():
            callee, block, frame.calling = inner[0].frame, frame.block, op
            block.frames.append(callee)
            _resume(inner, mask)
            block.frames.pop()
            block.arrays.update(callee.arrays.values())
            return finish_call(frame, op, mask, callee.results, callee.tracker)
        case _:
            return _resume(inner, mask)
