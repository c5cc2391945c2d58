"""All that a target of 32-bit words without binary64 needs, one pass behind the other."""

from __future__ import annotations

import pytest
from tests.effort import examples
from tests.passes.legalizing import check, copied, ops_of, tried, values_of
from tests.property.random_ir import random_program

from gridlane.backends import backend
from gridlane.compiler import pipeline
from gridlane.conformance import cases, effects
from gridlane.core.dtypes import b1, f32, i32, u32
from gridlane.core.errors import TargetError
from gridlane.core.features import Feature
from gridlane.core.options import KernelOptions
from gridlane.ir.ops import arith, control, memory
from gridlane.ir.types import PointerType
from gridlane.ir.values import Module
from gridlane.passes.legalise.int64 import WORDS

EDGES = (memory.Address, memory.FromAddress, memory.Offset, control.Print, memory.Pack, memory.Part)
EDGES += (arith.Bitcast, arith.Cast)


def legalize(module: Module) -> None:
    pipeline.run(module, backend("webgpu"), {Feature.ROUNDS}, KernelOptions(fp64="exact"))


def only_words(module: Module) -> None:
    plain = {b1, i32, u32, f32}
    for op in ops_of(module):
        if isinstance(op, EDGES):
            assert all(v.type != WORDS or not isinstance(v.op, memory.Load) for v in op.results)
            continue
        for value in values_of(op):
            assert isinstance(value.type, PointerType) or value.type in plain, op
    others = [function for function in module.functions.values() if not function.is_kernel]
    assert all(function.is_library for function in others)
    for item in module.globals.values():
        assert item.element.size >= 4


def refused(module: Module) -> bool:
    try:
        legalize(copied(module))
    except TargetError as error:
        text = str(error)
        assert "atomics have 32 bits" in text or "no pointers to both" in text, text
        return True
    return False


FAMILIES = (effects.loads_and_stores, effects.variables_and_parts, effects.arrays_of_the_kernel)
FAMILIES += (effects.calls, effects.branches, effects.ends, effects.addresses)
CASES = [case for family in FAMILIES for case in family()]
CASES += [*cases.casts(), *cases.bitcasts(), *cases.selects()]
CASES = [case for case in CASES if case.op not in backend("webgpu").reasons]


@pytest.mark.parametrize("case", tried(CASES), ids=str)
def test_the_answer_stays(case: cases.Case) -> None:
    only_words(check(case, legalize))


def test_random_programs() -> None:
    done = 0
    for seed in range(examples(10, 200)):
        program = random_program(seed, 15)
        if not refused(program.module):
            only_words(check(program, legalize))
            done += 1
    assert done > 5
