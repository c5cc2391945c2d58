"""Random kernels whose divergent loops the CPU runs lane by lane, whatever they cost, compute what
the interpreter does."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.devices import assert_same, run_on
from tests.effort import examples
from tests.property.random_ir import BLOCKS, KernelMaker, Maker, Program

from gridlane.codegen.llvm.cpu import control, serial
from gridlane.core.dtypes import ALL, b1, i32
from gridlane.ir.ops import arith, memory
from gridlane.ir.ops.control import Break, Continue, Loop
from gridlane.ir.printer import print_module
from gridlane.ir.values import Region

SETTINGS = settings(deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)


class WalkMaker(KernelMaker):
    """Makes kernels in which each thread walks along rows of the inputs, of a length of its own, in
    branches, scopes and loops, and adds to cells of all, without what lanes do together."""

    STATEMENTS = (*Maker.STATEMENTS, (8, "load"), (5, "store"), (12, "row"), (6, "shared_atomic"))

    def weights(self) -> list[int]:
        return [weight for weight, _ in self.STATEMENTS]

    def row(self) -> None:
        """Walk from a place of the thread's own to another one, up or down."""
        b, rng = self.b, self.rng
        if self.context.depth >= 3:
            return self.load()
        step = rng.choice((1, 1, 2, -1))
        at = b.variable("at", i32)
        b.write(at, b.cast(self.index(32), i32))
        length = b.rem(b.cast(self.index(64), i32), b.const(rng.choice((1, 3, 9)), i32))
        end = b.add(b.read(at), b.mul(length, b.const(step, i32)))
        loop = Loop(Region(), Region())
        b.emit(loop)
        with self.inside(loop.body, uniform=False, exits=(Break, Continue)):
            place = self.add(b.read(at))
            b.break_if(b.eq(place, end))
            dtype = rng.choice(self.types)
            index = b.and_(place, b.const(63, i32))
            self.emit(memory.Load(b.offset(rng.choice(self.inputs[dtype]), index)))
            for _ in range(rng.randint(1, 3)):
                self.statements(rng.randint(1, 3))
                self.exit_if()
            self.absorb()
        with self.inside(loop.step, uniform=False, exits=()):
            b.write(at, b.value(arith.Add(b.read(at), b.const(step, i32))))


def walking(seed: int, size: int) -> Program:
    """The program of a seed."""
    rng = random.Random(seed)
    types = [*rng.sample(ALL, rng.randint(1, 3)), b1]
    maker = WalkMaker(rng, rng.choice(BLOCKS), (rng.choice((1, 2)), 1, 1), types)
    return maker.program(size)


@contextmanager
def all_serial() -> Iterator[list[Any]]:
    """Run each loop by lanes that may run so; yields those loops."""
    found: list[Any] = []
    run = control.run_serially

    def noted(state: Any, loop: Any, emit: Any) -> None:
        found.append(loop)
        run(state, loop, emit)

    with (
        mock.patch.object(serial, "_is_cheaper", lambda *_: True),
        mock.patch.object(serial, "walks", lambda _: True),
        mock.patch.object(control, "run_serially", noted),
    ):
        yield found


def check(seed: int, size: int) -> int:
    """Compare one program; returns how many loops ran lane by lane."""
    program = walking(seed, size)
    launch = (program.module, program.grid, program.block, program.arrays, program.scalars)
    wanted = run_on("interp", *launch)
    with all_serial() as loops:
        got = run_on("cpu", *launch)
    try:
        assert got.raised == wanted.raised
        assert_same(got.arrays, wanted.arrays, program.labels)
    except AssertionError as error:
        text = print_module(program.module)
        raise AssertionError(
            f"{error}\ngrid {program.grid}, block {program.block}\n{text}"
        ) from None
    return len(loops)


@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 25))
@settings(SETTINGS, max_examples=examples(25, 1500))
def test_lanes_compute_alone_what_they_do_together(seed: int, size: int) -> None:
    check(seed, size)


def test_most_loops_run_lane_by_lane() -> None:
    """So that the comparison is one of those."""
    programs = [check(seed, 12) for seed in range(12)]
    assert sum(programs) > 12
