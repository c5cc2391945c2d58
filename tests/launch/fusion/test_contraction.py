"""Products in fused kernels: those that contract as they do alone, and those that forbid fusion."""

from __future__ import annotations

import math
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from gridlane import cuda
from gridlane.ir.op import FastMath
from gridlane.ir.ops import arith, control, memory
from gridlane.ir.parser import parse_module
from gridlane.ir.verifier import verify
from gridlane.launch.fusion import fused
from gridlane.passes.structure.fusion.contraction import (
    Ambiguous,
    settle,
    splits_on_gpus,
    splits_on_processors,
)
from gridlane.passes.structure.fusion.simplifying import simplify

KERNEL = """
kernel @k(%x: ptr<f32, global> [path=("data")], %a: f32 [argument=1], %c: b1 [argument=2]) {{
  var $s: f32
  %v: f32 = load %x
{body}
}}
"""
CERTAIN = {
    "a product and its sum": """
  %m: f32 = mul %v, %a [fast=contract]
  %s: f32 = add %m, %v [fast=contract]
  store %x, %s""",
    "through a conversion": """
  %m: f32 = mul %v, %a [fast=contract]
  %w: f64 = cast %m
  %k: f64 = const 0x1.8000000000000p+0
  %s: f64 = add %w, %k [fast=contract]
  %n: f32 = cast %s
  store %x, %n""",
    "in a loop, of what it changes": """
  loop {
    %r: f32 = read $s
    %m: f32 = mul %r, %a [fast=contract]
    %s: f32 = add %m, %v [fast=contract]
    write $s, %s
    if %c {
      break
    }
  } step {
  }""",
}
LOOPED = """
  %t: i32 = thread_idx x
  %p: ptr<f32, global> = offset %x, %t
  store %p, %a
  loop {
    %w: f32 = load %p
    %m: f32 = mul %w, %v
    %s: f32 = add %m, %a
    store %p, %s
    if %c {
      break
    }
  } step {
  }"""
UNCERTAIN = {
    "stored and added": """
  %m: f32 = mul %v, %a [fast=contract]
  %s: f32 = add %m, %v [fast=contract]
  store %x, %m
  store %x, %s""",
    "added twice": """
  %m: f32 = mul %v, %a [fast=contract]
  %s: f32 = add %m, %v [fast=contract]
  %t: f32 = add %m, %a [fast=contract]
  store %x, %s
  store %x, %t""",
    "added in a branch": """
  %m: f32 = mul %v, %a [fast=contract]
  if %c {
    %s: f32 = add %m, %v [fast=contract]
    store %x, %s
  }""",
    "the same product in two sums": """
  %m: f32 = mul %v, %a [fast=contract]
  %s: f32 = add %m, %v [fast=contract]
  %n: f32 = mul %a, %v [fast=contract]
  %t: f32 = add %n, %a [fast=contract]
  store %x, %s
  store %x, %t""",
    "in a loop that does not change it": """
  loop {
    %m: f32 = mul %v, %a [fast=contract]
    %r: f32 = read $s
    %s: f32 = add %m, %r [fast=contract]
    write $s, %s
    if %c {
      break
    }
  } step {
  }""",
    "added to another product": """
  %m: f32 = mul %v, %a [fast=contract]
  %w: f32 = load %x
  %n: f32 = mul %w, %w [fast=contract]
  %s: f32 = add %m, %n [fast=contract]
  store %x, %s""",
    "the opposite product in another sum": """
  %m: f32 = mul %v, %a [fast=contract]
  %s: f32 = add %m, %v [fast=contract]
  %o: f32 = neg %v
  %n: f32 = mul %a, %o [fast=contract]
  %t: f32 = add %n, %a [fast=contract]
  store %x, %s
  store %x, %t""",
    "the same product, stored": """
  %m: f32 = mul %v, %a [fast=contract]
  %s: f32 = add %m, %v [fast=contract]
  %n: f32 = mul %a, %v [fast=contract]
  store %x, %s
  store %x, %n""",
    "stored, and loaded again": """
  %m: f32 = mul %v, %a [fast=contract]
  store %x, %m
  %w: f32 = load %x
  %s: f32 = add %w, %a [fast=contract]
  store %x, %s""",
    "through a variable": """
  %m: f32 = mul %v, %a [fast=contract]
  write $s, %m
  if %c {
    write $s, %v
  }
  %r: f32 = read $s
  %t: f32 = add %r, %a [fast=contract]
  store %x, %t""",
}


def settled(body: str, splits: Any = splits_on_gpus) -> list[FastMath]:
    """The flags of the products of a kernel."""
    module = parse_module(KERNEL.format(body=body))
    settle(module.kernel, splits)
    return [op.fast for op in module.kernel.body.walk() if isinstance(op, arith.Mul)]


@pytest.mark.parametrize("name", CERTAIN)
def test_pairs_keep_their_permission(name: str) -> None:
    assert settled(CERTAIN[name]) == [FastMath.CONTRACT]


@pytest.mark.parametrize("name", UNCERTAIN)
def test_other_pairs_forbid_fusion(name: str) -> None:
    with pytest.raises(Ambiguous, match="may or may not be rounded"):
        settled(UNCERTAIN[name])


@pytest.mark.parametrize(
    ("index", "certain"), [("%i", True), ("%j", True), ("%twice", False), ("%t", False)]
)
def test_loads_in_a_row_leave_a_product_and_its_sum_together(index: str, certain: bool) -> None:
    body = f"""
  %t: i32 = thread_idx x
  %i: i64 = cast %t
  %j: i64 = const 0
  %twice: i64 = add %i, %i
  %m: f32 = mul %v, %a [fast=contract]
  %q: ptr<f32, global> = offset %x, {index}
  %w: f32 = load %q
  %s: f32 = add %m, %w [fast=contract]
  store %x, %s"""
    assert settled(body) == [FastMath.CONTRACT]
    module = parse_module(KERNEL.format(body=body))
    splits = splits_on_processors(module.kernel, (64, 1, 1))
    if certain:
        settle(module.kernel, splits)
    else:
        with pytest.raises(Ambiguous):
            settle(module.kernel, splits)


def test_products_alone_lose_it() -> None:
    assert settled("  %m: f32 = mul %v, %a [fast=contract]\n  store %x, %m") == [FastMath.NONE]


def test_a_loop_reads_what_it_has_stored() -> None:
    module = parse_module(KERNEL.format(body=LOOPED))
    simplify(module, True)
    (loop,) = [op for op in module.kernel.body.walk() if isinstance(op, control.Loop)]
    assert sum(isinstance(op, memory.Load) for op in loop.body.walk()) == 1
    verify(module)


@cuda.jit
def product(x, y, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = x[i] * y[i]


@cuda.jit
def total(x, y, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = x[i] + y[i]


@cuda.jit
def both(x, y, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = x[i] * x[i] + y[i]


def test_a_product_and_the_sum_of_another_kernel_are_two_roundings() -> None:
    random = np.random.default_rng(7)
    x, y, z = (random.standard_normal(5000).astype(np.float32) for _ in range(3))
    dx, dy, dz = map(cuda.to_device, (x, y, z))
    with fused() as fusion:
        product[20, 256](dx, dy, 5000)
        total[20, 256](dy, dz, 5000)
    assert fusion.kernels == 1
    assert np.array_equal(dz.copy_to_host(), x * y + z)


def test_the_same_product_in_two_kernels_keeps_them_apart() -> None:
    x, y, z = (cuda.to_device(np.full(64, n, np.float32)) for n in (1.1, 1.3, 1.7))
    with fused() as fusion:
        both[2, 32](x, y, 64)
        both[2, 32](x, z, 64)
    assert fusion.kernels == 2
    assert "a product may or may not be rounded before it is added" in fusion.explain()


@cuda.jit
def same(x, y, by, n):
    i = cuda.grid(1)
    if i < n:
        x[i] = by


@cuda.jit
def wave(x, y, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = math.sin(x[i])


@cuda.jit
def scaled(x, y, by, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = x[i] * by + y[i]


CARRIED = """
  %t: i32 = thread_idx x
  %p: ptr<f32, global> = offset %x, %t
  %w: f32 = load %p
  write $s, %a
  loop {{
    %r: f32 = read $s
    %m: f32 = mul %r, {factor} [fast=contract]
    %s: f32 = add %m, %w [fast=contract]
    write $s, %s
    if %c {{
      break
    }}
  }} step {{
  }}"""


@pytest.mark.parametrize(("factor", "certain"), [("%w", True), ("%a", False)])
def test_first_iterations_may_be_the_same_in_all_threads(factor: str, certain: bool) -> None:
    module = parse_module(KERNEL.format(body=CARRIED.format(factor=factor)))
    if certain:
        settle(module.kernel, splits_on_gpus, joined=True)
    else:
        with pytest.raises(Ambiguous):
            settle(module.kernel, splits_on_gpus, joined=True)


def test_values_that_are_the_same_in_all_threads_are_computed_as_alone() -> None:
    numbers = np.linspace(0.1, 3, 64).astype(np.float32)
    for by in numbers[:8]:
        results = []
        for together in (False, True):
            x, y = cuda.to_device(numbers), cuda.to_device(numbers)
            with fused() if together else nullcontext():
                same[2, 32](x, y, by, 64)
                wave[2, 32](x, y, 64)
                same[2, 32](x, y, by, 64)
                scaled[2, 32](x, y, by, 64)
            results.append(y.copy_to_host().tobytes())
        assert results[0] == results[1]
