"""The fused multiply-add of integers gives what the op does, bit for bit."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import pytest
from tests.devices import assert_same, run_on

from gridlane.conformance.cases import emitting, over, same_typed
from gridlane.core.dtypes import DType, bf16, f16, f32, f64
from gridlane.ir.op import FastMath
from gridlane.ir.ops import arith
from gridlane.ir.parser import parse_module
from gridlane.ir.verifier import verify
from gridlane.passes.legalise.fuse_exactly import fuse_exactly

COUNT = 4000


@dataclass(frozen=True)
class Range:
    """A float type as numpy has it, its bits, and the exponents of its largest and least."""

    numpy: type
    bits: int
    precision: int
    largest: int
    least: int


RANGES = {f32: Range(np.float32, 32, 24, 128, -149), f64: Range(np.float64, 64, 53, 1024, -1074)}


def anything(generator: random.Random, kind_: Range) -> float:
    """Any bits, or an everyday number, or few bits anywhere."""
    kind = generator.randrange(3)
    if kind == 0:
        raw = np.array(generator.getrandbits(kind_.bits), f"u{kind_.bits // 8}")
        return float(raw.view(kind_.numpy)[()])
    if kind == 1:
        return generator.uniform(-4, 4)
    return generator.randint(-(1 << 20), 1 << 20) * 2.0 ** generator.randint(-60, 60)


def anywhere(generator: random.Random, kind: Range) -> tuple[float, float, float]:
    return anything(generator, kind), anything(generator, kind), anything(generator, kind)


def cancelling(generator: random.Random, kind: Range) -> tuple[float, float, float]:
    """What is left of the product is its rounding error, or little more."""
    a, b = kind.numpy(generator.uniform(1, 2)), kind.numpy(generator.uniform(-2, 2))
    scale = kind.numpy(2.0 ** generator.randint(kind.least // 3, kind.largest // 3))
    last = 1 - kind.precision
    near = generator.choice((1, 1, 1 + 2.0**last, 1 - 2.0 ** (last // 2), 2))
    return float(a), float(b * scale), float(-(a * b) * scale * kind.numpy(near))


def subnormal(generator: random.Random, kind: Range) -> tuple[float, float, float]:
    half = kind.least // 2
    a, b = (generator.uniform(1, 2) * 2.0 ** generator.randint(half, half + 20) for _ in range(2))
    last = generator.randint(kind.least, kind.least + kind.precision)
    return a, b, generator.uniform(-1, 1) * 2.0**last


def overflowing(generator: random.Random, kind: Range) -> tuple[float, float, float]:
    half = kind.largest // 2
    a, b = (generator.uniform(1, 2) * 2.0 ** generator.randint(half - 2, half) for _ in range(2))
    return a, b, generator.choice((-1, 1, 0)) * generator.random() * 2.0 ** (kind.largest - 1)


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
@pytest.mark.parametrize("draw", [anywhere, cancelling, subnormal, overflowing])
def test_sums(draw, dtype: DType) -> None:
    generator, kind = random.Random(draw.__name__), RANGES[dtype]
    with np.errstate(all="ignore"):
        rows = [draw(generator, kind) for _ in range(COUNT)]
        columns = [np.array(column, kind.numpy) for column in zip(*rows)]
    compare(over("fma", str(dtype), [dtype] * 3, columns, emitting(arith.Fma)), dtype)


@pytest.mark.parametrize("dtype", [f32, f64, f16, bf16], ids=str)
def test_special_values(dtype: DType) -> None:
    (case,) = [case for case in same_typed(arith.Fma, 3) if case.label == str(dtype)]
    compare(case, dtype)


def compare(case, dtype: DType) -> None:
    launch = (case.grid, case.block, case.arrays)
    wanted = run_on("interp", case.module, *launch)
    fuse_exactly(case.module, dtype)
    verify(case.module)
    ops = [op for f in case.module.functions.values() for op in f.body.walk()]
    assert not any(isinstance(op, arith.Fma) for op in ops)
    assert_same(run_on("interp", case.module, *launch).arrays, wanted.arrays, case.labels)


def test_others_stay() -> None:
    (case,) = [case for case in same_typed(arith.Fma, 3) if case.label == str(f32)]
    fuse_exactly(case.module)
    assert any(isinstance(op, arith.Fma) for op in case.module.kernel.body.walk())


def test_what_may_round_twice_stays() -> None:
    module = parse_module("kernel @k(%x: f32) { %y: f32 = fma %x, %x, %x }")
    (op,) = module.kernel.body.ops
    assert isinstance(op, arith.Fma)
    op.fast = FastMath.CONTRACT
    fuse_exactly(module, f32)
    assert module.kernel.body.ops == [op]
