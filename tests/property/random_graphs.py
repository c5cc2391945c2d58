"""Random control-flow graphs, their kernels, and a plain walk of a graph that says what a thread of
the kernel stores. Nothing here knows how graphs are structured.

A thread has a state, which each block changes. The state decides branches until the fuel is used
up; from then on each branch goes towards an end, so every walk ends. Each block logs its number and
a value of its own or of a block that dominates it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from gridlane.core.dtypes import b1, i32, i64, u32
from gridlane.ir.builder import Builder
from gridlane.ir.ops import arith, control, grid, warp
from gridlane.ir.ops.graph import Block, Branch, BranchIf, Graph, Switch, successors
from gridlane.ir.types import pointer
from gridlane.ir.values import Function, Module, Param, Region, Value

FUEL = 24
FULL = 0xFFFFFFFF


@dataclass
class Shape:
    """A graph: the successors of each block, none where it ends; block 0 is the entry.

    ``looks_at``: for each block one that dominates it, whose value it logs. ``meets``: the blocks
    in which all threads that have not ended meet. ``switches``: blocks that switch, also where they
    have two successors.
    """

    goals: list[list[int]]
    looks_at: list[int] = field(default_factory=list)
    meets: set[int] = field(default_factory=set)
    switches: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.reachable = reached(self.goals, -1)
        self.towards = {}
        """For each block the index of the successor that is nearest to an end."""
        ends = {block for block in self.reachable if not self.goals[block]}
        while True:
            new = {
                block: next(n for n, goal in enumerate(self.goals[block]) if goal in ends)
                for block in self.reachable - ends
                if ends.intersection(self.goals[block])
            }
            if not new:
                break
            self.towards |= new
            ends |= set(new)
        self.ends = ends

    @property
    def log_size(self) -> int:
        return FUEL + len(self.goals) + 2


def reached(goals: list[list[int]], without: int, start: int = 0) -> set[int]:
    """The blocks that the entry, or another start, reaches without passing one."""
    seen = {start} - {without}
    waiting = list(seen)
    while waiting:
        new = set(goals[waiting.pop()]) - seen - {without}
        seen |= new
        waiting += new
    return seen


def meeting_places(shape: Shape) -> set[int]:
    """The blocks that every walk comes to exactly once."""
    goals = shape.goals
    return {
        block
        for block in shape.reachable
        if all(goals[other] for other in reached(goals, block))
        and not any(block in reached(goals, -1, start) for start in goals[block])
    }


def random_shape(rng: random.Random, count: int) -> Shape:
    """A graph of any form, often irreducible, in which each reachable block reaches an end."""
    goals: list[list[int]] = []
    reach, loops = rng.choice((3, 6, count)), rng.random()
    for block in range(count):
        kinds = rng.choices((0, 1, 2, 5), (1, 6, 20, 1))[0]
        goals.append([])
        for _ in range(kinds):
            step = rng.randint(1, reach) * (-1 if rng.random() < loops else 1)
            goals[-1].append(min(max(block + step, 0), count - 1))
        if rng.random() < 0.6 and goals[-1]:  # so that the later blocks are reached
            goals[-1][0] = min(block + 1, count - 1)
    return finished(rng, goals)


def finished(rng: random.Random, goals: list[list[int]]) -> Shape:
    """A shape of these edges, with an end wherever none is reached."""
    goals[-1] = []
    while True:
        shape = Shape(goals)
        stuck = shape.reachable - shape.ends
        if not stuck:
            break
        goals[rng.choice(sorted(stuck))] = []
    for block in range(len(goals)):
        above = [b for b in shape.reachable if block in shape.reachable - reached(goals, b)]
        above.sort(key=lambda b: len(reached(goals, b)))
        shape.looks_at.append(rng.choice(above[-3:]) if above else block)
    shape.switches = {b for b, g in enumerate(goals) if len(g) > 2 or (g and rng.random() < 0.1)}
    return shape


def structured_shape(rng: random.Random, size: int, plain_loops: bool = False) -> Shape:
    """A graph as compilers make it of nested statements: conditions with and and or, loops tested
    at either end, break, continue, early ends. ``plain_loops``: one block tests a loop."""
    return finished(rng, _Statements(rng, size, plain_loops).goals)


class _Statements:
    """Writes statements; each method takes the block where they start, and returns the block where
    they end, which has no successor yet."""

    def __init__(self, rng: random.Random, size: int, plain_loops: bool) -> None:
        self.rng = rng
        self.loop_kinds = 1 if plain_loops else 3
        self.goals: list[list[int]] = [[]]
        self.loops: list[tuple[int, int]] = []
        self.end = self.new()
        last = self.several(0, size)
        self.goals[last] = [self.end]
        # The end is the last block.
        final = self.new()
        self.goals[self.end] = [final]

    def new(self) -> int:
        self.goals.append([])
        return len(self.goals) - 1

    def several(self, at: int, size: int) -> int:
        while size > 0:
            part = self.rng.randint(1, size)
            kind = self.rng.choice((self.branch, self.branch, self.loop, self.leave, self.plain))
            at = kind(at, part)
            size -= part
        return at

    def plain(self, at: int, size: int) -> int:
        self.goals[at] = [self.new()]
        return self.goals[at][0]

    def test(self, at: int, yes: int, no: int, kinds: int = 3) -> None:
        """A condition, of one test or of two."""
        kind = self.rng.randrange(kinds)
        if kind == 0:
            self.goals[at] = [yes, no]
            return
        second = self.new()
        self.goals[at] = [second, no] if kind == 1 else [yes, second]
        self.goals[second] = [yes, no]

    def branch(self, at: int, size: int) -> int:
        yes, behind = self.new(), self.new()
        no = self.new() if self.rng.random() < 0.5 else behind
        self.test(at, yes, no)
        self.goals[self.several(yes, size // 2)] = [behind]
        if no != behind:
            self.goals[self.several(no, size // 2)] = [behind]
        return behind

    def loop(self, at: int, size: int) -> int:
        head, body, behind = self.new(), self.new(), self.new()
        self.goals[at] = [head]
        self.loops.append((head, behind))
        if self.rng.random() < 0.5:
            self.test(head, body, behind, self.loop_kinds)
            self.goals[self.several(body, size - 1)] = [head]
        else:
            self.goals[head] = [body]
            self.test(self.several(body, size - 1), head, behind, self.loop_kinds)
        self.loops.pop()
        return behind

    def leave(self, at: int, size: int) -> int:
        """Maybe break, continue or end."""
        following = self.new()
        goals = [*self.rng.choice(self.loops)] if self.loops else []
        self.test(at, self.rng.choice([*goals, self.end]), following)
        return following


# ---- what the kernel does


def changed(state: int, block: int) -> int:
    return (state * 1664525 + 1013904223 + block) & FULL


@dataclass
class Thread:
    """A thread on its walk."""

    shape: Shape
    state: int
    fuel: int = FUEL
    values: dict[int, int] = field(default_factory=dict)

    def run(self, at: int) -> tuple[int, int]:
        """Run a block; what it logs and the next block, -1 at an end."""
        shape = self.shape
        self.state = changed(self.state, at)
        self.values[at] = self.state ^ (at << 8)
        logged = (self.values[shape.looks_at[at]] + at) & FULL
        goals = shape.goals[at]
        if not goals:
            return logged, -1
        self.fuel -= 1
        chosen = shape.towards[at] if self.fuel < 0 else choice(shape, at, self.state)
        return logged, goals[chosen]


def walk(shape: Shape, state: int, threads: int) -> Iterator[int]:
    """The log of a thread that starts with a state."""
    thread, at = Thread(shape, state), 0
    while at >= 0:
        here = at
        logged, at = thread.run(here)
        yield logged
        if here in shape.meets:
            yield threads


def least_together(shape: Shape, states: np.ndarray) -> list[list[int]]:
    """For each thread of a warp and each block on its walk, the lanes that are there with it if
    threads that part meet again where all of their paths do: at the immediate post-dominator.

    Threads in different iterations of a loop do not meet inside it, as LLVM's "Convergence and
    Uniformity" has it. A thread that leaves a loop that its meeting place is in waits for the
    others at the next place outside, also if it comes back into the loop before.
    """
    threads = [Thread(shape, int(state)) for state in states]
    found: list[list[int]] = [[] for _ in states]
    loops = natural_loops(shape)
    stack = [(0, -1, set(range(len(states))))]
    while stack:
        at, until, lanes = stack.pop()
        if at == until or not lanes:
            continue
        ways: dict[int, set[int]] = {}
        for lane in sorted(lanes):
            found[lane].append(sum(1 << other for other in lanes))
            ways.setdefault(threads[lane].run(at)[1], set()).add(lane)
        meeting = until if len(ways) == 1 else post_dominator(shape, at)
        if meeting != until and meeting >= 0:
            stack.append((meeting, until, lanes))
        runs: list[tuple[int, int, set[int]]] = []
        for way, group in ways.items():
            left = [loop for loop in loops if at in loop and way not in loop]
            goal = meeting
            for place, beyond, waiting in reversed(stack):
                if not any(goal in loop for loop in left):
                    break
                if place == goal and group <= waiting:
                    waiting -= group
                    goal = beyond
            if way >= 0:
                runs.append((way, goal, group))
        stack += runs
    return found


def natural_loops(shape: Shape) -> list[set[int]]:
    """The blocks of each loop of a reducible graph; loops of one header are one."""
    goals = shape.goals
    found: list[set[int]] = []
    for header in shape.reachable:
        inside = shape.reachable - reached(goals, header)
        latches = {block for block in inside if header in goals[block]}
        if latches:
            body = {b for b in inside if latches & reached(goals, header, b)} | latches | {header}
            found.append(body)
    return found


def post_dominator(shape: Shape, block: int) -> int:
    """The first block that all ways from a block to an end have, or -1."""
    goals = shape.goals
    after = reached(goals, -1, block)
    common = [
        other
        for other in after - {block}
        if all(goals[each] for each in reached(goals, other, block))
    ]
    return max(common, key=lambda other: len(reached(goals, -1, other)), default=-1)


def choice(shape: Shape, block: int, state: int) -> int:
    """The index of the successor that a state chooses."""
    goals = shape.goals[block]
    if block in shape.switches:
        return min((state >> 11) & 7, len(goals) - 1)
    return 0 if len(goals) == 1 or (state >> 13) & 1 else 1


@dataclass
class Maker:
    """Makes the kernel of a shape. Blocks where threads meet log their number, by a barrier or by a
    vote of the warp, or the lanes that vote."""

    shape: Shape
    counts: str = "barrier"

    def module(self, labels: list[int]) -> Module:
        """The module, with these labels of blocks, also the unreachable ones."""
        function = Function("kernel", is_kernel=True)
        module = Module({"kernel": function})
        states, logs = (Value(pointer(u32), name=name) for name in ("states", "logs"))
        function.params = [Param(states, 0), Param(logs, 1)]
        self.b = b = Builder(module, function)
        self.state, self.log = b.variable("state", u32), b.variable("log", i64)
        self.fuel = b.variable("fuel", i32)
        thread = b.add(
            b.mul(b.value(grid.BlockIdx(grid.Axis.X)), b.value(grid.BlockDim(grid.Axis.X))),
            b.value(grid.ThreadIdx(grid.Axis.X)),
        )
        index = b.cast(thread, i64)
        b.write(self.state, b.load(b.offset(states, index)))
        b.write(self.log, b.mul(index, b.const(2 * self.shape.log_size, i64)))
        b.write(self.fuel, b.const(FUEL, i32))
        self.logs, self.labels = logs, labels
        self.values: dict[int, Value] = {}
        blocks: dict[int, Block] = {}
        # A block's value is made before the blocks that it dominates look at it.
        order = sorted(range(len(labels)), key=lambda b: len(reached(self.shape.goals, b)))
        for number in order:
            blocks[number] = Block(labels[number], Region())
            with b.inside(blocks[number].body):
                self.block(number)
        rest = [blocks[number] for number in range(1, len(labels))]
        random.Random(len(labels)).shuffle(rest)
        b.emit(Graph(Region([blocks[0], *rest])))
        return module

    def block(self, number: int) -> None:
        b, shape = self.b, self.shape
        factor, summand = b.const(1664525, u32), b.const(1013904223 + number, u32)
        state = b.add(b.mul(b.read(self.state), factor), summand)
        b.write(self.state, state)
        self.values[number] = b.value(arith.Xor(state, b.const(number << 8, u32)))
        looked = self.values[shape.looks_at[number]]
        if number % 3:
            self.store(b.add(looked, b.const(number, u32)))
        else:  # an op with a region, which uses values of other blocks
            with b.if_(b.value(arith.Ge(state, b.const(0, u32)))):
                self.store(b.add(looked, b.const(number, u32)))
        if number in shape.meets:
            self.meet()
        goals = [self.labels[goal] for goal in shape.goals[number]]
        if not goals:
            b.emit(control.Exit() if number % 2 else control.Return())
        elif len(goals) == 1 and number not in shape.switches:
            self.spend()
            b.emit(Branch(goals[0]))
        elif number in shape.switches:
            seven = b.const(7, u32)
            index = b.value(arith.And(b.value(arith.Shr(state, b.const(11, u32))), seven))
            towards = b.const(shape.towards.get(number, 0), u32)
            chosen = b.cast(b.select(self.spend(), index, towards), i32)
            b.emit(Switch(chosen, tuple(goals[:-1]), goals[-1]))
        else:
            bit = b.value(arith.And(b.value(arith.Shr(state, b.const(13, u32))), b.const(1, u32)))
            goes = b.eq(bit, b.const(1, u32))
            towards = b.const(shape.towards.get(number, 0) == 0, b1)
            chosen = b.value(arith.Select(self.spend(), goes, towards))
            b.emit(BranchIf(chosen, goals[0], goals[1]))

    def spend(self) -> Value:
        """Whether there is fuel."""
        b = self.b
        left = b.sub(b.read(self.fuel), b.const(1, i32))
        b.write(self.fuel, left)
        return b.value(arith.Ge(left, b.const(0, i32)))

    def store(self, value: Value) -> None:
        b = self.b
        at = b.read(self.log)
        b.store(b.offset(self.logs, at), value)
        b.write(self.log, b.add(at, b.const(1, i64)))

    def meet(self) -> None:
        b = self.b
        if self.counts == "barrier":
            count = b.value(grid.BarrierReduce(grid.Reduction.COUNT, b.const(True, b1)))
        else:
            vote = warp.Vote(warp.VoteMode.BALLOT, b.const(FULL, u32), b.const(True, b1))
            count = b.value(vote)
            if self.counts == "vote":
                count = b.value(arith.Popcount(count))
        self.store(b.cast(count, u32))


def wanted(shape: Shape, states: np.ndarray, threads: int) -> np.ndarray:
    """The logs of all threads, as a walk of the graph writes them."""
    logs = np.zeros((len(states), 2 * shape.log_size), np.uint32)
    for thread, state in enumerate(states):
        log = list(walk(shape, int(state), threads))
        logs[thread, : len(log)] = log
    return logs.ravel()


def tiny_kernel(goals: list[list[int]]) -> Module:
    """A kernel of small blocks, to be structured and not to be run."""
    function = Function("kernel", is_kernel=True)
    module = Module({"kernel": function})
    array, number = Value(pointer(i32), name="p"), Value(i32, name="n")
    function.params = [Param(array, 0), Param(number, 1)]
    b = Builder(module, function)
    blocks: list[Block] = []
    for label, targets in enumerate(goals):
        blocks.append(Block(label, Region()))
        with b.inside(blocks[-1].body):
            b.store(array, number)
            if len(targets) == 2:
                b.emit(BranchIf(b.lt(number, number), *targets))
            else:
                b.emit(Branch(targets[0]) if targets else control.Return())
    b.emit(Graph(Region([*blocks])))
    return module


def ops_of(function: Function) -> int:
    """The ops of a function, of a graph those of the blocks that are reached; a switch counts as
    the branches that it stands for."""
    count = 0
    for op in function.body.ops:
        blocks = list(op.blocks()) if isinstance(op, Graph) else []
        if not blocks:
            count += 1 + sum(1 for region in op.regions() for _ in region.walk())
        targets = {block.label: successors(block) for block in blocks}
        found = {blocks[0].label} if blocks else set()
        waiting = list(found)
        while waiting:
            new = set(targets[waiting.pop()]) - found
            found |= new
            waiting += new
        for block in blocks:
            if block.label in found:
                count += sum(1 for _ in block.body.walk())
                last = block.body.ops[-1]
                count += len(last.targets) if isinstance(last, Switch) else 0
    return count
