"""The fused multiply-add of integers gives what the op does, bit for bit."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.devices import assert_same, run_on
from tests.ops.cases import emitting, over, same_typed

from gridlane.core.dtypes import f32, f64
from gridlane.ir.ops import arith
from gridlane.ir.verifier import verify
from gridlane.passes.fuse_exactly import fuse_exactly

COUNT = 4000


def anything(generator: random.Random) -> float:
    """Any bits, or an everyday number, or few bits anywhere."""
    kind = generator.randrange(3)
    if kind == 0:
        return float(np.array(generator.getrandbits(64), np.uint64).view(np.float64)[()])
    if kind == 1:
        return generator.uniform(-4, 4)
    return generator.randint(-(1 << 20), 1 << 20) * 2.0 ** generator.randint(-60, 60)


def anywhere(generator: random.Random) -> tuple[float, float, float]:
    return anything(generator), anything(generator), anything(generator)


def cancelling(generator: random.Random) -> tuple[float, float, float]:
    """What is left of the product is its rounding error, or little more."""
    a, b = generator.uniform(1, 2), generator.uniform(-2, 2)
    scale = 2.0 ** generator.randint(-400, 400)
    return a, b * scale, -(a * b) * scale * generator.choice((1, 1, 1 + 2**-52, 1 - 2**-30, 2))


def subnormal(generator: random.Random) -> tuple[float, float, float]:
    a, b = (generator.uniform(1, 2) * 2.0 ** generator.randint(-540, -500) for _ in range(2))
    return a, b, generator.uniform(-1, 1) * 2.0 ** generator.randint(-1074, -1020)


def overflowing(generator: random.Random) -> tuple[float, float, float]:
    a, b = (generator.uniform(1, 2) * 2.0 ** generator.randint(510, 513) for _ in range(2))
    return a, b, generator.choice((-1, 1, 0)) * generator.random() * 2.0**1023


@pytest.mark.parametrize("draw", [anywhere, cancelling, subnormal, overflowing])
def test_sums(draw) -> None:
    generator = random.Random(draw.__name__)
    with np.errstate(all="ignore"):
        rows = [draw(generator) for _ in range(COUNT)]
    columns = [np.array(column, np.float64) for column in zip(*rows)]
    compare(over("fma", "f64", [f64] * 3, columns, emitting(arith.Fma)))


def test_special_values() -> None:
    (case,) = [case for case in same_typed(arith.Fma, 3) if case.label == "f64"]
    compare(case)


def compare(case) -> None:
    launch = (case.grid, case.block, case.arrays)
    wanted = run_on("interp", case.module, *launch)
    fuse_exactly(case.module)
    verify(case.module)
    ops = [op for f in case.module.functions.values() for op in f.body.walk()]
    assert not any(isinstance(op, arith.Fma) for op in ops)
    assert_same(run_on("interp", case.module, *launch).arrays, wanted.arrays, case.labels)


def test_others_stay() -> None:
    (case,) = [case for case in same_typed(arith.Fma, 3) if case.label == str(f32)]
    fuse_exactly(case.module)
    assert any(isinstance(op, arith.Fma) for op in case.module.kernel.body.walk())
