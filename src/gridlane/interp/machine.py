"""Run blocks: all threads of one in lockstep, the blocks one after the other, or alternately where
they wait for each other.

A region runs under a mask, the lanes that are alive in it, and returns the mask of the lanes that
reach its end. Lanes that break, continue, leave, return or raise drop out of the mask; the
construct that they exit to keeps them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gridlane.core.errors import KernelError
from gridlane.core.source import describe
from gridlane.interp import (
    access,
    arith,
    atomic,
    clusters,
    control,
    copies,
    domains,
    flushing,
    grid,
    integer,
    math,
    matrix,
    mbarriers,
    memory_products,
    products,
    tensors,
    tile_memory,
    tiles,
    warp,
    warpgroups,
)
from gridlane.interp.cooperative import Meeting, waits_for_grid
from gridlane.interp.memory import POISON, Fault, Memory
from gridlane.interp.naming import array_of
from gridlane.interp.parting import resume_all
from gridlane.interp.poison import Poison, has_undefined
from gridlane.interp.shadow import ShadowMemory
from gridlane.interp.state import (
    Block,
    Frame,
    Launch,
    Shape,
    SharedMemory,
    Tracker,
    Unwanted,
    warps_of,
)
from gridlane.interp.values import Array, Lanes, filled, merged, numpy_of
from gridlane.interp.warp_scheduler import run_by_turns, warps_take_turns
from gridlane.ir.op import Op
from gridlane.ir.ops.arith import Const
from gridlane.ir.ops.floating import FLUSHING, flushes
from gridlane.ir.types import Space
from gridlane.ir.values import Function, Module, Region

COMPUTE: dict[type[Op], Callable[..., Lanes]] = (
    arith.PLAIN | flushing.PLAIN | integer.PLAIN | math.PLAIN
)
"""Ops whose results follow from the operands alone."""

COMPUTE_WITH_OP: dict[type[Op], Callable[..., Lanes]] = (
    arith.WITH_OP | flushing.WITH_OP | integer.WITH_OP | access.WITH_OP | tiles.WITH_OP
)
"""Ops whose results follow from the operands and attributes."""

OBSERVE: dict[type[Op], Callable[..., Lanes | None]] = (
    access.OBSERVE
    | atomic.OBSERVE
    | clusters.OBSERVE
    | copies.OBSERVE
    | grid.OBSERVE
    | matrix.OBSERVE
    | mbarriers.OBSERVE
    | memory_products.OBSERVE
    | products.OBSERVE
    | tensors.OBSERVE
    | tile_memory.OBSERVE
    | tiles.OBSERVE
    | warp.OBSERVE
    | warpgroups.OBSERVE
)
"""Ops that read or change the state of the frame: (frame, op, mask, *operands) to results."""

CONTROL: dict[type[Op], Callable[[Frame, Op, Array], Array]] = (
    control.CONTROL | grid.CONTROL | tile_memory.CONTROL
)
"""Ops that change which lanes are alive: (frame, op, mask) to the mask after the op."""


@dataclass(slots=True)
class RunResult:
    """The results of a grid besides memory: the first error as (code, block, thread) with 3-d
    indices, or None, and the numbers of its detail; the lines printed."""

    error: tuple[int, Shape, Shape] | None = None
    numbers: tuple[int, ...] = ()
    prints: list[str] = field(default_factory=list[str])


def run(
    module: Module,
    grid: Shape | int,
    block: Shape | int,
    params: list[int | float | bool],
    memory: Memory,
    dynamic_shared: int = 0,
    unwanted: Unwanted | None = None,
) -> RunResult:
    """Run the kernel of a valid module to its end.

    Args:
        grid, block: blocks of the grid and threads of a block, along x, y, z.
        params: a number for each parameter of the kernel; pointers are addresses in ``memory``, and
            those of tensor maps are found here, whatever their numbers are.
        dynamic_shared: bytes.
        unwanted: whether the grid is to end early, where a loop is; asked per iteration of each.
            It may raise.

    Raises:
        KernelError: a bad memory access, an undefined value that is stored or decides a branch,
            threads or blocks that wait at different barriers, or an early end.
    """
    launch = Launch(module, _three(grid), _three(block), memory, dynamic_shared, run_function)
    launch.turns = warps_take_turns(module)
    result = RunResult()
    launch.prints, launch.unwanted = result.prints, unwanted
    if has_undefined(module):
        shadow = ShadowMemory(memory)
        launch.tracker = lambda: Poison(shadow)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _frames_needed(module)))
    constants = [_global(launch, name) for name in _globals_in(module, Space.CONSTANT)]
    try:
        numbers = [int(each) for each in params] if module.tensor_maps else []
        for use in module.tensor_maps:
            data = np.frombuffer(use.of(numbers.__getitem__).encode(), np.uint8)
            address = memory.map(data, f"the tensor map of parameter {use.base}")
            params = [*params[: use.parameter], address, *params[use.parameter + 1 :]]
            constants.append(address)
        _run_blocks(launch, params)
    finally:
        sys.setrecursionlimit(limit)
        for address in constants:
            memory.free(address)
    result.error, result.numbers = launch.error, launch.numbers
    return result


def _run_blocks(launch: Launch, params: list[int | float | bool]) -> None:
    indices = [(x, y, z) for z, y, x in np.ndindex(launch.grid[::-1])]
    if waits_for_grid(launch.module):
        if launch.module.cluster != (1, 1, 1):
            raise KernelError(
                f"launch of {launch.module.kernel.name}: a barrier of the grid in a kernel of "
                f"clusters of {launch.module.cluster} blocks is not supported; wait for the "
                "cluster, or launch without clusters"
            )
        Meeting(launch, lambda index: run_block(launch, index, params)).run(indices)
        return
    size = launch.module.cluster
    if any(blocks % each for blocks, each in zip(launch.grid, size, strict=True)):
        raise KernelError(
            f"launch of {launch.module.kernel.name}: clusters of {size} blocks in a grid of "
            f"{launch.grid}"
        )
    for first in indices:
        if any(place % each for place, each in zip(first, size, strict=True)):
            continue
        launch.check(launch.module.kernel.loc)
        run_cluster(launch, _blocks_of(first, size), params)


def _blocks_of(first: Shape, size: Shape) -> list[Shape]:
    """The blocks of the cluster that begins at one, by their ranks."""
    x, y, z = first
    return [(x + i, y + j, z + k) for k, j, i in np.ndindex(size[::-1])]


def _three(shape: Shape | int | tuple[int, ...]) -> Shape:
    given = (shape,) if isinstance(shape, int) else tuple(shape)
    x, y, z = given + (1,) * (3 - len(given))
    return x, y, z


def _frames_needed(module: Module) -> int:
    """The maximum of Python frames for the deepest nest of regions and calls, with a margin."""
    depth = 0
    for function in module.functions.values():
        level = [function.body]
        while level:
            depth += 1
            level = [inner for region in level for op in region for inner in op.regions()]
    return len(_stack()) + 8 * depth + 1000


def _stack() -> list[Any]:
    """The number of frames on the stack."""
    frames: list[Any] = []
    frame = sys._getframe()  # pyright: ignore[reportPrivateUsage]  # the only way to count frames
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    return frames


def _globals_in(module: Module, space: Space) -> list[str]:
    return [name for name, item in module.globals.items() if item.space is space]


def _global(launch: Launch, name: str) -> int:
    """Allocate the memory of a global; return its address."""
    item = launch.module.globals[name]
    if item.data is not None:
        address = launch.memory.map(np.frombuffer(item.data, np.uint8), f"@{name}")
    else:
        address = launch.memory.allocate(item.size, f"@{name}", POISON)
    launch.globals[name] = address
    return address


def run_block(launch: Launch, index: Shape, params: list[int | float | bool]) -> None:
    """Run one block."""
    run_cluster(launch, [index], params)


def run_cluster(launch: Launch, indices: list[Shape], params: list[int | float | bool]) -> None:
    """Run the blocks of a cluster, by their ranks."""
    memory, allocated = launch.memory, list[int]()
    kernel, count = launch.module.kernel, warps_of(launch.shape)

    def run_threads(block: Block) -> None:
        arguments = tuple(
            np.full(block.lanes, value, numpy_of(param.value.type))
            for param, value in zip(kernel.params, params, strict=True)
        )
        with np.errstate(all="ignore"):
            tracker = launch.tracker and launch.tracker()
            try:
                run_function(block, kernel, arguments, block.threads, tracker)
            finally:
                for address in block.arrays:
                    memory.free(address)

    try:
        shared = list[SharedMemory]()
        for _ in indices:
            own = {name: _global(launch, name) for name in _globals_in(launch.module, Space.SHARED)}
            dynamic = memory.allocate(launch.dynamic_shared, "dynamic shared memory", POISON)
            allocated += [*own.values(), dynamic]
            shared.append(SharedMemory(own, dynamic))
        apart = range(count) if count > 1 and launch.turns else (None,)
        blocks = list[Block]()
        for rank, (index, own) in enumerate(zip(indices, shared, strict=True)):
            for warp in apart:
                block = Block(launch, index, own.dynamic, own.arrays, warp)
                block.cluster, block.rank = tuple(shared), rank
                blocks.append(block)
        if len(blocks) > 1:
            run_by_turns(blocks, run_threads)
        else:
            run_threads(blocks[0])
    finally:
        for address in allocated:
            memory.free(address)


def run_function(
    block: Block,
    function: Function,
    arguments: tuple[Lanes, ...],
    mask: Array,
    tracker: Tracker | None = None,
) -> tuple[Lanes, ...]:
    """Run a function for the lanes in ``mask``; return its results."""
    frame = Frame(block, function, run_region, tracker)
    for param, argument in zip(function.params, arguments, strict=True):
        frame.values[param.value] = argument
    block.frames.append(frame)
    try:
        run_region(frame, function.body, mask)
        if function.is_kernel:
            resume_all(block)
    finally:
        block.frames.pop()
        if block.parted:
            block.arrays.update(frame.arrays.values())
        else:
            for address in frame.arrays.values():
                block.launch.memory.free(address)
    return frame.results


def run_region(frame: Frame, region: Region, mask: Array) -> Array:
    """Run the ops of a region for the lanes in ``mask``; return the lanes that reach its end."""
    if not mask.any():
        return mask
    tracker = frame.tracker
    for op in region.ops:
        if tracker is not None:
            tracker.track(frame, op, mask)
        change = CONTROL.get(type(op))
        if change is None:
            run_op(frame, op, mask)
            continue
        mask = change(frame, op, mask)
        if not mask.any():
            break
    return mask


def run_op(frame: Frame, op: Op, mask: Array) -> None:
    """Run an op that does not change control flow."""
    values = frame.values
    kind = type(op)
    operands = [values[value] for value in op.operands()]
    if kind is Const:
        computed = filled(op.type, frame.block.lanes, op.value)  # type: ignore[attr-defined]  # Const
    elif kind in COMPUTE:
        if kind in FLUSHING and flushes(op):
            computed = flushing.computed(kind, COMPUTE[kind], operands)  # type: ignore[arg-type]  # f32
        else:
            computed = COMPUTE[kind](*operands)
        if getattr(op, "nowrap", False):
            computed = arith.not_wrapped(kind, operands, computed)
    elif kind in COMPUTE_WITH_OP:
        computed = COMPUTE_WITH_OP[kind](op, *operands)
    else:
        computed = _observed(frame, op, mask, operands)
    if getattr(op, "inside", False):
        _require_inside(frame, op, mask, operands)
    results = op.results
    if len(results) == 1:
        computed = (computed,)
    for value, new in zip(results, computed or (), strict=True):
        # Inactive lanes keep their old value: a shuffle may read it.
        old = values[value] if value in values else filled(value.type, frame.block.lanes)
        values[value] = merged(mask, new, old)


def _observed(frame: Frame, op: Op, mask: Array, operands: list[Any]) -> Any:
    """The results of an op that depends on more than its operands."""
    try:
        return OBSERVE[type(op)](frame, op, mask, *operands)
    except Fault as fault:
        raise _located(fault, frame, op, mask) from None


def _require_inside(frame: Frame, op: Op, mask: Array, operands: list[Any]) -> None:
    """Require operands inside the domain of an op that is marked so.

    Raises:
        KernelError: a thread's are not.
    """
    outside = domains.outside(op, *operands)[mask]
    if outside.any():
        fault = Fault(int(outside.argmax()), "an operand is outside the domain of the instruction")
        raise _located(fault, frame, op, mask)


def _located(fault: Fault, frame: Frame, op: Op, mask: Array) -> KernelError:
    """The error to raise for a bad access."""
    block = frame.block
    thread = block.thread(int(np.flatnonzero(mask)[fault.position]))
    place = f"block {block.index}, thread {thread}"
    array = array_of(frame, op, mask, fault.position)
    text = f"{op.name}: {fault.reason}{array} (at {op.loc}; {place})"
    return KernelError("\n".join(filter(None, (text, describe(op.loc)))))
