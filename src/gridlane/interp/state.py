"""The state of a running grid, block and function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from gridlane.core.errors import KernelError
from gridlane.core.source import Loc
from gridlane.interp.in_flight import Copies
from gridlane.interp.memory import Memory
from gridlane.interp.values import WARP, Array, Lanes, filled
from gridlane.ir.op import Op
from gridlane.ir.ops import control
from gridlane.ir.values import Function, Module, Region, Value, Var

Shape = tuple[int, int, int]
Unwanted = Callable[[Loc], bool]
RunRegion = Callable[["Frame", Region, Array], Array]
RunFunction = Callable[
    ["Block", Function, tuple[Lanes, ...], Array, "Tracker | None"], tuple[Lanes, ...]
]


class Tracker(Protocol):
    """What follows undefined values through a call of a function; see poison.py."""

    def track(self, frame: Frame, op: Op, mask: Array) -> None:
        """Note what an op does, before it runs."""
        ...

    def entered(self, op: control.Call, callee: Function) -> Any:
        """The tracker of a call that begins."""
        ...

    def left(self, op: control.Call, inner: Any, mask: Array) -> None:
        """Note what a call has returned, whose tracker ``entered`` has made."""
        ...


@dataclass(slots=True, eq=False)
class Launch:
    """A grid. ``run_function`` runs calls; ``globals`` has the addresses of the globals; ``meet``
    makes a block wait for the others of its grid, at an op; ``unwanted`` says whether an early end
    of the grid is requested, and ``stopped`` that it ends; ``turns`` whether the warps of a block
    wait for each other; ``tracker`` makes the tracker of a block where the module has undefined
    values."""

    module: Module
    grid: Shape
    shape: Shape
    memory: Memory
    dynamic_shared: int
    run_function: RunFunction
    meet: Callable[[Shape, Op], None] | None = None
    unwanted: Unwanted | None = None
    tracker: Callable[[], Tracker] | None = None
    stopped: bool = False
    turns: bool = False
    globals: dict[str, int] = field(default_factory=dict[str, int])
    prints: list[str] = field(default_factory=list[str])
    error: tuple[int, Shape, Shape] | None = None
    numbers: tuple[int, ...] = ()

    def check(self, loc: Loc) -> None:
        """End the grid where that is requested; each loop calls this per iteration, with its
        place."""
        if self.stopped or (self.unwanted is not None and self.unwanted(loc)):
            raise KernelError(
                f"{self.module.kernel.name} was stopped before its end, by an exception in a "
                "thread that waited for it"
            )


class SharedMemory(NamedTuple):
    """The shared memory of a block: the addresses of its static arrays by symbol, and of what is as
    large as a launch says, whose name is ""."""

    arrays: dict[str, int]
    dynamic: int

    def start(self, name: str) -> int:
        """The address of an array."""
        return self.arrays[name] if name else self.dynamic

    def place_of(self, address: int, launch: Launch) -> tuple[str, int] | None:
        """The array that an address is in, and the bytes from its start."""
        sizes = {name: launch.module.globals[name].size for name in self.arrays}
        for name, size in {**sizes, "": launch.dynamic_shared}.items():
            if 0 <= address - self.start(name) < size:
                return name, address - self.start(name)
        return None


class Block:
    """A block: its lanes, full warps of them, of which ``threads`` are threads. Where warps take
    turns it is one of them, and ``wait`` lets the others run.

    ``shared`` are the addresses of its static shared memory by symbol.
    ``ended`` are the lanes that have returned from the kernel or raised; ``copies`` the copies in
    flight; ``passed_by`` the lanes that did not reach a barrier where others were; ``passed`` is
    the last such barrier; ``arrived`` has the threads that wait at none of the numbered barriers
    and count there. ``frames`` are the calls under way, ``parted`` the lanes that wait at a barrier
    of the grid for others of the block to end, ``arrays`` the local arrays of calls that such lanes
    have not left. ``cluster`` is the shared memory of the blocks of its cluster by their ranks, of
    which ``rank`` is its own; ``arrivals`` and ``waits`` are how often each lane has arrived at the
    cluster's barrier and waited there.
    """

    def __init__(
        self,
        launch: Launch,
        index: Shape,
        dynamic_shared: int,
        shared: dict[str, int],
        warp: int | None = None,
    ) -> None:
        x, y, z = launch.shape
        self.launch = launch
        self.index = index
        self.dynamic_shared = dynamic_shared
        self.shared = shared
        self.lanes = WARP if warp is not None else warps_of(launch.shape) * WARP
        number = np.arange(self.lanes, dtype=np.int32) + (warp or 0) * WARP
        self.threads = number < x * y * z
        self.lane = number % WARP
        self.thread_index = (number % x, number // x % y, number // (x * y))
        self.ended = np.zeros(self.lanes, np.bool_)
        self.passed_by = np.zeros(self.lanes, np.bool_)
        self.passed: Op | None = None
        self.arrived: dict[int, int] = {}
        self.frames: list[Frame] = []
        self.parted: list[Parted] = []
        self.arrays: set[int] = set()
        self.copies = Copies(self.lanes)
        self.wait: Callable[[Op], None] | None = None
        self.cluster: tuple[SharedMemory, ...] = (SharedMemory(shared, dynamic_shared),)
        self.rank = 0
        self.arrivals, self.waits = (np.zeros(self.lanes, np.int64) for _ in range(2))

    def thread(self, lane: int) -> Shape:
        """The 3-d index of the thread on a lane."""
        x, y, z = (int(axis[lane]) for axis in self.thread_index)
        return x, y, z

    def meet(self, op: Op) -> None:
        """Wait for the others of the grid; a warp that takes turns, for those of its block, of
        which one waits for the grid then."""
        if self.wait is not None:
            self.wait(op)
        elif self.launch.meet is not None:
            self.launch.meet(self.index, op)

    def end(self, mask: Array) -> None:
        """Mark lanes as ended."""
        self.ended = self.ended | mask


def warps_of(shape: Shape) -> int:
    """The warps of a block of some threads."""
    x, y, z = shape
    return -(-x * y * z // WARP)


class Frame:
    """One call of a function; ``calling`` is the last call that it has made."""

    def __init__(
        self, block: Block, function: Function, run_region: RunRegion, tracker: Tracker | None
    ) -> None:
        self.block = block
        self.tracker = tracker
        self.function = function
        self.run_region = run_region
        self.values: dict[Value, Lanes] = {}
        self.variables: dict[Var, Lanes] = {
            var: filled(var.type, block.lanes) for var in function.variables
        }
        self.arrays: dict[Op, int] = {}
        self.results = tuple(filled(type_, block.lanes) for type_ in function.results)
        self.calling: Op | None = None
        self.loops: list[Exits] = []
        self.scopes: list[Exits] = []


class Exits:
    """The lanes that have left a construct by each of its two exits. ``label`` is a scope's."""

    def __init__(self, lanes: int, label: int = 0) -> None:
        self.label = label
        self.behind: Any = np.zeros(lanes, np.bool_)
        self.to_step: Any = np.zeros(lanes, np.bool_)


class Step(NamedTuple):
    """A region of a frame, and the position of the op in it that is under way."""

    frame: Frame
    region: Region
    position: int

    @property
    def op(self) -> Op:
        """The op that is under way."""
        return self.region.ops[self.position]


@dataclass(slots=True)
class Parted:
    """Lanes of a block that wait at a barrier of the grid.

    Attributes:
        steps: the way to the barrier, from the kernel's body. Lanes in several calls of a function
            have several.
    """

    steps: list[Step]
    lanes: Array

    @property
    def op(self) -> Op:
        """The barrier."""
        return self.steps[-1].op
