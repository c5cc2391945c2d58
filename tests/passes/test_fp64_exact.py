"""f64 as integers, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.passes.legalizing import check, ops_of, tried, types_in, values_of
from tests.property.random_ir import random_program

from gridlane.conformance import cases, effects
from gridlane.conformance.special import grid_of, special
from gridlane.core.dtypes import bf16, f16, f32, f64
from gridlane.ir.families import PRODUCTS
from gridlane.ir.op import REGISTRY
from gridlane.ir.ops import arith, math
from gridlane.ir.values import Module
from gridlane.passes.legalise.fp64.exact import compute_exactly
from gridlane.passes.legalise.int64 import legalize_int64
from gridlane.passes.legalise.split_aggregates import split_aggregates


def legalize(module: Module) -> None:
    split_aggregates(module)
    compute_exactly(module)


def down_to_words(module: Module) -> None:
    legalize(module)
    legalize_int64(module)


def has_f64(case: cases.Case) -> bool:
    return any(value.type is f64 for op in ops_of(case.module) for value in values_of(op))


# Products of matrices are refused where f64 is computed so, and their accesses lowered before.
CASES = [
    case
    for case in [*cases.arithmetic(), *effects.effects()]
    if has_f64(case) and case.op not in PRODUCTS
]
MATH = [math.Exp, math.Log, math.Sin, math.Pow, math.Tgamma, math.Hypot]


@pytest.mark.parametrize("case", tried(CASES), ids=str)
def test_the_answer_stays(case: cases.Case) -> None:
    assert f64 not in types_in(check(case, legalize))


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.op in ("add", "mul", "fma", "cast", "floor")], ids=str
)
def test_down_to_words(case: cases.Case) -> None:
    case.arrays = [array[::7].copy() for array in case.arrays]
    case.module = cut(case)
    check(case, down_to_words)


def cut(case: cases.Case) -> Module:
    """The kernel for a seventh of the threads."""
    for op in case.module.kernel.body:
        if isinstance(op, arith.Const) and op.value == case.arrays[0].size:
            return case.module
    for op in case.module.kernel.body:
        if isinstance(op, arith.Const):
            op.value = min(op.value, case.arrays[0].size)
    return case.module


@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 40))
@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples(25, 300))
def test_random_programs(seed: int, size: int) -> None:
    program = random_program(seed, size)
    changed = check(program, legalize)
    scalars = [param.value for param in changed.kernel.params]
    for op in ops_of(changed):
        if not isinstance(op, arith.Bitcast):
            assert not any(v.type is f64 for v in values_of(op) if v not in scalars), op


def near_each_other(operands: int) -> list[np.ndarray]:
    """Operands whose sums cancel or tie but for the last bit, also among subnormal numbers."""
    rng = np.random.default_rng(11)
    size = 2000
    whole = 1 + rng.integers(0, 2**52, size) * 2.0**-52
    last = 1 + rng.integers(-2, 3, size) * 2.0**-52
    sign = rng.choice([-1.0, 1.0], size)
    halves = sign * last * 2.0**-53
    cancelling = -whole * 2.0 ** rng.integers(-3, 4, size) * last
    tiny = last * 2.0**-537, rng.choice([0.5, 1.5, 2.5, -3.5], size) * 2.0**-537
    a, b = np.tile(whole, 2), np.concatenate([halves, cancelling])
    raw = rng.integers(0, 2**64, (2, size), dtype=np.uint64).view(np.float64)
    columns = [np.concatenate([a, tiny[0], raw[0]]), np.concatenate([b, tiny[1], raw[1]])]
    if operands == 3:
        with np.errstate(all="ignore"):
            near = -columns[0] * columns[1]
            near[::3] *= 2.0**53
            near[1::9] = 2.0**-1074
        columns.append(near)
    return columns[:operands]


@pytest.mark.parametrize(
    "cls", [arith.Add, arith.Sub, arith.Mul, arith.Div, arith.Fma, math.Sqrt], ids=lambda c: c.name
)
def test_one_rounding(cls) -> None:
    count = len(cls.OPERAND_FIELDS)
    edges = grid_of(*[special(f64, 2)] * count)
    columns = [np.concatenate(parts) for parts in zip(edges, near_each_other(count))]
    check(cases.over(cls.name, "", [f64] * count, columns, cases.emitting(cls)), legalize)


@pytest.mark.parametrize("target", [f32, f16, bf16], ids=str)
def test_casts_round_once(target) -> None:
    bits = {f32: 24, f16: 11, bf16: 8}[target]
    ties = np.array([((1 << bits - 1) + k) * 2 + 1 for k in range(6)]) * 2.0**-bits
    near = np.concatenate([ties, ties * (1 + 2.0**-52), ties * (1 - 2.0**-53)])
    powers = [0, 1, 15, 16, 127, 128, -14, -15, -20, -24, -25, -126, -127, -133, -134, -149, -150]
    values = np.concatenate([near * 2.0**power for power in powers])
    build = lambda b, x: [b.cast(x, target)]  # noqa: E731
    check(cases.over("cast", "ties", [f64], [np.append(values, -values)], build), legalize)


@pytest.mark.parametrize("cls", MATH, ids=lambda c: c.name)
def test_functions_are_as_accurate_as_in_binary64(cls) -> None:
    """The same formulas in f64 give the same bits."""
    from gridlane.passes.legalise.math import NOTHING, legalize_math

    count = len(cls.OPERAND_FIELDS)
    values = np.concatenate([special(f64, 4), np.linspace(-30, 30, 40)])
    columns = grid_of(*[values] * count, limit=300)
    case = cases.over(cls.name, "", [f64] * count, columns, cases.emitting(REGISTRY[cls.name]))
    legalize_math(case.module, NOTHING)
    check(case, legalize)
