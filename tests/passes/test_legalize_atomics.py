"""Atomics made of the compare-and-swap of words."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.passes.legalizing import check, ops_of, tried
from tests.property.random_ir import random_program

from gridlane.conformance import cases, effects
from gridlane.core.errors import TargetError
from gridlane.ir.ops import atomic, memory
from gridlane.ir.types import Space
from gridlane.ir.values import Module
from gridlane.passes.legalise.atomics import integers_of_32_bits, legalize_atomics
from gridlane.passes.legalise.small import legalize_small
from gridlane.passes.legalise.split_aggregates import split_aggregates

Kind = atomic.AtomicKind


def atomics_of(module: Module) -> list:
    return [op for op in ops_of(module) if isinstance(op, atomic.Atomic | atomic.AtomicCas)]


def legalize(module: Module) -> None:
    split_aggregates(module)
    legalize_small(module)
    legalize_atomics(module)


def with_wide(kind, dtype) -> bool:
    """A target that swaps 64 bits and does no more with them."""
    return integers_of_32_bits(kind, dtype) or (kind is None and str(dtype) == "u64")


def only_swaps(kind, dtype) -> bool:
    return kind is None and str(dtype) in ("u32", "u64")


ALL_CASES = [case for case in effects.atomics()]
WIDE = [c for c in ALL_CASES if any(op.result.type.size == 8 for op in atomics_of(c.module))]
CASES = [case for case in ALL_CASES if case not in WIDE]


@pytest.mark.parametrize("case", tried(CASES), ids=str)
def test_the_answer_stays(case: cases.Case) -> None:
    for op in atomics_of(check(case, legalize)):
        kind = op.kind if isinstance(op, atomic.Atomic) else None
        assert integers_of_32_bits(kind, op.result.type), op
        assert memory.space_of(op.pointer) is not Space.LOCAL


@pytest.mark.parametrize("keep", [with_wide, only_swaps])
@pytest.mark.parametrize(
    "case", tried([c for c in ALL_CASES if "8" not in str(c) and "16" not in str(c)])
)
def test_where_64_bits_can_be_swapped(case: cases.Case, keep) -> None:
    for op in atomics_of(check(case, lambda module: legalize_atomics(module, keep))):
        assert keep(op.kind if isinstance(op, atomic.Atomic) else None, op.result.type), op


@pytest.mark.parametrize("case", WIDE, ids=str)
def test_64_bits_are_refused(case: cases.Case) -> None:
    with pytest.raises(TargetError, match="no atomics of 64 bits"):
        legalize_atomics(case.module)


@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 40))
@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples(20, 300))
def test_random_programs(seed: int, size: int) -> None:
    def change(module: Module) -> None:
        split_aggregates(module)
        legalize_small(module)
        legalize_atomics(module, only_swaps)

    check(random_program(seed, size), change)
