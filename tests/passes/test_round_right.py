"""Corrected quotients and roots are the nearest there are, whatever a target's own are worth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.devices import assert_same, run_on

from gridlane.compiler import generate
from gridlane.conformance.cases import Case, emitting, over
from gridlane.conformance.module_runner import EXACT, run_artifact
from gridlane.conformance.special import special
from gridlane.core.dtypes import DType, bf16, f16, f32, i32
from gridlane.ir.op import FastMath, Op
from gridlane.ir.ops import arith, math
from gridlane.ir.parser import parse_module
from gridlane.ir.values import Module
from gridlane.ir.verifier import verify
from gridlane.launch.devices import get_device
from gridlane.passes.legalise.round_right import round_right

COUNT = 3000


def operands(dtype: DType) -> np.ndarray:
    """The corner cases, any bits, squares and their neighbours, and both ends of binades."""
    generator = np.random.default_rng(31)
    with np.errstate(all="ignore"):
        whole = generator.integers(1, 1 << 12, COUNT).astype(np.float32)
        squares = (whole * whole * np.exp2(generator.integers(-70, 70, COUNT))).astype(np.float32)
        ends = np.exp2(np.arange(-149, 128)).astype(np.float32)
        near = np.concatenate([squares, ends]).view(np.int32)
        bits = generator.integers(0, 1 << 32, COUNT, np.uint32).view(np.int32)
        raw = np.concatenate([bits, near, near + 1, near - 1]).view(np.float32)
        return np.concatenate([special(dtype), raw.astype(dtype.numpy)])


def case_of(op: type[Op], dtype: DType, count: int = 10**6) -> Case:
    columns = [operands(dtype)[:count]]
    if op is arith.Div:
        some = columns[0]
        generator = np.random.default_rng(7)
        columns = [some, generator.permutation(some)]
        edges = special(dtype)
        pairs = [axis.reshape(-1) for axis in np.meshgrid(edges, edges)]
        columns = [np.concatenate(both) for both in zip(columns, pairs)]
    return over(op.name, str(dtype), [dtype] * len(columns), columns, emitting(op))


@pytest.mark.parametrize("op", [math.Sqrt, arith.Div], ids=lambda op: op.name)
@pytest.mark.parametrize("dtype", [f32, f16, bf16], ids=str)
@pytest.mark.parametrize("ulp", [-16, -1, 0, 1, 5, 16])
def test_rough_guesses_are_corrected(op: type[Op], dtype: DType, ulp: int) -> None:
    case = case_of(op, dtype)
    launch = (case.grid, case.block, case.arrays)
    wanted = run_on("interp", case.module, *launch)
    round_right(case.module)
    verify(case.module)
    assert not any(isinstance(each, op) for each in case.module.kernel.body.walk())
    roughen(case.module, op, ulp)
    assert_same(run_on("interp", case.module, *launch).arrays, wanted.arrays, case.labels)


def roughen(module: Module, kind: type[Op], ulp: int) -> None:
    """Put what the target makes of the op so many ulp off."""
    (function,) = [f for f in module.functions.values() if f is not module.kernel]
    ops = function.body.ops
    at = next(n for n, op in enumerate(ops) if isinstance(op, kind))
    made = ops[at].results[0]
    raw = arith.Bitcast(made, i32)
    off = arith.Const(ulp, i32)
    moved = arith.Add(raw.results[0], off.results[0])
    back = arith.Bitcast(moved.results[0], made.type)
    for op in ops[at + 1 :]:
        op.replace_operands(lambda value: back.results[0] if value is made else value)
    ops[at + 1 : at + 1] = [raw, off, moved, back]


@pytest.mark.parametrize("device", ["webgpu", "opengl"])
@pytest.mark.parametrize("op", [math.Sqrt, arith.Div], ids=lambda op: op.name)
def test_on_devices(op: type[Op], device: str) -> None:
    """As where a device is not known to round right."""
    case = case_of(op, f32, 6000)
    launch = (case.grid, case.block, case.arrays)
    wanted = run_on("interp", case.module, *launch)
    opened = get_device(device)
    target = opened.target(case.block)
    assert "rounds" in target.features
    target = replace(target, features=target.features - {"rounds"})
    artifact = generate(case.module, target, EXACT)
    assert f"f_{op.name}_f32" in artifact.code.decode()
    got = run_artifact(opened, artifact, *launch, (), 0)
    assert_same(got.arrays, wanted.arrays, case.labels)


@pytest.mark.parametrize(
    "text, flag", [("sqrt %x", FastMath.AFN), ("div %x, %x", FastMath.ARCP)], ids=["sqrt", "div"]
)
def test_what_may_be_approximate_stays(text: str, flag: FastMath) -> None:
    module = parse_module(f"kernel @k(%x: f32) {{ %y: f32 = {text} }}")
    (op,) = module.kernel.body.ops
    assert isinstance(op, math.Sqrt | arith.Div)
    op.fast = flag
    round_right(module)
    assert module.kernel.body.ops == [op]


def test_other_types_stay() -> None:
    module = parse_module(
        "kernel @k(%x: f64, %n: i32) { %y: f64 = div %x, %x %m: i32 = div %n, %n }"
    )
    ops = list(module.kernel.body.ops)
    round_right(module)
    assert module.kernel.body.ops == ops
