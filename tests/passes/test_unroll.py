"""Unroll factors of loops with a known trip count, and the budget of a kernel for them."""

from __future__ import annotations

import pytest

from gridlane.ir.ops.control import Loop
from gridlane.ir.parser import parse_module
from gridlane.ir.values import Module
from gridlane.passes.optimise import unroll


def loop(number: int, trips: int | None, ops: int) -> str:
    """A loop of additions; None: to a parameter."""
    stop = "%n" if trips is None else f"%stop{number}"
    made = [f"  %stop{number}: i32 = const {trips or 0}", f"  write $i{number}, %zero", "  loop {"]
    made += [
        f"  %now{number}: i32 = read $i{number}",
        f"  %over{number}: b1 = ge %now{number}, {stop}",
    ]
    made += [f"  if %over{number} {{", "  break", "  }"]
    made += [f"  %v{number}.{n}: i32 = add %now{number}, %n" for n in range(ops)]
    made += ["  } step {", f"  %old{number}: i32 = read $i{number}"]
    made += [f"  %new{number}: i32 = add %old{number}, %one", f"  write $i{number}, %new{number}"]
    return "\n".join([*made, "  }"])


def factors(*loops: tuple[int | None, int]) -> list[int]:
    """The factor of each loop, by (trip count, ops)."""
    variables = "\n".join(f"  var $i{n}: i32" for n in range(len(loops)))
    constants = "  %zero: i32 = const 0\n  %one: i32 = const 1"
    body = "\n".join(loop(n, *each) for n, each in enumerate(loops))
    module = parse_module(f"kernel @k(%n: i32) {{\n{variables}\n{constants}\n{body}\n}}")
    unroll.hint_unrolling(module)
    return factors_of(module)


def factors_of(module: Module) -> list[int]:
    return [op.unroll for op in module.kernel.body.walk() if isinstance(op, Loop)]


def test_short_loops_are_unrolled_in_full_and_long_ones_by_a_divisor() -> None:
    assert factors((12, 20), (1000, 20), (None, 20)) == [12, 20, 0]


def test_small_kernels_have_no_budget() -> None:
    assert factors(*[(12, 20)] * 30) == [12] * 30


def test_many_loops_share_a_budget() -> None:
    """Their factors shrink alike."""
    found = factors(*[(48, 14)] * 100)
    assert len(set(found)) == 1
    assert 1 < found[0] < 48 and 100 * (found[0] - 1) * 14 <= unroll.MOST_ADDED_TO_LARGE


@pytest.mark.parametrize("wish", [1, 3])
def test_a_factor_that_a_loop_has_stays(wish: int) -> None:
    text = "kernel @k(%n: i32) {\n  var $i0: i32\n  %zero: i32 = const 0\n  %one: i32 = const 1\n"
    module = parse_module(text + loop(0, 12, 4) + "\n}")
    (op,) = [op for op in module.kernel.body.walk() if isinstance(op, Loop)]
    op.unroll = wish
    unroll.hint_unrolling(module)
    assert factors_of(module) == [wish]


@pytest.mark.parametrize("stop, step, trips", [(12, 3, 4), (10, 3, 4), (1, 5, 1), (0, 2, 0)])
def test_the_trip_count_of_steps(stop: int, step: int, trips: int) -> None:
    """The last iteration may begin less than a step before the end."""
    head = "kernel @k(%n: i32) {\n  var $i0: i32\n  %zero: i32 = const 0\n"
    text = f"{head}  %one: i32 = const {step}\n"
    body = parse_module(text + loop(0, stop, 1) + "\n}").kernel.body
    (at,) = [at for at, op in enumerate(body.ops) if isinstance(op, Loop)]
    op = body.ops[at]
    assert isinstance(op, Loop)
    assert unroll.trip_count(op, body.ops[:at]) == trips == len(range(0, stop, step))
