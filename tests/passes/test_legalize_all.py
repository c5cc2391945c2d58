"""All that a target of 32-bit words without binary64 needs, one pass behind the other."""

from __future__ import annotations

import pytest
from tests.ops import cases, effects
from tests.passes.legalizing import check, copied, ops_of, values_of
from tests.property.random_ir import random_program

from gridlane.core.dtypes import b1, f32, i32, u32
from gridlane.core.errors import TargetError
from gridlane.ir.ops import arith, control, memory
from gridlane.ir.types import PointerType
from gridlane.ir.values import Module
from gridlane.passes.inline import inline_calls
from gridlane.passes.legalize_atomics import legalize_atomics
from gridlane.passes.legalize_fp64 import legalize_fp64
from gridlane.passes.legalize_int64 import WORDS, legalize_int64
from gridlane.passes.legalize_small import legalize_small
from gridlane.passes.legalize_warps import legalize_warps
from gridlane.passes.promote import promote_variables
from gridlane.passes.split_aggregates import split_aggregates

EDGES = (memory.Address, memory.FromAddress, memory.Offset, control.Print, memory.Pack, memory.Part)
EDGES += (arith.Bitcast, arith.Cast)


def legalize(module: Module) -> None:
    split_aggregates(module)
    legalize_fp64(module, "exact")
    legalize_int64(module)
    legalize_small(module)
    legalize_atomics(module)
    inline_calls(module)
    legalize_warps(module)
    promote_variables(module)


def only_words(module: Module) -> None:
    plain = {b1, i32, u32, f32}
    for op in ops_of(module):
        if isinstance(op, EDGES):
            assert all(v.type != WORDS or not isinstance(v.op, memory.Load) for v in op.results)
            continue
        for value in values_of(op):
            assert isinstance(value.type, PointerType) or value.type in plain, op
    assert list(module.functions) == [module.kernel.name]
    for item in module.globals.values():
        assert item.element.size >= 4


def refused(module: Module) -> bool:
    try:
        legalize(copied(module))
    except TargetError as error:
        text = str(error)
        assert "no atomics" in text or "come together" in text, text
        return True
    return False


FAMILIES = (effects.loads_and_stores, effects.variables_and_parts, effects.arrays_of_the_kernel)
FAMILIES += (effects.calls, effects.branches, effects.ends, effects.addresses)
CASES = [case for family in FAMILIES for case in family()]
CASES += [*cases.casts(), *cases.bitcasts(), *cases.selects()]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_answer_stays(case: cases.Case) -> None:
    only_words(check(case, legalize))


def test_random_programs() -> None:
    done = 0
    for seed in range(40):
        program = random_program(seed, 15, lockstep=True)
        if not refused(program.module):
            only_words(check(program, legalize))
            done += 1
    assert done > 10
