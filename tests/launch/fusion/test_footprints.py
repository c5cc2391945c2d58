"""How far two launches reach into each other, against all pairs of their threads."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.effort import examples

from gridlane import cuda
from gridlane.analysis.footprints.ownership import Reach, Side, meeting
from gridlane.analysis.footprints.walk import Access, Footprint, Launch, footprint
from gridlane.compiler.fusion import MemberCode
from gridlane.core.generated_text import function_of
from gridlane.core.options import KernelOptions
from gridlane.core.source import UNKNOWN
from gridlane.cuda import types
from gridlane.frontends.python.kernel_source import PythonSource

GRID, BLOCK = (3, 2, 1), (4, 3, 1)
BASE = 1 << 20

TEXT = """
def kernel(x, n, m):
    i, j = cuda.grid(2)
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    if {guard}:
        {access}
"""
GUARDS = [
    "True",
    "i < n",
    "j < m",
    "i < n and j < m",
    "t == 0",
    "b < 2",
    "t < n and b < m",
    "i > 1",
]
LOOPS = ["x[{}] = 1", "for k in range(2):\n            x[{} + k] = 1", "x[({}) % 5] = 1"]

terms = st.tuples(
    *[st.sampled_from([0, 0, 1, 2, 3, 4, 12, 16]) for _ in range(4)], st.integers(0, 3)
)
accesses = st.tuples(terms, st.sampled_from(GUARDS), st.sampled_from(LOOPS))


def index_of(factors: tuple[int, ...]) -> str:
    names = "i", "j", "t", "b"
    parts = [f"{factor} * {name}" for factor, name in zip(factors, names, strict=False) if factor]
    return " + ".join([*parts, str(factors[4])])


def found(access: Any, numbers: tuple[int, int]) -> Footprint:
    """The footprint of a kernel with one access."""
    factors, guard, form = access
    text = TEXT.format(guard=guard, access=form.format(index_of(factors)))
    function = function_of(text, "kernel", {"cuda": cuda})
    code = MemberCode(
        PythonSource(function), (types.float32[::1], types.int64, types.int64), KernelOptions()
    )
    values = {0: BASE, 1: 100, 2: 4, 3: numbers[0], 4: numbers[1]}
    return footprint(code.module.kernel, Launch(GRID, BLOCK, values))


def touched(access: Any, numbers: tuple[int, int]) -> set[tuple[Any, int]]:
    """Each (thread, element) that a kernel writes, by plain Python."""
    factors, guard, form = access
    pairs: set[tuple[Any, int]] = set()
    expression = index_of(factors)
    for b, c, t, s in itertools.product(range(3), range(2), range(4), range(3)):
        scope = {"i": 4 * b + t, "j": 3 * c + s, "t": t, "b": b, "n": numbers[0], "m": numbers[1]}
        if eval(guard, scope):
            index = eval(expression, scope)
            if "range" in form:
                pairs |= {((b, c, t, s), index + k) for k in range(2)}
            else:
                pairs.add(((b, c, t, s), index % 5 if "%" in form else index))
    return pairs


def true_reach(one: set[tuple[Any, int]], other: set[tuple[Any, int]]) -> Reach:
    farthest = Reach.NONE
    for (mine, first), (theirs, last) in itertools.product(one, other):
        if first == last:
            reach = Reach.THREAD if mine == theirs else Reach.BLOCK
            farthest = max(farthest, reach if mine[:2] == theirs[:2] else Reach.GRID)
    return farthest


PLAIN = (1, 0, 0, 0, 0), "j < m", LOOPS[0]


@settings(max_examples=examples(150, 3000), suppress_health_check=[HealthCheck.too_slow])
@given(accesses, accesses, st.sampled_from([(12, 6), (7, 4), (1, 1), (40, 2), (0, 3)]))
@example(((1, 12, 0, 0, 0), "True", LOOPS[0]), ((1, 12, 0, 0, 0), "True", LOOPS[0]), (12, 6))
@example(((1, 12, 0, 0, 0), "True", LOOPS[0]), ((1, 12, 0, 0, 1), "True", LOOPS[0]), (12, 6))
@example(((2, 0, 0, 0, 0), "j < m", LOOPS[1]), ((2, 0, 0, 0, 1), "j < m", LOOPS[0]), (12, 1))
def test_reaches_are_never_less_than_they_are(
    one: Any, other: Any, numbers: tuple[int, int]
) -> None:
    truth = true_reach(touched(one, numbers), touched(other, numbers))
    assert reach_of(one, other, numbers) >= truth


def reach_of(one: Any, other: Any, numbers: tuple[int, int] = (12, 6)) -> Reach:
    one_side, other_side = (
        Side(found(each, numbers), {0: BASE}, lambda address: (BASE, BASE + 4096))
        for each in (one, other)
    )
    extents = {("block", n): e for n, e in enumerate(GRID)}
    extents |= {("thread", n): e for n, e in enumerate(BLOCK)}
    return meeting(one_side, other_side, extents).reach


def test_the_same_index_is_each_threads_own() -> None:
    rows = (1, 12, 0, 0, 0), "i < n and j < m", LOOPS[0]
    assert reach_of(rows, rows) is Reach.THREAD


def test_a_row_longer_than_its_guard_is_each_threads_own() -> None:
    rows = (1, 7, 0, 0, 0), "i < n and j < m", LOOPS[0]
    assert reach_of(rows, rows, (7, 6)) is Reach.THREAD
    assert reach_of(rows, rows, (8, 6)) is Reach.GRID


def test_a_turned_index_is_not() -> None:
    assert reach_of(((1, 12, 0, 0, 0), "True", LOOPS[0]), ((6, 1, 0, 0, 0), "True", LOOPS[0])) is (
        Reach.GRID
    )


def test_two_elements_of_a_thread_are_its_own() -> None:
    one = (2, 24, 0, 0, 0), "True", LOOPS[1]
    assert reach_of(one, ((2, 24, 0, 0, 1), "True", LOOPS[0])) is Reach.THREAD
    assert reach_of(one, ((2, 24, 0, 0, 2), "True", LOOPS[0])) is Reach.GRID


def test_accesses_beyond_each_other_do_not_meet() -> None:
    low = (1, 0, 0, 0, 0), "True", LOOPS[0]
    assert reach_of(low, ((1, 0, 0, 0, 3), "i > 1", LOOPS[0]), (12, 6)) is Reach.GRID
    assert reach_of(((0, 0, 1, 0, 0), "True", LOOPS[0]), ((16, 0, 0, 0, 3), "i > 1", LOOPS[0])) is (
        Reach.NONE
    )


def test_unknown_addresses_may_be_anywhere_in_the_allocation() -> None:
    access = Access(True, 4, None, frozenset([0]), (), UNKNOWN)
    side = Side(Footprint([access]), {0: BASE}, lambda address: (BASE, BASE + 400))
    far = Side(Footprint([access]), {0: BASE + 400}, lambda address: (BASE + 400, BASE + 800))
    extents = {("block", 0): 2}
    assert meeting(side, side, extents).reach is Reach.GRID
    assert meeting(side, far, extents).reach is Reach.NONE
    assert meeting(side, Side(Footprint([access]), {0: BASE}, lambda a: None), extents).reach is (
        Reach.GRID
    )
