"""Structured graphs do what a plain walk of the graph does, and are not much longer."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.devices import DEVICES, run_on
from tests.effort import examples
from tests.property.random_graphs import (
    Maker,
    Shape,
    least_together,
    meeting_places,
    ops_of,
    random_shape,
    structured_shape,
    tiny_kernel,
    wanted,
)

from gridlane.core.errors import KernelError, VerifyError
from gridlane.ir.op import Op
from gridlane.ir.ops import control
from gridlane.ir.parser import parse_module
from gridlane.ir.printer import print_module
from gridlane.ir.rewriting import Labels
from gridlane.ir.stages import CFG
from gridlane.ir.values import Function, Region, Value, Var
from gridlane.ir.verifier import verify
from gridlane.passes.structure.structurize import demotion, emission, jumps, placing, structurize
from gridlane.passes.structure.structurize import splitting as splits
from gridlane.passes.structure.structurize.flow import Node

SETTINGS = settings(deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
THREADS = 40
Make = Callable[[random.Random, int], Shape]

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 24)


def check(device: str, maker: Maker, states: np.ndarray) -> None:
    """Structure the kernel of a shape and compare what it logs with a walk of the shape."""
    shape = maker.shape
    labels = random.Random(len(shape.goals)).sample(range(1000), len(shape.goals))
    module = maker.module(labels)
    verify(module, CFG)
    text = print_module(module)
    structurize(module)
    verify(module)
    logs = np.zeros(len(states) * 2 * shape.log_size, np.uint32)
    got = run_on(device, module, (1, 1, 1), (len(states), 1, 1), [states, logs])
    if not np.array_equal(got.arrays[1], wanted(shape, states, len(states))):
        raise AssertionError(f"{text}\n{print_module(module)}")


def states_of(seed: int, count: int = THREADS) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**32, count, np.uint32)


@pytest.mark.parametrize("make", [random_shape, structured_shape])
@given(seed=seeds, size=sizes)
@settings(SETTINGS, max_examples=examples(40, 2000))
def test_the_interpreter_agrees(make: Make, seed: int, size: int) -> None:
    check("interp", Maker(make(random.Random(seed), size)), states_of(seed))


@pytest.mark.parametrize("make", [random_shape, structured_shape])
@given(seed=seeds, size=sizes)
@settings(SETTINGS, max_examples=examples(12, 400))
def test_the_cpu_agrees(make: Make, seed: int, size: int) -> None:
    check("cpu", Maker(make(random.Random(seed), size)), states_of(seed))


@pytest.mark.parametrize("device", [device for device in DEVICES if device != "cpu"])
@pytest.mark.parametrize("seed", [9, 22])
def test_devices_agree(device: str, seed: int) -> None:
    check(device, Maker(random_shape(random.Random(seed), 12)), states_of(seed))


@pytest.mark.parametrize("device", ["interp", "cpu"])
@given(seed=seeds, size=sizes, by_barrier=st.booleans())
@settings(SETTINGS, max_examples=examples(12, 400))
def test_threads_meet_again(device: str, seed: int, size: int, by_barrier: bool) -> None:
    """Threads take different paths, and all of them are counted in blocks that all paths have."""
    shape = random_shape(random.Random(seed), size)
    shape.meets = meeting_places(shape)
    count = THREADS if by_barrier else 32
    check(device, Maker(shape, "barrier" if by_barrier else "vote"), states_of(seed, count))


def check_meetings(device: str, shape: Shape, states: np.ndarray) -> None:
    """In every block vote at least the lanes that hardware with a stack of masks has there."""
    shape.meets = set(shape.reachable)
    module = Maker(shape, "lanes").module(list(range(len(shape.goals))))
    structurize(module)
    logs = np.zeros(32 * 2 * shape.log_size, np.uint32)
    got = run_on(device, module, (1, 1, 1), (32, 1, 1), [states, logs]).arrays[1].reshape(32, -1)
    for lane, masks in enumerate(least_together(shape, states)):
        voted = got[lane, 1 : 2 * len(masks) : 2]
        absent = [mask & ~int(vote) for mask, vote in zip(masks, voted, strict=True)]
        assert not any(absent), f"lane {lane} of\n{print_module(module)}"


@pytest.mark.parametrize("device", ["interp", "cpu"])
@given(seed=seeds, size=sizes)
@example(seed=29680, size=8)
@settings(SETTINGS, max_examples=examples(8, 400))
def test_threads_meet_at_the_post_dominator(device: str, seed: int, size: int) -> None:
    """Not in the middle of the condition of a loop: no nesting of loops says that."""
    shape = structured_shape(random.Random(seed), size, plain_loops=True)
    shape.switches.clear()
    check_meetings(device, shape, states_of(seed, 32))


SHARED = [[0, 1], [0, 2], [0, 3], []]
"""Three loops in each other with one header."""


@pytest.mark.parametrize("seed", range(4))
def test_threads_meet_behind_the_inner_of_loops_with_one_header(seed: int) -> None:
    check_meetings("interp", Shape(SHARED, [0, 0, 1, 2]), states_of(seed, 32))


NEXT = [[1], [2], [3, 4], [1, 2], [1, 5], []]
"""The loop of 2 and 3 in that of 1 to 4. From 3 a thread goes on in either."""


@pytest.mark.parametrize("seed", range(4))
def test_threads_in_different_iterations_do_not_meet(seed: int) -> None:
    """All paths from 3 come to 2, some of them in the next iteration of the outer loop. Those wait
    for the others behind the inner loop, not in the middle of it."""
    check_meetings("interp", Shape(NEXT, [0, 0, 1, 2, 2, 4]), states_of(seed, 32))


def test_threads_do_not_wait_for_others_that_spin() -> None:
    """A thread that has the lock gives it back in the iteration in which it got it."""
    module = parse_module(SPIN)
    structurize(module)
    word = np.zeros(1, np.int32)
    got = run_on("interp", module, (1, 1, 1), (8, 1, 1), [word])
    assert got.arrays[0][0] == 0


SPIN = """kernel @k(%p: ptr<i32, global>) {
  %free: i32 = const 0
  %held: i32 = const 1
  graph {
    block 0 { branch 1 }
    block 1 {
      %old: i32 = atomic_cas %p, %free, %held
      %busy: b1 = eq %old, %held
      branch_if %busy, 1, 2
    }
    block 2 {
      store %p, %free
      %again: b1 = lt %old, %free
      branch_if %again, 1, 3
    }
    block 3 { return }
  }
}
"""


@pytest.mark.parametrize("device", ["interp", "cpu"])
@given(seed=seeds, size=sizes)
@settings(SETTINGS, max_examples=examples(15, 400))
def test_barriers_of_threads_on_one_path(device: str, seed: int, size: int) -> None:
    """Every block has a barrier, and all threads go one way, which only the states tell."""
    shape = random_shape(random.Random(seed), size)
    shape.meets = set(shape.reachable)
    check(device, Maker(shape), np.repeat(states_of(seed, 1), THREADS))


COPIED = Shape([[1, 3], [2], [3, 7], [4], [5], [6, 7], [1], []], [0, 1, 1, 3, 3, 4, 5, 0])
"""The loop of 1 to 6 has two entries, 1 and 3. It is least to copy 1 and 2."""


def test_a_value_of_copied_blocks() -> None:
    check("interp", Maker(COPIED), states_of(0))


def test_barriers_are_not_copied() -> None:
    for seed in range(30):
        shape = random_shape(random.Random(seed), 12)
        shape.meets = set(shape.reachable)
        module = Maker(shape).module(list(range(len(shape.goals))))
        structurize(module)
        barriers = sum(op.barrier for op in module.kernel.body.walk())
        assert barriers == len(shape.reachable)


# ---- growth


def growth(function: Function) -> tuple[int, int]:
    before = ops_of(function)
    structurize(function)
    return before, ops_of(function)


def test_growth_of_ordinary_graphs() -> None:
    pairs = []
    for seed in range(40):
        shape = structured_shape(random.Random(seed), 20)
        module = Maker(shape).module(list(range(len(shape.goals))))
        pairs.append(growth(module.kernel))
    worst = max(after / before for before, after in pairs)
    mean = sum(after for _, after in pairs) / sum(before for before, _ in pairs)
    print(f"growth of ordinary graphs: {mean:.3f} on average, {worst:.3f} at most")
    assert worst <= 1.3


def adversarial(rng: random.Random, count: int) -> list[list[int]]:
    """Edges from anywhere to anywhere."""
    ends = [[rng.randrange(count), rng.randrange(count)] for _ in range(count)]
    return [goals if rng.random() < 0.9 else [] for goals in ends]


def test_growth_of_adversarial_graphs() -> None:
    """Blocks have three ops, so that what is added counts most."""
    found = []
    for seed in range(100):
        rng = random.Random(seed)
        before, after = growth(tiny_kernel(adversarial(rng, rng.choice((8, 20, 60, 200)))).kernel)
        found.append(after / before)
    print(f"growth of adversarial graphs: {sum(found) / 100:.3f} on average, {max(found):.3f}")
    assert max(found) <= 3


# ---- size and nesting


def diamonds(count: int) -> list[list[int]]:
    four = ([[n + 1, n + 2], [n + 3], [n + 3], [n + 4]] for n in range(0, count - 4, 4))
    return [*(goals for part in four for goals in part), []]


def nested_merges(count: int) -> list[list[int]]:
    half = count // 2
    return [
        *([n + 1, count - 1 - n] for n in range(half)),
        *([n + 1] for n in range(half, count - 1)),
        [],
    ]


def nested_loops(count: int) -> list[list[int]]:
    half = count // 2
    return [
        *([n + 1] for n in range(half)),
        *([count - 1 - n, n + 1] for n in range(half, count - 1)),
        [],
    ]


def guards(count: int) -> list[list[int]]:
    return [*([n + 1, count - 1] for n in range(count - 1)), []]


def choices(count: int) -> list[list[int]]:
    """A chain of elif."""
    half = count // 2
    tests = ([half + n, n + 1 if n + 1 < half else count - 1] for n in range(half))
    return [*tests, *([count - 1] for _ in range(half, count - 1)), []]


def two_entries(count: int) -> list[list[int]]:
    three = ([[n + 1, n + 2], [n + 2], [n + 1, n + 3]] for n in range(0, count - 4, 3))
    goals = [goals for part in three for goals in part]
    return [*goals, []]


def ways_into_a_loop(count: int) -> list[list[int]]:
    inner = ([n + 1] if n % 2 else [n + 1, max(1, n - 5)] for n in range(1, count - 1))
    return [[1, count // 2], *inner, []]


SHAPES = [diamonds, nested_merges, nested_loops, guards, choices, two_entries, ways_into_a_loop]


def depth_of(region: Region) -> int:
    depth, level = 0, [region]
    while level := [inner for region in level for op in region for inner in op.regions()]:
        depth += 1
    return depth


@pytest.mark.parametrize("shape", [guards, nested_merges, nested_loops, two_entries])
def test_ten_thousand_blocks(shape: Callable[[int], list[list[int]]]) -> None:
    """None makes the structurizer recurse."""
    module = tiny_kernel(shape(10_000))
    assert sys.getrecursionlimit() <= 1000
    before, after = growth(module.kernel)
    assert before / 2 < after <= 3 * before


@pytest.mark.parametrize("shape", SHAPES)
def test_work_is_nearly_linear(shape: Callable[[int], list[list[int]]]) -> None:
    """Four times the blocks take less than six times the calls."""
    few, many = (calls(tiny_kernel(shape(count)).kernel) for count in (300, 1200))
    assert many < 6 * few


def calls(function: Function) -> int:
    """The calls that structuring a function makes, of Python's functions and its own."""
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        structurize(function)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("shape", [diamonds, guards, choices, two_entries])
def test_what_follows_in_the_graph_follows_in_the_text(
    shape: Callable[[int], list[list[int]]],
) -> None:
    module = tiny_kernel(shape(400))
    structurize(module)
    verify(module)
    assert depth_of(module.kernel.body) <= emission.MOST_NESTED + 3


# ---- broken structurizers


def _sides_swapped(patch: pytest.MonkeyPatch) -> None:
    real = emission.Emission._if

    def swapped(self: emission.Emission, node: Node, goal: int, *rest: Any) -> None:
        real(self, node, next(each for each in node.goals if each != goal), *rest)

    patch.setattr(emission.Emission, "_if", swapped)


def _conditions_not_inverted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(emission.Emission, "_not", lambda self, node, condition, spot, home: condition)


def _leaves_dropped(patch: pytest.MonkeyPatch) -> None:
    real = jumps.Jumps._settled

    def settled(self: jumps.Jumps, op: Op, scope: Op | None, labels: Labels) -> Op:
        made = real(self, op, scope, labels)
        return control.ScopeOp(Region()) if isinstance(made, control.Leave) else made

    patch.setattr(jumps.Jumps, "_settled", settled)


def _loops_left_for_the_next_iteration(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(control, "Break", control.Continue)


def _values_not_kept(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(placing.Places, "sees", lambda self, node, home: True)


def _kept_too_late(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(demotion.Uses, "_write", lambda self, number, kept: None)


def _dispatch_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(splits._Splitter, "_redirect", _redirected_without_writes)


def _redirected_without_writes(
    self: splits._Splitter, node: Node, number: dict[int, Value], var: Var, header: int
) -> None:
    for goal in [goal for goal in node.goals if goal in number]:
        node.replace_goal(goal, header)


def _copies_share_values(patch: pytest.MonkeyPatch) -> None:
    real = splits._Splitter._copy

    def copied(self: splits._Splitter, *given: Any) -> None:
        self.uses.users.clear()
        real(self, *given)

    patch.setattr(splits._Splitter, "_copy", copied)


def _merges_in_reverse(patch: pytest.MonkeyPatch) -> None:
    real = emission.Emission._before_merges

    def reverse(self: emission.Emission, merges: list[int], *spot: Any) -> Any:
        return real(self, merges[::-1], *spot)

    patch.setattr(emission.Emission, "_before_merges", reverse)


BROKEN = [
    _sides_swapped,
    _conditions_not_inverted,
    _leaves_dropped,
    _loops_left_for_the_next_iteration,
    _values_not_kept,
    _kept_too_late,
    _dispatch_forgotten,
    _copies_share_values,
    _merges_in_reverse,
]


def test_loops_that_are_not_separated_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gridlane.passes.structure.structurize.separate_loops", lambda flow: None)
    with pytest.raises(AssertionError):
        for seed in range(4):
            check_meetings("interp", Shape(SHARED, [0, 0, 1, 2]), states_of(seed, 32))


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_structurizer_is_found(
    broken: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch)
    wrong = (AssertionError, VerifyError, KernelError, KeyError)
    shapes = (random_shape(random.Random(seed), 20) for seed in range(20))
    with pytest.raises(wrong):
        for seed, shape in enumerate([COPIED, *shapes]):
            check("interp", Maker(shape), states_of(seed, 8))
