"""Values of 8 and 16 bits held in 32: the same bits, and nothing smaller left inside."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.devices import assert_same
from tests.effort import examples
from tests.passes.legalizing import check, copied, ops_of, run, tried, values_of
from tests.property.random_ir import random_program

from gridlane.conformance import cases, effects, suite
from gridlane.conformance.special import grid_of, special
from gridlane.core.dtypes import b1, bf16, f16, f64, i32, i64, u32, u64
from gridlane.core.errors import TargetError
from gridlane.ir.families import TILES
from gridlane.ir.ops import arith, atomic, control, memory
from gridlane.ir.values import Module
from gridlane.passes.legalise import small
from gridlane.passes.legalise.hold_small_integers import hold_small_integers
from gridlane.passes.legalise.int64 import legalize_int64
from gridlane.passes.legalise.small import HELD, legalize_small
from gridlane.passes.legalise.split_aggregates import split_aggregates


def legalize(module: Module) -> None:
    split_aggregates(module)
    legalize_small(module)


def legalize_both(module: Module) -> None:
    split_aggregates(module)
    legalize_int64(module)
    legalize_small(module)


def has_small(case: cases.Case) -> bool:
    return any(v.type in (b1, *HELD) for op in ops_of(case.module) for v in values_of(op))


def has_wide_atomic(module: Module) -> bool:
    kinds = atomic.Atomic | atomic.AtomicCas
    return any(isinstance(op, kinds) and op.result.type in (i64, u64) for op in ops_of(module))


ALL = [*cases.arithmetic(), *effects.effects()]
CASES = [c for c in ALL if has_small(c) and c.op not in TILES]


def at_edge(module: Module) -> None:
    """What is left of small types is what the pass says."""
    for op in ops_of(module):
        if isinstance(op, memory.Load):
            assert op.result.type.size >= 4, op
        if isinstance(op, memory.Store):
            assert op.value.type.size >= 4, op
        if isinstance(op, arith.Cast | arith.Bitcast):
            small = op.value.type in HELD
            assert not small or op.value.op is None or isinstance(op.value.op, arith.Bitcast), op
            continue
        assert not any(value.type in HELD for value in op.results), op
        if any(value.type in HELD for value in op.operands()):
            assert isinstance(op, control.Print), op
    for function in module.functions.values():
        assert not {var.type for var in function.variables} & set(HELD)
        assert function.is_kernel or not {p.value.type for p in function.params} & set(HELD)


@pytest.mark.parametrize("case", tried(CASES), ids=str)
def test_the_answer_stays(case: cases.Case) -> None:
    at_edge(check(case, legalize))


@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 40))
@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples(15, 500))
def test_random_programs(seed: int, size: int) -> None:
    program = random_program(seed, size)
    change = legalize if has_wide_atomic(program.module) else legalize_both
    at_edge(check(program, change))


@pytest.mark.parametrize("dtype", [f16, bf16], ids=str)
def test_every_number_keeps_its_bits(dtype) -> None:
    every = np.arange(2**16, dtype=np.uint16)

    def build(b, x):
        half = b.bitcast(x, dtype)
        return [b.bitcast(half, x.type), b.cast(half, f64), b.cast(half, i32), b.neg(half)]

    check(cases.over("bitcast", "every", [HELD_U16], [every], build), legalize)


HELD_U16 = next(dtype for dtype in HELD if str(dtype) == "u16")


@pytest.mark.parametrize("dtype", [f16, bf16], ids=str)
def test_multiply_add_rounds_once(dtype) -> None:
    """Products and sums at every distance: ties, subnormal results, overflow, cancellation."""
    rng = np.random.default_rng(5)
    raw = [rng.integers(0, 2**16, 4000, dtype=np.uint16).view(dtype.numpy) for _ in range(3)]
    a, b, c = raw
    with np.errstate(all="ignore"):
        near = a.astype("f8") * b.astype("f8") * rng.choice([-1, 1, 256, -2048, 2.0**-9], a.size)
        c[::2] = near.astype(dtype.numpy)[::2]
    half = -66 if dtype is bf16 else -12
    least = 2.0 ** (2 * half - (dtype is bf16))  # the least subnormal number
    few = np.array([1.0, 1.25, 1.5, 1.75, -1.0])
    tiny = grid_of(
        few * 2.0**half,
        np.concatenate([few * 2.0 ** (half + shift) for shift in range(-4, 9)]),
        np.array([0.0, least, -least, 3 * least, 128 * least, -128 * least]),
    )
    tiny = [column.astype(dtype.numpy) for column in tiny]
    edges = grid_of(*[special(dtype, 3)] * 3)
    columns = [np.concatenate(parts) for parts in zip(raw, edges, tiny)]
    check(cases.over("fma", "", [dtype] * 3, columns, cases.emitting(arith.Fma)), legalize)


@pytest.mark.parametrize("target", [f16, bf16], ids=str)
@pytest.mark.parametrize("source", [i32, u32, i64, u64, f64], ids=str)
def test_conversions_round_once(source, target) -> None:
    bits = 8 if target is bf16 else 11
    ties = [
        (((1 << bits) + k) * 2 + 1 << s) + d
        for k in range(4)
        for s in range(52 - bits)
        for d in (-1, 0, 1)
    ]
    ties = [t % 2 ** (source.bits - 1) if source.is_integer else float(t) for t in ties]
    values = np.array(ties, np.float64 if source is f64 else np.int64).astype(source.numpy)
    if source is f64:
        values = np.concatenate([values * 2.0**-p for p in (0, 20, 40, 55, 150, 165, 175)])
    values = np.concatenate([values, -values])
    build = lambda b, x: [b.value(arith.Cast(x, target))]  # noqa: E731
    check(cases.over("cast", "ties", [source], [values], build), legalize)


def test_neighbours_survive() -> None:
    """Threads that write the bytes of one word all leave theirs."""
    case = next(c for c in CASES if str(c) == "store-u8")
    changed = check(case, legalize)
    assert any(isinstance(op, atomic.AtomicCas) for op in ops_of(changed))


BY_RANGE = [c for c in suite.cases() if c.op in small.BY_RANGE and c.label in ("i8", "u16", "f16")]


@pytest.mark.parametrize("case", BY_RANGE, ids=str)
def test_ops_of_a_range_are_expanded_before(case: cases.Case) -> None:
    """A sum that saturates at i8's limits does not at those of i32."""
    with pytest.raises(TargetError, match=f"{case.op}: .* expand-ops replaces some before"):
        legalize_small(copied(case.module))
    changed = copied(case.module)
    hold_small_integers(changed)
    assert_same(run(changed, case), run(case.module, case), [*case.labels, "raised"])


def test_there_are_such_ops() -> None:
    assert {case.op for case in BY_RANGE} == small.BY_RANGE
