"""64-bit integers as pairs of words: the same bits, and nothing of 64 bits left inside."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.passes.legalizing import check, ops_of, tried, values_of
from tests.property.random_ir import random_program

from gridlane.conformance import cases, effects
from gridlane.conformance.special import grid_of
from gridlane.core.dtypes import FLOATS, i32, i64, u64
from gridlane.core.errors import TargetError
from gridlane.ir.families import CLUSTERS, MBARRIERS, TENSORS, TILES
from gridlane.ir.ops import arith, atomic, control, memory
from gridlane.ir.values import Module
from gridlane.passes.legalise.int64 import WORDS, legalize_int64
from gridlane.passes.legalise.split_aggregates import split_aggregates

WIDE = (i64, u64)


def legalize(module: Module) -> None:
    split_aggregates(module)
    legalize_int64(module)


def has_wide(case: cases.Case) -> bool:
    types = {value.type for op in ops_of(case.module) for value in values_of(op)}
    return bool(types & {i64, u64})


def is_wide_atomic(op) -> bool:
    return isinstance(op, atomic.Atomic | atomic.AtomicCas) and op.results[0].type in WIDE


ALL_CASES = [c for c in [*cases.arithmetic(), *effects.effects()] if has_wide(c)]
ATOMICS = [c for c in ALL_CASES if any(map(is_wide_atomic, ops_of(c.module)))]
# Languages of words read no clock, have no atomics of 128 bits and no mbarriers.
REFUSED = {"machine", "atomic_cas_pair", *CLUSTERS, *MBARRIERS, *TENSORS}
CASES = [c for c in ALL_CASES if c not in ATOMICS and c.op not in REFUSED | TILES]


def at_edge(module: Module) -> None:
    """What is left of 64-bit integers is what the pass says."""
    for op in ops_of(module):
        if isinstance(op, arith.Bitcast):
            assert (op.value.type in WIDE) + (op.type in WIDE) <= 1, op
            if op.value.type in WIDE:
                assert op.type == WORDS, op
                assert op.value.op is None or isinstance(op.value.op, memory.Address), op
            if op.type in WIDE:
                assert op.value.type == WORDS, op
            continue
        if any(value.type in WIDE for value in op.results):
            assert isinstance(op, memory.Address), op
        if any(value.type in WIDE for value in op.operands()):
            assert isinstance(op, memory.Offset | memory.FromAddress | control.Print), op
    for function in module.functions.values():
        assert not {var.type for var in function.variables} & {i64, u64}
        assert function.is_kernel or not {p.value.type for p in function.params} & {i64, u64}


@pytest.mark.parametrize("case", tried(CASES), ids=str)
def test_the_answer_stays(case: cases.Case) -> None:
    at_edge(check(case, legalize))


@pytest.mark.parametrize("case", ATOMICS, ids=str)
def test_atomics_are_refused(case: cases.Case) -> None:
    with pytest.raises(TargetError, match=r"no atomics on [iu]64"):
        legalize(case.module)


@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 40))
@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples(20, 750))
def test_random_programs(seed: int, size: int) -> None:
    program = random_program(seed, size)
    if any(map(is_wide_atomic, ops_of(program.module))):
        with pytest.raises(TargetError, match="no atomics"):
            legalize(program.module)
        return
    at_edge(check(program, legalize))


@pytest.mark.parametrize("dtype", WIDE, ids=str)
def test_numbers_near_halves_of_floats(dtype) -> None:
    """Ties and their neighbours, of every width of number."""
    base = [(2**p + d) << s for p in (8, 11, 24) for d in (0, 1, 2, 3) for s in range(0, 40, 3)]
    near = [n + e for n in base for e in (-1, 0, 1)] + [2**63 - 1, 2**63 - 2**38, 2**62 + 2**38]
    numbers = np.array([n % 2**63 for n in near] + [-(n % 2**63) for n in near], np.int64)

    def build(b, value):
        return [b.value(arith.Cast(value, to)) for to in FLOATS]

    check(cases.over("cast", "ties", [dtype], [numbers.view(dtype.numpy)], build), legalize)


NUMBERS = 0, 1, -1, 1 << 31, 1 << 32, -(1 << 31), -(1 << 32), 0x7FFFFFFF00000001, -(2**63), 12345
PLACES = 0, 1, 11, 31, 32, 33, 52, 63, 64, 65, 96, 127, 128, 0x7FFFFFFF


@pytest.mark.parametrize("dtype", WIDE, ids=str)
def test_shifts_by_known_and_by_other_places(dtype) -> None:
    def build(b, x, *amounts):
        known = [b.const(places, i32) for places in (*PLACES, -1, -31, -64)]
        known += [b.const(places, u64) for places in (*PLACES, 2**32, 2**32 + 5, 2**64 - 1)]
        return [b.value(op(x, n)) for op in (arith.Shl, arith.Shr) for n in (*known, *amounts)]

    places = [*PLACES, -1, -31, -64]
    numbers = np.array(NUMBERS, np.int64).view(dtype.numpy)
    columns = grid_of(numbers, np.array(places, np.int32), np.array(places, np.int64))
    check(cases.over("shl", "", [dtype, i32, i64], columns, build), legalize)


@pytest.mark.parametrize("dtype", WIDE, ids=str)
def test_operations_with_known_words(dtype) -> None:
    known = [number if dtype is i64 else number % 2**64 for number in NUMBERS]
    binary = (arith.Add, arith.Sub, arith.And, arith.Or, arith.Xor, arith.Eq, arith.Ne)
    binary += (arith.Lt, arith.Le, arith.Gt, arith.Ge, arith.Min, arith.Max)

    def build(b, x):
        constants = [b.const(number, dtype) for number in known]
        pairs = [(x, n) for n in constants] + [(n, x) for n in constants]
        pairs += [(n, m) for n in constants[:5] for m in constants[:5]]
        made = [b.value(op(*pair)) for op in binary for pair in pairs]
        test = b.value(arith.Lt(x, constants[-1]))
        return made + [b.select(test, n, m) for n, m in pairs]

    column = np.array([*NUMBERS, 2, -2, 12346], np.int64).view(dtype.numpy)
    check(cases.over("add", "", [dtype], [column], build), legalize)


def test_an_index_that_was_extended_is_taken_as_it_was() -> None:
    case = next(c for c in CASES if str(c) == "add-i64")
    legalize(case.module)
    offsets = [op for op in ops_of(case.module) if isinstance(op, memory.Offset)]
    assert {str(op.index.type) for op in offsets} == {"i32"}
