"""Small integers held in 32 bits, not in memory: the same bits, and no small arithmetic."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.passes.legalizing import check, ops_of, tried, values_of
from tests.property.random_ir import random_program

from gridlane.conformance import cases, effects
from gridlane.ir.ops import arith, memory
from gridlane.ir.values import Module
from gridlane.passes.legalise.hold_small_integers import INTEGERS, hold_small_integers


def has_small(case: cases.Case) -> bool:
    return any(v.type in INTEGERS for op in ops_of(case.module) for v in values_of(op))


COMPUTED = (
    *(arith.Add, arith.Sub, arith.Mul, arith.Div, arith.Rem, arith.Neg, arith.Abs, arith.Not),
    *(arith.Shl, arith.Shr, arith.Min, arith.Max, arith.Lt, arith.Eq, arith.Select),
)
CASES = [case for case in [*cases.arithmetic(), *effects.effects()] if has_small(case)]


def computes_in_words(module: Module) -> None:
    """No small integer is computed with."""
    for op in ops_of(module):
        if isinstance(op, COMPUTED):
            assert not any(value.type in INTEGERS for value in values_of(op)), op


@pytest.mark.parametrize("case", tried(CASES), ids=str)
def test_the_answer_stays(case: cases.Case) -> None:
    computes_in_words(check(case, hold_small_integers))


@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 40))
@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples(20, 500))
def test_random_programs(seed: int, size: int) -> None:
    computes_in_words(check(random_program(seed, size), hold_small_integers))


def test_memory_stays() -> None:
    """A byte is stored as a byte, as no word is read that other threads may write."""
    case = next(case for case in CASES if str(case) == "store-u8")
    changed = check(case, hold_small_integers)
    stores = [op for op in ops_of(changed) if isinstance(op, memory.Store)]
    assert {str(op.value.type) for op in stores} == {"u8"}
