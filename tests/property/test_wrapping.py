"""Integers that are made of thread numbers, wrap around, are narrowed, widened and compared: what a
vectoriser takes as linear in the lane must be so."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.devices import DEVICES, assert_same, run_on
from tests.effort import examples

from gridlane.conformance.kernels import Kernel
from gridlane.core.dtypes import INTEGERS, DType, i32, i64, u64
from gridlane.ir.builder import Builder
from gridlane.ir.ops import arith
from gridlane.ir.values import Module, Value

COMPARES = (arith.Lt, arith.Le, arith.Gt, arith.Ge)
BLOCKS = ((64, 1, 1), (16, 1, 1), (40, 1, 1))
THREADS = 192

seeds = st.integers(0, 2**32)


def constant(rng: random.Random, b: Builder, dtype: DType) -> Value:
    """A small number, a power of two, an end of the type, or any."""
    small, power = rng.randint(-40, 40), 2 ** rng.randrange(64)
    number = rng.choice([small, power, rng.getrandbits(64), dtype.min, dtype.max])
    return b.const(int(dtype.wrap(number)), dtype)


def step(rng: random.Random, b: Builder, value: Value) -> Value:
    """An op on a value."""
    dtype = value.type
    assert isinstance(dtype, DType)
    amount = b.const(rng.randrange(dtype.bits), dtype)
    made = (
        lambda: arith.Cast(value, rng.choice(INTEGERS)),
        lambda: arith.Cast(value, rng.choice((i64, u64))),
        lambda: arith.Add(value, constant(rng, b, dtype)),
        lambda: arith.Sub(value, constant(rng, b, dtype)),
        lambda: arith.Sub(constant(rng, b, dtype), value),
        lambda: arith.Mul(value, constant(rng, b, dtype)),
        lambda: arith.Shl(value, amount),
        lambda: arith.Shr(value, amount),
    )
    return b.value(rng.choice(made)())


def program(seed: int) -> tuple[Module, tuple[int, int, int]]:
    """A kernel that stores such a value, and whether another one passes a test."""
    rng, kernel = random.Random(seed), Kernel()
    b = kernel.builder
    values = [kernel.thread, kernel.local]
    for _ in range(rng.randint(3, 8)):
        values.append(step(rng, b, rng.choice(values[-3:])))
    kernel.store(b.value(arith.Cast(values[-1], i64)))
    kernel.store(b.value(arith.Cast(values[-1], u64)))
    tested = rng.choice(values[2:])
    assert isinstance(tested.type, DType)
    passed = kernel.array(i32)
    condition = rng.choice(COMPARES)(tested, constant(rng, b, tested.type))
    with b.if_(b.value(condition)):
        b.store(kernel.own(passed), b.const(1, i32))
    return kernel.module, rng.choice(BLOCKS)


@settings(max_examples=examples(60, 1000))
@given(seed=seeds)
def test_the_cpu_agrees(seed: int) -> None:
    check("cpu", seed)


@pytest.mark.parametrize("device", [device for device in DEVICES if device != "cpu"])
@settings(max_examples=examples(20, 300))
@given(seed=seeds)
def test_devices_agree(device: str, seed: int) -> None:
    check(device, seed)


def check(device: str, seed: int) -> None:
    """A device gives the interpreter's answer."""
    module, block = program(seed)
    arrays = [np.zeros(THREADS, dtype) for dtype in (np.int64, np.uint64, np.int32)]
    launch = (module, (3, 1, 1), block, arrays)
    wanted, got = run_on("interp", *launch), run_on(device, *launch)
    assert_same(got.arrays, wanted.arrays, ["signed", "unsigned", "passed"])
