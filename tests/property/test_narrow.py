"""Narrowed integers change no answer: random kernels on the interpreter, before and after."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.devices import assert_same, run_on
from tests.effort import examples
from tests.property.random_ir import Program, random_program

from gridlane.backends import backend
from gridlane.backends.record import Fact
from gridlane.compiler import pipeline
from gridlane.core.compact import LIMIT
from gridlane.core.dtypes import i64
from gridlane.ir.parser import parse_module
from gridlane.ir.printer import print_module
from gridlane.ir.types import PointerType
from gridlane.ir.verifier import verify


def compact_program(seed: int, size: int) -> Program:
    """A random program whose arguments keep a compact launch's promise."""
    program = random_program(seed, size)
    params = program.module.kernel.params
    for param in params:
        if isinstance(param.value.type, PointerType):
            param.path = ("data",)
    plain = [p.value.type for p in params if not isinstance(p.value.type, PointerType)]
    scalars = tuple(
        max(-LIMIT, min(LIMIT, int(value))) if type_ is i64 else value
        for type_, value in zip(plain, program.scalars, strict=True)
    )
    return replace(program, scalars=scalars)


@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 40))
@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples(50, 1000))
def test_the_answer_stays(seed: int, size: int) -> None:
    program = compact_program(seed, size)
    text = print_module(program.module)
    narrowed = parse_module(text)
    pipeline.run(narrowed, backend("cuda"), {Fact.COMPACT, Fact.LIBDEVICE, Fact.ASYNC_COPIES})
    verify(narrowed)

    def outcome(module):
        launch = (program.grid, program.block, program.arrays, program.scalars)
        return run_on("interp", module, *launch)

    wanted, got = outcome(program.module), outcome(narrowed)
    try:
        assert got.raised == wanted.raised
        assert_same(got.arrays, wanted.arrays, program.labels)
    except AssertionError as error:
        raise AssertionError(
            f"{error}\n{text}\n--- narrowed ---\n{print_module(narrowed)}"
        ) from None
