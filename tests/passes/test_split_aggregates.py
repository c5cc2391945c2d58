"""Structs and vectors taken apart."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.passes.legalizing import check, tried, types_in
from tests.property.random_ir import random_program

from gridlane.conformance import cases, effects
from gridlane.ir.types import StructType, VectorType
from gridlane.passes.legalise.split_aggregates import split_aggregates

FAMILIES = (effects.loads_and_stores, effects.variables_and_parts, effects.arrays_of_the_kernel)
CASES = [case for family in FAMILIES for case in family()]
CASES += [*cases.selects(), *cases.bitcasts()]


@pytest.mark.parametrize("case", tried(CASES), ids=str)
def test_the_answer_stays(case: cases.Case) -> None:
    left = types_in(check(case, split_aggregates))
    assert not any(isinstance(type_, StructType | VectorType) for type_ in left)


@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 40))
@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples(25, 300))
def test_random_programs(seed: int, size: int) -> None:
    left = types_in(check(random_program(seed, size), split_aggregates))
    assert not any(isinstance(type_, StructType | VectorType) for type_ in left)
